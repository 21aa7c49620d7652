package rules

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"legwork/bot"
	"legwork/tasks"
)

// careAtOnce is how much one look of a Keeper lists.
const careAtOnce = 200

// Listed is a task in a list.
type Listed struct {
	ID   tasks.ID
	Task Task
}

// Keeper deletes beyond single conversations. It looks for what to delete
// without holding up who writes, and deletes it in many small transactions.
type Keeper struct {
	View   func(func(Base) error) error   // reads what is committed
	Change func(func(*Stage) error) error // runs one transaction
}

// Retain is tasks.Care's.
func (k Keeper) Retain(tasksBefore, historyBefore time.Time) (d tasks.Deleted, err error) {
	if !tasksBefore.IsZero() {
		old := func(b Base, list []Listed) ([]Listed, error) { return ended(b, list, tasksBefore) }
		if err = k.eachTask(&d, old, (*Stage).reduce); err != nil {
			return d, err
		}
	}
	if !historyBefore.IsZero() {
		err = k.retainHistory(historyBefore, &d)
	}
	return d, err
}

// eachTask lets do change those tasks that choose picks, in transactions of at
// most careAtOnce tasks.
func (k Keeper) eachTask(d *tasks.Deleted, choose func(Base, []Listed) ([]Listed, error), do func(*Stage, Listed, *tasks.Deleted) error) error {
	after := tasks.ID("")
	for {
		var all, chosen []Listed
		err := k.View(func(b Base) (err error) {
			if all, err = b.Tasks(after, careAtOnce); err == nil {
				chosen, err = choose(b, all)
			}
			return err
		})
		if errors.Is(err, errEnough) {
			return k.inTurns(chosen, d, do)
		}
		if err != nil || len(all) == 0 {
			return err
		}
		after = all[len(all)-1].ID
		if err := k.inTurns(chosen, d, do); err != nil {
			return err
		}
	}
}

// inTurns changes tasks in transactions that none has to wait for long.
func (k Keeper) inTurns(list []Listed, d *tasks.Deleted, do func(*Stage, Listed, *tasks.Deleted) error) error {
	for len(list) > 0 {
		n, events := 0, 0
		for n < len(list) && events < forgetEvents {
			events += list[n].Task.Last
			n++
		}
		counted := *d
		err := k.Change(func(s *Stage) error {
			counted = *d // it may run again
			for _, t := range list[:n] {
				if err := do(s, t, &counted); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		*d, list = counted, list[n:]
	}
	return nil
}

// errEnough says that no further task is of interest.
var errEnough = errors.New("enough")

// ended picks tasks whose last event came before a time. Ids come in the order
// of time: after the first one that was made later there is none.
func ended(b Base, list []Listed, before time.Time) (old []Listed, err error) {
	for _, t := range list {
		if made, known := t.ID.Made(); known && !made.Before(before) {
			return old, errEnough
		}
		if !t.Task.Over {
			continue
		}
		at, err := b.Ended(t.ID, t.Task)
		if err != nil {
			return nil, err
		}
		if at.Before(before) {
			old = append(old, t)
		}
	}
	return old, nil
}

// reduce deletes a task that is over; its turn stays.
func (s *Stage) reduce(t Listed, d *tasks.Deleted) error {
	task, ok, err := s.Task(t.ID)
	if err != nil || !ok || !task.Over {
		return err
	}
	if err := s.close(t.ID); err != nil {
		return err
	}
	s.changes.forget(t.ID)
	d.Tasks++
	return nil
}

// retainHistory deletes old turns and summaries, conversation by conversation,
// and old rows of the ledger.
func (k Keeper) retainHistory(before time.Time, d *tasks.Deleted) error {
	err := k.eachConversation(func(conversation string) error { return k.retainTurns(conversation, before, d) })
	if err != nil {
		return err
	}
	day := before.UTC().Format(time.DateOnly)
	return k.dropSpent(func(r SpentRow) bool { return r.Day < day }, d)
}

func (k Keeper) eachConversation(do func(conversation string) error) error {
	after := ""
	for {
		var list []string
		err := k.View(func(b Base) (err error) { list, err = b.Conversations(after, careAtOnce); return err })
		if err != nil || len(list) == 0 {
			return err
		}
		after = list[len(list)-1]
		for _, conversation := range list {
			if err := do(conversation); err != nil {
				return err
			}
		}
	}
}

// retainTurns deletes a conversation's turns from before a time: they come in
// the order of time.
func (k Keeper) retainTurns(conversation string, before time.Time, d *tasks.Deleted) error {
	for more := true; more; {
		var turns [][]Row
		var summary tasks.Summary
		err := k.View(func(b Base) (err error) {
			if turns, err = oldTurns(b, conversation, before); err == nil {
				summary, err = b.Summary(conversation)
			}
			return err
		})
		if err != nil {
			return err
		}
		stale := summary.Until > 0 && summary.At.Before(before)
		if len(turns) == 0 && !stale {
			return nil
		}
		more = len(turns) == careAtOnce
		counted := *d
		err = k.Change(func(s *Stage) error {
			counted = *d // do may run again
			if stale {
				put(&s.changes.Summaries, conversation, tasks.Summary{})
				counted.Summaries++
			}
			for _, rows := range turns {
				if err := s.dropTurn(conversation, taskOf(rows), rows, &counted); err != nil {
					return err
				}
			}
			return s.uncut(conversation)
		})
		if err != nil {
			return err
		}
		*d = counted
	}
	return nil
}

// oldTurns lists turns from before a time.
func oldTurns(b Base, conversation string, before time.Time) (turns [][]Row, err error) {
	after := uint64(0)
	for len(turns) < careAtOnce {
		rows, err := b.Turn(conversation, after)
		if err != nil || len(rows) == 0 {
			return turns, err
		}
		after = rows[0].Order
		if at := rows[0].At; !at.IsZero() && !at.Before(before) {
			return turns, nil
		}
		turns = append(turns, rows)
	}
	return turns, nil
}

// dropTurn deletes a turn with its task, unless that is not over.
func (s *Stage) dropTurn(conversation string, id tasks.ID, rows []Row, d *tasks.Deleted) error {
	task, ok, err := s.Task(id)
	if err != nil && !errors.Is(err, tasks.ErrDamaged) {
		return err
	}
	if err == nil && ok && !task.Over {
		return nil
	}
	if ok || err != nil {
		if err := s.close(id); err != nil {
			return err
		}
		s.changes.forget(id)
		d.Tasks++
	}
	for _, r := range rows {
		s.changes.Rows = append(s.changes.Rows, Row{Conversation: conversation, Order: r.Order, Answer: r.Answer, Gone: true})
	}
	if len(rows) > 0 {
		d.Turns++
	}
	return nil
}

// dropSpent deletes rows of the ledger.
func (k Keeper) dropSpent(match func(SpentRow) bool, d *tasks.Deleted) error {
	for {
		var rows []SpentRow
		err := k.View(func(b Base) (err error) { rows, err = b.SpentRows(match, careAtOnce); return err })
		if err != nil || len(rows) == 0 {
			return err
		}
		err = k.Change(func(s *Stage) error {
			for _, r := range rows {
				s.dropSpentRow(r)
			}
			return nil
		})
		if err != nil {
			return err
		}
		d.Spent += len(rows)
	}
}

// ForgetWho is tasks.Care's.
func (k Keeper) ForgetWho(who string) (d tasks.Deleted, err error) {
	private := map[string]bool{}
	for _, step := range []func() error{
		func() error { return k.forgetTasks(who, private, &d) },
		func() error { return k.forgetTurns(who, private, &d) },
		func() error { return k.forgetSchedules(who, &d) },
		func() error { return k.forgetSettings(who, private, &d) },
		func() error { return k.forgetSums(who) },
		func() error {
			return k.dropSpent(func(r SpentRow) bool { return r.User == who || inChat(r.Chat, who) }, &d)
		},
	} {
		if err = step(); err != nil {
			return d, err
		}
	}
	return d, nil
}

// concerns reports that a task is of a person, or in a chat.
func concerns(t Task, who string) bool {
	return t.From.Key() == who || t.Chat.Room() == who || t.Chat.Key() == who
}

// inChat reports that a conversation is a chat or a thread of it.
func inChat(conversation, chat string) bool {
	return conversation == chat || strings.HasPrefix(conversation, chat+"/")
}

// forgetTasks deletes tasks with their turns. It notes the person's private
// conversations.
func (k Keeper) forgetTasks(who string, private map[string]bool, d *tasks.Deleted) error {
	choose := func(_ Base, list []Listed) (chosen []Listed, err error) {
		for _, t := range list {
			switch {
			case !concerns(t.Task, who):
				continue
			case !t.Task.Over:
				d.Live = append(d.Live, t.ID)
			default:
				chosen = append(chosen, t)
			}
			if t.Task.Chat.Private && t.Task.From.Key() == who {
				private[t.Task.Chat.Key()] = true
			}
		}
		return chosen, nil
	}
	return k.eachTask(d, choose, func(s *Stage, t Listed, d *tasks.Deleted) error {
		conversation := t.Task.Chat.Key()
		rows, err := s.Turn(conversation, t.Task.Order-1)
		if err != nil {
			return err
		}
		if len(rows) > 0 && rows[0].Order != t.Task.Order {
			rows = nil // it is where the chat was moved to
		}
		if len(rows) > 0 {
			if err := s.dropSummaryOf(conversation, d); err != nil {
				return err
			}
		}
		return s.dropTurn(conversation, t.ID, rows, d)
	})
}

// dropSummaryOf deletes what a conversation's summary may hold of a turn.
func (s *Stage) dropSummaryOf(conversation string, d *tasks.Deleted) error {
	v, err := s.Summary(conversation)
	if err != nil {
		return err
	}
	if v.Until > 0 {
		d.Summaries++
	}
	order, err := s.Order()
	if err != nil {
		return err
	}
	return s.dropSummary(conversation, order)
}

// forgetTurns deletes what is left in the conversations of a chat, in private
// ones, and of a person elsewhere: turns whose tasks are gone already.
func (k Keeper) forgetTurns(who string, private map[string]bool, d *tasks.Deleted) error {
	return k.eachConversation(func(conversation string) error {
		if !inChat(conversation, who) && !private[conversation] {
			return k.forgetTurnsOf(who, conversation, d)
		}
		var turns int
		err := k.View(func(b Base) (err error) { turns, err = countTurns(b, conversation); return err })
		if err != nil {
			return err
		}
		n, err := Forgetting{Conversation: conversation}.Run(k.Change)
		d.Tasks += n
		if err != nil {
			return err
		}
		return k.View(func(b Base) error {
			left, err := countTurns(b, conversation)
			d.Turns += turns - left
			return err
		})
	})
}

// forgetTurnsOf deletes the turns of a person in a conversation of others.
func (k Keeper) forgetTurnsOf(who, conversation string, d *tasks.Deleted) error {
	after, end := uint64(0), false
	for !end {
		var turns [][]Row
		err := k.View(func(b Base) (err error) {
			turns, after, err = turnsOf(b, who, conversation, after)
			return err
		})
		if err != nil || len(turns) == 0 {
			return err
		}
		end = len(turns) < careAtOnce
		counted := *d
		err = k.Change(func(s *Stage) error {
			counted = *d // do may run again
			if err := s.dropSummaryOf(conversation, &counted); err != nil {
				return err
			}
			for _, rows := range turns {
				if err := s.dropTurn(conversation, taskOf(rows), rows, &counted); err != nil {
					return err
				}
			}
			return s.uncut(conversation)
		})
		if err != nil {
			return err
		}
		*d = counted
	}
	return nil
}

// turnsOf lists turns of a person.
func turnsOf(b Base, who, conversation string, after uint64) (turns [][]Row, last uint64, err error) {
	for len(turns) < careAtOnce {
		rows, err := b.Turn(conversation, after)
		if err != nil || len(rows) == 0 {
			return turns, after, err
		}
		after = rows[0].Order
		if rows[0].From == who {
			turns = append(turns, rows)
		}
	}
	return turns, after, nil
}

func countTurns(b Base, conversation string) (n int, err error) {
	for after := uint64(0); ; n++ {
		rows, err := b.Turn(conversation, after)
		if err != nil || len(rows) == 0 {
			return n, err
		}
		after = rows[0].Order
	}
}

func (k Keeper) forgetSchedules(who string, d *tasks.Deleted) error {
	return k.Change(func(s *Stage) error {
		d.Schedules = 0 // it may run again
		all, err := s.Schedules("")
		if err != nil {
			return err
		}
		for _, v := range all {
			if v.From.Key() != who && !inChat(v.Chat.Key(), who) || v.Config {
				continue
			}
			if err := s.DropSchedule(v.ID); err != nil {
				return err
			}
			d.Schedules++
		}
		return nil
	})
}

// forgetSettings deletes what belongs to a person or a chat, forms that a person
// was filling in, and their entries in lists.
func (k Keeper) forgetSettings(who string, private map[string]bool, d *tasks.Deleted) error {
	var all map[Setting]string
	err := k.View(func(b Base) (err error) { all, err = b.AllSettings(); return err })
	if err != nil {
		return err
	}
	return k.Change(func(s *Stage) error {
		d.Settings = 0 // it may run again
		for _, name := range slices.SortedFunc(maps.Keys(all), func(a, b Setting) int {
			return strings.Compare(a.Owner+"\x00"+a.Name, b.Owner+"\x00"+b.Name)
		}) {
			value, left := all[name], ""
			own := inChat(name.Owner, who) || private[name.Owner] || strings.HasSuffix(name.Name, " "+who)
			if !own {
				if left = without(value, who); left == value {
					continue
				}
			}
			if err := s.PutSetting(name.Owner, name.Name, left); err != nil {
				return err
			}
			d.Settings++
		}
		return nil
	})
}

// without is a stored list of objects without those about a person or a chat;
// what is no such list stays as it is. A list of keys stays: it holds roles, such
// as that of an admin.
func without(value, who string) string {
	var list []json.RawMessage
	if !strings.HasPrefix(value, "[") || !strings.Contains(value, `"`) || json.Unmarshal([]byte(value), &list) != nil {
		return value
	}
	n := len(list)
	list = slices.DeleteFunc(list, func(entry json.RawMessage) bool { return about(entry, who) })
	if len(list) == n {
		return value
	}
	if len(list) == 0 {
		return ""
	}
	body, err := json.Marshal(list)
	if err != nil {
		return value
	}
	return string(body)
}

// about reports that an entry of a list names somebody as the one whom it is
// about or who gave it.
func about(entry json.RawMessage, who string) bool {
	var e struct {
		By     string          `json:"by"`
		Person json.RawMessage `json:"person"`
		Chat   json.RawMessage `json:"chat"`
	}
	if json.Unmarshal(entry, &e) != nil {
		return false
	}
	var person bot.Person
	var chat bot.Chat
	_ = json.Unmarshal(e.Person, &person)
	_ = json.Unmarshal(e.Chat, &chat)
	return e.By == who || e.Person != nil && person.Key() == who || e.Chat != nil && (chat.Key() == who || chat.Room() == who)
}

// Tasks implements Base, of what is committed.
func (s *Stage) Tasks(after tasks.ID, n int) ([]Listed, error) { return s.base.Tasks(after, n) }

// Ended implements Base, of what is committed.
func (s *Stage) Ended(id tasks.ID, t Task) (time.Time, error) { return s.base.Ended(id, t) }

// Conversations implements Base, of what is committed.
func (s *Stage) Conversations(after string, n int) ([]string, error) {
	return s.base.Conversations(after, n)
}

// AllSettings implements Base, of what is committed.
func (s *Stage) AllSettings() (map[Setting]string, error) { return s.base.AllSettings() }
