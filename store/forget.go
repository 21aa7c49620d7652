package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"legwork/bot"
	"legwork/tasks"
)

// Forget implements tasks.Store.
func (c Conversations) Forget(ctx context.Context, conversation string) (int, error) {
	var d tasks.Deleted
	err := Deletion(c).forget(ctx, conversation, &d)
	if d.Contents > 0 {
		err = errors.Join(err, Files(c).collect(ctx))
	}
	return d.Turns, wrap("forgetting conversation", err)
}

// forget deletes the data of a conversation as tasks.Store.Forget does. Turns that
// people begin meanwhile stay.
func (k Deletion) forget(ctx context.Context, conversation string, d *tasks.Deleted) error {
	var newest uint64
	if err := k.view(ctx, "reading the newest turn", func(x *txn) { newest = x.newest() }); err != nil {
		return err
	}
	all := func(r historyRow) (chosen, over bool) { return true, r.Order > newest }
	if err := k.deleteTurns(ctx, d, conversation, all, eraseTurn); err != nil {
		return err
	}
	if err := k.dropPosts(ctx, conversation, time.Time{}, false, d); err != nil {
		return err
	}
	return k.change(ctx, d, func(x *txn, d *tasks.Deleted) {
		turns{x}.dropSummary(conversation, d)
		turns{x}.clearCut(conversation)
		timetable{x}.forgetFirings(conversation)
		for name := range x.settingsOf(conversation) {
			if tasks.ConversationSetting(name.name) {
				settings.drop(x, name)
				d.Settings++
			}
		}
	})
}

// Erase implements tasks.Deletion. Files of the database may keep the bytes for a
// while, see Store.Freed.
func (k Deletion) Erase(ctx context.Context, who string) (d tasks.Deleted, err error) {
	private := map[string]bool{}
	for _, step := range []func() error{
		func() error { return k.eraseTasks(ctx, who, private, &d) },
		func() error { return k.eraseTurns(ctx, who, private, &d) },
		func() error { return k.erasePosts(ctx, who, &d) },
		func() error { return k.eraseSchedules(ctx, who, &d) },
		func() error { return k.eraseSettings(ctx, who, private, &d) },
		func() error { return k.eraseTotals(ctx, who) },
		func() error { return k.eraseSessions(ctx, who) },
		func() error { return k.eraseConnections(ctx, who, &d) },
		func() error { return k.eraseFiles(ctx, who, private, &d) },
		func() error { return k.forgetAudit(ctx, who, &d) },
		func() error { return k.forgetDeliveries(ctx, &d) },
		func() error {
			return k.dropSpent(ctx, &d, func(s spentKey) bool { return s.User == who || inChat(s.Chat, who) })
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
	choose := func(_ *txn, id tasks.ID, t taskRow) (chosen, over bool) {
		started := t.From.Key() == who
		if !started && t.Chat.Room() != who && t.Chat.Key() != who {
			return false, false
		}
		if started && t.Chat.Private {
			private[t.Chat.Key()] = true
		}
		if !t.Over {
			d.Live = append(d.Live, id)
		}
		return t.Over, false
	}
	return k.deleteTasks(ctx, d, choose, eraseTurn)
}

// eraseTurns deletes turns whose tasks were deleted before: all of a chat and of
// private conversations, and those of the person elsewhere.
func (k Deletion) eraseTurns(ctx context.Context, who string, private map[string]bool, d *tasks.Deleted) error {
	asked := func(r historyRow) (chosen, over bool) { return r.From == who, false }
	return k.eachConversation(ctx, func(conversation string) error {
		if inChat(conversation, who) || private[conversation] {
			return k.forget(ctx, conversation, d)
		}
		return k.deleteTurns(ctx, d, conversation, asked, eraseTurn)
	})
}

// eraseSchedules deletes the schedules of a person or a chat, except those of the
// config.
func (k Deletion) eraseSchedules(ctx context.Context, who string, d *tasks.Deleted) error {
	return k.change(ctx, d, func(x *txn, d *tasks.Deleted) {
		for _, v := range (timetable{x}).list("") {
			if (v.From.Key() == who || inChat(v.Chat.Key(), who)) && !v.Config {
				timetable{x}.drop(v.ID)
				d.Schedules++
			}
		}
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
	return deleteFound(ctx, k, d, func(x *txn) (names []settingName, over bool) {
		for name, value := range x.settingsIn(nil, nil) {
			if rest(name, value) != value {
				names = append(names, name)
			}
		}
		return names, true
	}, func(x *txn, name settingName, d *tasks.Deleted) {
		value, _ := settings.load(x, name)
		if left := rest(name, value); left != value {
			x.putSetting(name, left)
			d.Settings++
		}
	})
}

// eraseFiles deletes the uploads of a person or a chat, and the bytes of all contents
// without a use. Files of tasks went with their tasks.
func (k Deletion) eraseFiles(ctx context.Context, who string, private map[string]bool, d *tasks.Deleted) error {
	// The uploads of an agent belong to its token, as those of other programs.
	if name, agent := strings.CutPrefix(who, tasks.PlatformAgent+":"); agent {
		who = tasks.PlatformAPI + ":" + name
	}
	err := k.dropUses(ctx, d, func(_ *txn, u use) bool { return u.task == "" && (u.owner == who || private[u.owner]) })
	if err != nil {
		return err
	}
	return Files(k).collect(ctx)
}

// eraseTotals deletes the totals of a person or a chat. The totals of everybody
// stay.
func (k Deletion) eraseTotals(ctx context.Context, who string) error {
	return k.update(ctx, "deleting totals", func(x *txn) {
		for _, of := range matchingKeys(x, TableTotals, nil, math.MaxInt, readTotalKey, func(of totalKey) bool {
			return of.User == who || inChat(of.Chat, who)
		}) {
			totals.drop(x, of)
			x.frees = true
		}
	})
}

// eraseSessions ends the sessions of a person, and deletes the sign-in links.
func (k Deletion) eraseSessions(ctx context.Context, who string) error {
	return k.update(ctx, "ending sessions", func(x *txn) {
		dropChosen(x, sessionRows, func(s tasks.Session) bool { return s.Person.Key() == who })
		dropChosen(x, linkRows, func(l tasks.SignInLink) bool { return l.Person.Key() == who })
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

// eraseTurn deletes a turn with its task, and the summary of its conversation, which
// may hold words of the turn.
func eraseTurn(x *txn, c candidate, d *tasks.Deleted) {
	before := d.Turns
	if forgetTurn(x, c, d); d.Turns > before {
		turns{x}.dropSummary(c.conversation, d)
	}
}

// forgetTurn deletes a turn with its task, unless the task has not ended. A task whose
// turn is elsewhere is deleted without it.
func forgetTurn(x *txn, c candidate, d *tasks.Deleted) {
	rows := turns{x}.at(c.turnKey)
	for _, r := range rows {
		c.task = cmp.Or(c.task, r.Task)
	}
	if stays := (turns{x}).forgetTask(c.task, d); stays || len(rows) == 0 {
		return
	}
	turns{x}.drop(c.conversation, c.order)
	turns{x}.clearCut(c.conversation)
	x.frees = true
	d.Turns++
}

// forgetTask deletes a task, unless it has not ended. A task with a damaged row has
// ended when its conversation's lane does not hold it.
func (x turns) forgetTask(id tasks.ID, d *tasks.Deleted) (stays bool) {
	task, ok, damaged := x.task(id)
	if damaged != nil {
		_, live := lanes(x).copyOf(id)
		task = taskRow{Over: !live}
	}
	if !ok || !task.Over {
		return ok
	}
	d.Tasks++
	x.removed += task.Last
	d.Contents += journals(x).remove(id)
	return false
}

// clearCut deletes the cut of a conversation when no turn before the cut is left.
func (x turns) clearCut(conversation string) {
	cut := x.cut(conversation)
	if cut == 0 {
		return
	}
	if rows := x.next(conversation, 0); len(rows) == 0 || rows[0].Order > cut {
		cuts.drop(x, conversation)
	}
}
