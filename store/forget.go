package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"legwork/bot"
	"legwork/tasks"
)

// Forget implements tasks.Store.
func (c Conversations) Forget(ctx context.Context, conversation string) (int, error) {
	var d tasks.Deleted
	err := Deletion(c).forget(ctx, conversation, &d)
	return d.Turns, wrap("forgetting conversation", err)
}

// forget deletes the data of a conversation as tasks.Store.Forget does. Turns that
// people begin meanwhile stay.
func (k Deletion) forget(ctx context.Context, conversation string, d *tasks.Deleted) error {
	var newest uint64
	err := k.view(ctx, "reading the newest turn", func(x *txn) (err error) {
		newest, _, err = metaNumbers.get(x, metaOrder)
		return err
	})
	if err != nil {
		return err
	}
	all := func(r historyRow) (chosen, over bool) { return true, r.Order > newest }
	if err := k.deleteTurns(ctx, conversation, all, turns.erase, d); err != nil {
		return err
	}
	return k.change(ctx, d, func(x *txn, d *tasks.Deleted) error {
		if err := (turns{x}).dropSummary(conversation, d); err != nil {
			return err
		}
		if err := (turns{x}).clearCut(conversation); err != nil {
			return err
		}
		if err := (timetable{x}).forgetFirings(conversation); err != nil {
			return err
		}
		own, err := x.settingsOf(conversation)
		for name := range own {
			if !tasks.ConversationSetting(name.name) {
				continue
			}
			d.Settings++
			if err := settings.drop(x, name); err != nil {
				return err
			}
		}
		return err
	})
}

// Erase implements tasks.Deletion. Files of the database may keep the bytes for a
// while, see Store.Freed.
func (k Deletion) Erase(ctx context.Context, who string) (d tasks.Deleted, err error) {
	private := map[string]bool{}
	for _, step := range []func() error{
		func() error { return k.eraseTasks(ctx, who, private, &d) },
		func() error { return k.eraseTurns(ctx, who, private, &d) },
		func() error { return k.eraseSchedules(ctx, who, &d) },
		func() error { return k.eraseSettings(ctx, who, private, &d) },
		func() error {
			return k.update(ctx, "deleting totals", func(x *txn) error { return ledger{x}.forgetTotals(who) })
		},
		func() error { return k.forgetAudit(ctx, who) },
		func() error { return k.forgetDeliveries(ctx) },
		func() error {
			return k.dropSpent(ctx, func(s spentKey) bool { return s.User == who || inChat(s.Chat, who) }, &d)
		},
	} {
		if err := step(); err != nil {
			return d, fmt.Errorf("forgetting %s: %w", who, err)
		}
	}
	return d, nil
}

// inChat reports whether a conversation is a chat or a thread of it.
func inChat(conversation, chat string) bool {
	return conversation == chat || strings.HasPrefix(conversation, chat+"/")
}

// eraseTasks deletes the tasks that a person started or a chat holds, with their
// turns. It adds the person's private conversations to private.
func (k Deletion) eraseTasks(ctx context.Context, who string, private map[string]bool, d *tasks.Deleted) error {
	choose := func(_ *txn, id tasks.ID, t taskRow) (chosen, over bool, err error) {
		started := t.From.Key() == who
		if !started && t.Chat.Room() != who && t.Chat.Key() != who {
			return false, false, nil
		}
		if started && t.Chat.Private {
			private[t.Chat.Key()] = true
		}
		if !t.Over {
			d.Live = append(d.Live, id)
		}
		return t.Over, false, nil
	}
	return k.deleteTasks(ctx, choose, turns.erase, d)
}

// eraseTurns deletes turns whose tasks were deleted before: all of a chat and of
// private conversations, and those of the person elsewhere.
func (k Deletion) eraseTurns(ctx context.Context, who string, private map[string]bool, d *tasks.Deleted) error {
	asked := func(r historyRow) (chosen, over bool) { return r.From == who, false }
	return k.eachConversation(ctx, func(conversation string) error {
		if inChat(conversation, who) || private[conversation] {
			return k.forget(ctx, conversation, d)
		}
		return k.deleteTurns(ctx, conversation, asked, turns.erase, d)
	})
}

// eraseSchedules deletes the schedules of a person or a chat, except those of the
// config.
func (k Deletion) eraseSchedules(ctx context.Context, who string, d *tasks.Deleted) error {
	return k.change(ctx, d, func(x *txn, d *tasks.Deleted) error {
		list, err := timetable{x}.list("")
		if err != nil {
			return err
		}
		for _, v := range list {
			if v.From.Key() != who && !inChat(v.Chat.Key(), who) || v.Config {
				continue
			}
			if err := (timetable{x}).drop(v.ID); err != nil {
				return err
			}
			d.Schedules++
		}
		return nil
	})
}

// eraseSettings deletes the settings of a person or a chat, forms that the person
// was filling in, and the person's entries in lists.
func (k Deletion) eraseSettings(ctx context.Context, who string, private map[string]bool, d *tasks.Deleted) error {
	rest := func(name settingName, value string) string {
		if inChat(name.owner, who) || private[name.owner] || strings.HasSuffix(name.name, " "+who) {
			return ""
		}
		return without(value, who)
	}
	var names []settingName
	err := k.view(ctx, "reading settings", func(x *txn) error {
		all, err := x.settingsIn(nil, nil)
		for name, value := range all {
			if rest(name, value) != value {
				names = append(names, name)
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	return k.change(ctx, d, func(x *txn, d *tasks.Deleted) error {
		for _, name := range names {
			value, _, err := settings.get(x, name)
			if err != nil {
				return err
			}
			left := rest(name, value)
			if left == value {
				continue
			}
			if err := x.putSetting(name, left); err != nil {
				return err
			}
			d.Settings++
		}
		return nil
	})
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

// concernsEntry reports whether an entry of a list is about a person or a chat, or
// was given by that person.
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

// candidate is a turn, or a task, that may be deleted.
type candidate struct {
	turnKey          // where the turn was opened: a chat may have moved since
	task    tasks.ID // empty: the task of the turn
}

// erase deletes a turn with its task, and the summary of its conversation, which may
// hold words of the turn.
func (x turns) erase(c candidate, d *tasks.Deleted) (events int, err error) {
	before := d.Turns
	events, err = x.forget(c, d)
	if err == nil && d.Turns > before {
		err = x.dropSummary(c.conversation, d)
	}
	return events, err
}

// forget deletes a turn with its task, unless the task has not ended. It returns how
// many events it deleted. A task whose turn is elsewhere is deleted without it.
func (x turns) forget(c candidate, d *tasks.Deleted) (events int, err error) {
	rows, err := x.at(c.turnKey)
	if err != nil {
		return 0, err
	}
	if c.task == "" {
		c.task = taskOf(rows)
	}
	stays, events, err := x.forgetTask(c.task, d)
	if err != nil || stays || len(rows) == 0 {
		return events, err
	}
	x.frees = true
	d.Turns++
	if err := x.drop(c.conversation, c.order); err != nil {
		return 0, err
	}
	return events, x.clearCut(c.conversation)
}

// forgetTask deletes a task, unless it has not ended. It returns how many events it
// deleted. A task with a damaged row has ended when its conversation's lane does not
// hold it.
func (x turns) forgetTask(id tasks.ID, d *tasks.Deleted) (stays bool, events int, err error) {
	task, ok, err := x.task(id)
	if errors.Is(err, tasks.ErrDamaged) {
		_, live, errLive := lanes(x).copyOf(id)
		task, ok, err = taskRow{Over: !live}, true, errLive
	}
	if err != nil || !ok {
		return false, 0, err
	}
	if !task.Over {
		return true, 0, nil
	}
	d.Tasks++
	return false, task.Last, journals(x).remove(id)
}

// at returns the halves of a turn, as next does; none when it is not there.
func (x turns) at(k turnKey) ([]historyRow, error) {
	rows, err := x.next(k.conversation, k.order-1)
	if len(rows) > 0 && rows[0].Order != k.order {
		return nil, err
	}
	return rows, err
}

// clearCut deletes the cut of a conversation when no turn before the cut is left.
func (x turns) clearCut(conversation string) error {
	cut, err := x.cut(conversation)
	if err != nil || cut == 0 {
		return err
	}
	rows, err := x.next(conversation, 0)
	if err != nil || len(rows) > 0 && rows[0].Order <= cut {
		return err
	}
	return cuts.drop(x, conversation)
}
