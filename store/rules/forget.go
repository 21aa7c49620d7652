package rules

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"legwork/bot"
	"legwork/tasks"
)

// Bounds of one transaction of a ConversationDeletion, so that other writers wait
// for a moment only, however long the conversation is.
const (
	forgetTurns  = 500
	forgetEvents = 5000 // of the deleted journals
)

// ConversationDeletion deletes a conversation, in as many transactions as its
// length takes. Each deletes complete turns, from the oldest on. After a kill
// between two of them another ConversationDeletion finds the rest.
type ConversationDeletion struct {
	Conversation string

	after, until uint64 // orders: the last handled turn, and the newest one at the start
	deleted      int    // turns
	done         bool
}

// Run deletes what is left and returns how many turns were deleted in all. change
// runs one transaction.
func (f ConversationDeletion) Run(change func(func(*Tx) error) error) (int, error) {
	for !f.done {
		var next ConversationDeletion
		err := change(func(s *Tx) error {
			next = f // do runs again when its transaction was not committed
			return s.forget(&next)
		})
		if err != nil {
			return f.deleted, err
		}
		f = next
	}
	return f.deleted, nil
}

// forget deletes the next turns, except those of tasks that have not ended.
func (s *Tx) forget(f *ConversationDeletion) error {
	order, err := s.Order()
	if err != nil {
		return err
	}
	if f.until == 0 {
		f.until = order
	}
	if err := s.dropSummary(f.Conversation, order); err != nil {
		return err
	}
	lane, err := s.Lane(f.Conversation)
	if err != nil {
		return err
	}
	var gone []HistoryRow // added at the end, because Turn reads all changes
	for turns, events := 0, 0; turns < forgetTurns && events < forgetEvents && !f.done; turns++ {
		rows, err := s.Turn(f.Conversation, f.after)
		if err != nil {
			return err
		}
		if f.done = len(rows) == 0 || rows[0].Order > f.until; f.done {
			break
		}
		f.after = rows[0].Order
		deleted, n, err := s.forgetTask(f, lane, taskOf(rows))
		if err != nil {
			return err
		}
		if deleted {
			gone = append(gone, rows...)
		}
		events += n
	}
	for _, r := range gone {
		s.changes.Rows = append(s.changes.Rows, HistoryRow{Conversation: f.Conversation, Order: r.Order, Answer: r.Answer, Deleted: true})
	}
	if !f.done {
		return nil
	}
	if err := s.forgetFirings(f.Conversation); err != nil {
		return err
	}
	if err := s.forgetChatSettings(f.Conversation); err != nil {
		return err
	}
	return s.clearCut(f.Conversation)
}

// forgetChatSettings deletes the settings that belong to the current conversation.
func (s *Tx) forgetChatSettings(conversation string) error {
	all, err := s.Settings(conversation)
	if err != nil {
		return err
	}
	for name := range all {
		if tasks.ConversationSetting(name) {
			put(&s.changes.Settings, Setting{conversation, name}, "")
		}
	}
	return nil
}

// forgetTask deletes the task of a turn, unless it has not ended, and returns how
// many events it deleted.
func (s *Tx) forgetTask(f *ConversationDeletion, lane tasks.Lane, id tasks.ID) (deleted bool, events int, err error) {
	live := slices.ContainsFunc(lane.Entries, func(e tasks.LaneEntry) bool { return e.Task == id })
	task, ok, err := s.Task(id)
	damaged := errors.Is(err, tasks.ErrDamaged)
	if err != nil && !damaged {
		return false, 0, err
	}
	if live || ok && !damaged && !task.Over {
		return false, 0, nil
	}
	if ok || damaged {
		if err := s.closeAccount(id); err != nil {
			return false, 0, err
		}
		s.changes.forget(id)
	}
	f.deleted++
	return true, task.Last, nil
}

// clearCut deletes the cut of a conversation when no turn before the cut is left.
func (s *Tx) clearCut(conversation string) error {
	cut, err := s.Cut(conversation)
	if err != nil || cut == 0 {
		return err
	}
	rows, err := s.Turn(conversation, 0)
	if err != nil {
		return err
	}
	if len(rows) == 0 || rows[0].Order > cut {
		put(&s.changes.Cuts, conversation, 0)
	}
	return nil
}

// taskOf is the task of a turn's rows; empty when they are damaged and nothing
// tells it.
func taskOf(rows []HistoryRow) tasks.ID {
	for _, r := range rows {
		if r.Task != "" {
			return r.Task
		}
	}
	return ""
}

// Erase implements tasks.Deletion.
func (k Retention) Erase(who string) (d tasks.Deleted, err error) {
	private := map[string]bool{}
	for _, step := range []func() error{
		func() error { return k.forgetTasks(who, private, &d) },
		func() error { return k.forgetTurns(who, private, &d) },
		func() error { return k.forgetSchedules(who, &d) },
		func() error { return k.forgetSettings(who, private, &d) },
		func() error { return k.forgetSums(who) },
		func() error { return k.forgetAudit(who) },
		k.forgetDeliveries,
		func() error {
			return k.dropSpent(func(r SpentKey) bool { return r.User == who || inChat(r.Chat, who) }, &d)
		},
	} {
		if err = step(); err != nil {
			return d, err
		}
	}
	return d, nil
}

// concerns reports whether a person started a task, or a chat holds it.
func concerns(t Task, who string) bool {
	return t.From.Key() == who || t.Chat.Room() == who || t.Chat.Key() == who
}

// inChat reports whether a conversation is a chat or a thread of it.
func inChat(conversation, chat string) bool {
	return conversation == chat || strings.HasPrefix(conversation, chat+"/")
}

// forgetTasks deletes tasks with their turns. It adds the person's private
// conversations to private.
func (k Retention) forgetTasks(who string, private map[string]bool, d *tasks.Deleted) error {
	choose := func(_ Snapshot, list []TaskEntry) (chosen []TaskEntry, err error) {
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
	return k.eachTask(d, choose, func(s *Tx, t TaskEntry, d *tasks.Deleted) error {
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

// dropSummaryOf deletes a conversation's summary, because it may hold words of a
// deleted turn.
func (s *Tx) dropSummaryOf(conversation string, d *tasks.Deleted) error {
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

// forgetTurns deletes turns whose tasks were deleted before: all of a chat and of
// private conversations, and those of the person elsewhere.
func (k Retention) forgetTurns(who string, private map[string]bool, d *tasks.Deleted) error {
	return k.eachConversation(func(conversation string) error {
		if !inChat(conversation, who) && !private[conversation] {
			return k.forgetTurnsOf(who, conversation, d)
		}
		var turns int
		err := k.View(func(b Snapshot) (err error) { turns, err = countTurns(b, conversation); return err })
		if err != nil {
			return err
		}
		n, err := ConversationDeletion{Conversation: conversation}.Run(k.Change)
		d.Tasks += n
		if err != nil {
			return err
		}
		return k.View(func(b Snapshot) error {
			left, err := countTurns(b, conversation)
			d.Turns += turns - left
			return err
		})
	})
}

// forgetTurnsOf deletes a person's turns in a conversation with others.
func (k Retention) forgetTurnsOf(who, conversation string, d *tasks.Deleted) error {
	after, end := uint64(0), false
	for !end {
		var turns [][]HistoryRow
		err := k.View(func(b Snapshot) (err error) {
			turns, after, err = turnsOf(b, who, conversation, after)
			return err
		})
		if err != nil || len(turns) == 0 {
			return err
		}
		end = len(turns) < retentionBatch
		err = k.dropTurns(conversation, turns, d, func(s *Tx, d *tasks.Deleted) error { return s.dropSummaryOf(conversation, d) })
		if err != nil {
			return err
		}
	}
	return nil
}

// turnsOf lists turns of a person.
func turnsOf(b Snapshot, who, conversation string, after uint64) (turns [][]HistoryRow, last uint64, err error) {
	for len(turns) < retentionBatch {
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

func countTurns(b Snapshot, conversation string) (n int, err error) {
	for after := uint64(0); ; n++ {
		rows, err := b.Turn(conversation, after)
		if err != nil || len(rows) == 0 {
			return n, err
		}
		after = rows[0].Order
	}
}

func (k Retention) forgetSchedules(who string, d *tasks.Deleted) error {
	deleted := 0
	err := k.Change(func(s *Tx) error {
		deleted = 0 // it may run again
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
			deleted++
		}
		return nil
	})
	if err == nil { // otherwise it may run yet
		d.Schedules = deleted
	}
	return err
}

// forgetSettings deletes the settings of a person or a chat, forms that the person
// was filling in, and the person's entries in lists.
func (k Retention) forgetSettings(who string, private map[string]bool, d *tasks.Deleted) error {
	var all map[Setting]string
	err := k.View(func(b Snapshot) (err error) { all, err = b.AllSettings(); return err })
	if err != nil {
		return err
	}
	deleted := 0
	err = k.Change(func(s *Tx) error {
		deleted = 0 // it may run again
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
			deleted++
		}
		return nil
	})
	if err == nil { // otherwise it may run yet
		d.Settings = deleted
	}
	return err
}

// without returns a stored list of objects without those about a person or a chat.
// Other values stay as they are. So does a list of keys: it holds roles, such as
// that of an admin.
func without(value, who string) string {
	var list []json.RawMessage
	if !strings.HasPrefix(value, "[") || !strings.Contains(value, `"`) || json.Unmarshal([]byte(value), &list) != nil {
		return value
	}
	n := len(list)
	list = slices.DeleteFunc(list, func(entry json.RawMessage) bool { return concernsEntry(entry, who) })
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

// concernsEntry reports whether an entry of a list is about somebody, or was given
// by them.
func concernsEntry(entry json.RawMessage, who string) bool {
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
