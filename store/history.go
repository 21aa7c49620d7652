package store

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"legwork/bot"
	"legwork/internal/clip"
	"legwork/planner"
	"legwork/tasks"
)

// Conversations implements the part of tasks.Store about conversations and what is
// stored for their chats.
type Conversations struct{ *core }

// History implements tasks.Store. A damaged row costs its turn, not the others. The
// newest turn is shortened when it does not fit, so that one very long question does
// not hide the whole conversation.
func (c Conversations) History(ctx context.Context, conversation string, before tasks.ID, maxBytes int) (list []tasks.Turn, err error) {
	err = c.read(ctx, "reading history", func(x *txn) {
		list = nil
		end := uint64(1<<64 - 1)
		if before != "" {
			task, err := journals{x}.existing(before)
			x.fail(err)
			end = task.Order
		}
		from, to := turnsBetween(conversation, turns{x}.cut(conversation), end)
		var answer historyRow
		left := maxBytes
		for e := range history.sound(x, from, to, Descending) { // an answer comes before its goal
			if e.value.Answer {
				answer = e.value
				continue
			}
			t := turnOf(e.value)
			if answer.Order == e.value.Order {
				t = withAnswer(t, answer)
			}
			for len(list) == 0 && len(t.Brought) > 0 && t.Bytes() > left { // the first one, such as the root of a thread, goes last
				i := min(1, len(t.Brought)-1)
				t.Brought = slices.Delete(t.Brought, i, i+1)
			}
			if len(list) == 0 && t.Bytes() > left {
				t.Goal, t.Answer = shorten(t.Goal, left/2), shorten(t.Answer, left/2)
			}
			if left -= t.Bytes(); left < 0 {
				return
			}
			list = append(list, t)
		}
	})
	slices.Reverse(list)
	return list, err
}

// Turns implements tasks.Summaries. A damaged goal costs its turn, a damaged answer
// is left out.
func (c Conversations) Turns(ctx context.Context, conversation string, after uint64, limit int) (list []tasks.Turn, err error) {
	err = c.read(ctx, "reading turns", func(x *txn) {
		list = nil
		from, to := turnsBetween(conversation, max(after, turns{x}.cut(conversation)), 1<<64-1)
		for e := range history.sound(x, from, to, Ascending) {
			n := len(list)
			switch r := e.value; {
			case r.Answer && n > 0 && list[n-1].Order == r.Order:
				list[n-1] = withAnswer(list[n-1], r)
			case !r.Answer && n >= limit:
				return
			case !r.Answer:
				list = append(list, turnOf(r))
			}
		}
	})
	return list, err
}

// turns are the history of the conversations, within a transaction.
type turns struct{ *txn }

// put writes one half of a turn.
func (x turns) put(conversation string, r historyRow) {
	history.put(x, halfKey{turnKey{conversation, r.Order}, r.Answer}, r)
}

// drop deletes both halves of a turn.
func (x turns) drop(conversation string, order uint64) {
	history.drop(x, halfKey{turnKey{conversation, order}, false})
	history.drop(x, halfKey{turnKey{conversation, order}, true})
}

// cut returns the order up to which the turns of a conversation are cut off; 0 for
// no cut.
func (x turns) cut(conversation string) uint64 {
	order, _ := cuts.load(x, conversation)
	return order
}

// turnsBetween is the range of a conversation's turns after one order and before
// another one.
func turnsBetween(conversation string, after, before uint64) (from, to []byte) {
	return historyKey(halfKey{turnKey{conversation, after + 1}, false}), historyKey(halfKey{turnKey{conversation, before}, false})
}

// next returns the halves of a conversation's first turn whose order is above after,
// the goal before the answer; none when there is no such turn. A damaged half comes
// without its text.
func (x turns) next(conversation string, after uint64) (rows []historyRow) {
	from, to := turnsBetween(conversation, after, 1<<64-1)
	for e := range history.scan(x, from, to, Ascending) {
		r := e.value
		if e.damaged != nil {
			x.skip(TableHistory, e.key, e.damaged)
			order, answer, _ := readHalfKey(e.key)
			r = historyRow{Order: order, Answer: answer}
		}
		if len(rows) > 0 && rows[0].Order != r.Order {
			break
		}
		rows = append(rows, r)
	}
	for i := range rows {
		if rows[i].Task == "" {
			rows[i].Task = x.taskWithOrder(rows[i].Order)
		}
	}
	return rows
}

// at returns the halves of a turn, as next does; none when it is not there.
func (x turns) at(k turnKey) []historyRow {
	rows := x.next(k.conversation, k.order-1)
	if len(rows) > 0 && rows[0].Order != k.order {
		return nil
	}
	return rows
}

// taskWithOrder finds a task by its order among all tasks; empty when none has it.
func (x turns) taskWithOrder(order uint64) tasks.ID {
	for e := range taskRows.scan(x, nil, nil, Ascending) {
		if e.damaged == nil && e.value.Order == order {
			return tasks.ID(e.key)
		}
	}
	return ""
}

// turnOf returns a turn with its goal's row.
func turnOf(r historyRow) tasks.Turn {
	return tasks.Turn{Task: r.Task, Order: r.Order, At: r.At, Goal: r.Text, From: r.From, Brought: r.Brought, Tainted: r.Labels.Outside, Private: r.Labels.Private}
}

// withAnswer returns the turn with its answer's row.
func withAnswer(t tasks.Turn, r historyRow) tasks.Turn {
	t.Answer, t.Failed, t.Tainted, t.Private = r.Text, r.Failed, t.Tainted || r.Labels.Outside, t.Private.With(r.Labels.Private)
	return t
}

// shorten cuts a text to at most n bytes, between two characters.
func shorten(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return clip.Marked(text, max(0, n-len(clip.Mark)))
}

// Setting implements tasks.Store.
func (c Conversations) Setting(ctx context.Context, owner, name string) (text string, err error) {
	err = c.read(ctx, fmt.Sprintf("reading setting %q of %s", name, owner), func(x *txn) { text, _ = settings.load(x, settingName{owner, name}) })
	return text, err
}

// PutSetting implements tasks.Store.
func (c Conversations) PutSetting(ctx context.Context, owner, name, value string) error {
	if len(owner) > MaxName || len(name) > MaxName {
		return fmt.Errorf("setting of an owner of %d bytes and a name of %d: at most %d each", len(owner), len(name), MaxName)
	}
	return c.update(ctx, "storing setting", func(x *txn) { x.putSetting(settingName{owner, name}, value) })
}

// putSetting stores a setting; an empty value deletes it.
func (x *txn) putSetting(name settingName, value string) {
	if value == "" {
		settings.drop(x, name)
	} else {
		settings.put(x, name, value)
	}
}

// SettingOwners implements tasks.Store.
func (c Conversations) SettingOwners(ctx context.Context, name string) (owners []string, err error) {
	err = c.read(ctx, fmt.Sprintf("listing the owners of setting %q", name), func(x *txn) {
		owners = nil
		for of := range x.settingsIn(nil, nil) {
			if of.name == name {
				owners = append(owners, of.owner)
			}
		}
	})
	slices.Sort(owners)
	return owners, err
}

// settingsIn returns the settings in a range of keys. It skips damaged ones.
func (x *txn) settingsIn(from, to []byte) map[settingName]string {
	all := map[settingName]string{}
	for e := range settings.sound(x, from, to, Ascending) {
		owner := nameIn(e.key)
		all[settingName{owner, string(e.key[min(2+len(owner), len(e.key)):])}] = e.value
	}
	return all
}

// settingsOf returns the settings of an owner.
func (x *txn) settingsOf(owner string) map[settingName]string {
	prefix := namePrefix(owner)
	return x.settingsIn(prefix, afterPrefix(prefix))
}

// Move implements tasks.Store. When both conversations have a setting, the other one
// keeps its own; when both have a cut, the later one counts.
func (c Conversations) Move(ctx context.Context, from string, to bot.Chat) error {
	if from == "" || from == to.Key() {
		return nil
	}
	if err := checkConversation(to); err != nil {
		return err
	}
	return c.update(ctx, "moving conversation", func(x *txn) {
		x.fail(x.savepoint(func() error {
			lanes{x}.move(from, to)
			turns{x}.moveSummary(from, to.Key())
			turns{x}.move(from, to.Key())
			turns{x}.moveCut(from, to.Key())
			x.moveSettings(from, to.Key())
			timetable{x}.move(from, to)
			if to.Thread == "" { // budgets and files are those of whole chats
				ledger{x}.moveChat(from, to.Key())
				uses{x}.move(from, to.Key())
			}
			if moved, ok := x.Tx.(*Overlay); ok && !moved.Empty() {
				x.step("moved")
			}
			return nil
		}))
	})
}

// move gives the turns of a conversation to another one. Orders are given over all
// conversations, so the turns of both stay sorted by time.
func (x turns) move(from, to string) {
	rows := x.next(from, 0)
	if len(rows) > 0 {
		x.alter(to)
	}
	for ; len(rows) > 0; rows = x.next(from, rows[0].Order) {
		x.drop(from, rows[0].Order)
		for _, r := range rows {
			x.put(to, r)
		}
	}
}

// moveCut gives the cut of a conversation to another one.
func (x turns) moveCut(from, to string) {
	if old := x.cut(from); old > 0 {
		cuts.drop(x, from)
		cuts.put(x, to, max(old, x.cut(to)))
	}
}

// moveSettings gives the settings of an owner to another one.
func (x *txn) moveSettings(from, to string) {
	own := x.settingsOf(to)
	for name, value := range x.settingsOf(from) {
		settings.drop(x, name)
		name.owner = to
		if own[name] == "" {
			settings.put(x, name, value)
		}
	}
}

// Summary implements tasks.Summaries. A damaged one counts as missing: older turns
// are summarised anew.
func (c Conversations) Summary(ctx context.Context, conversation string) (v tasks.Summary, err error) {
	err = c.read(ctx, "reading summary", func(x *txn) { v = turns{x}.summary(conversation) })
	return v, err
}

// PutSummary implements tasks.Summaries.
func (c Conversations) PutSummary(ctx context.Context, conversation string, before uint64, v tasks.Summary) error {
	return c.update(ctx, "storing summary", func(tx *txn) {
		x := turns{tx}
		now, gone := x.summary(conversation), max(x.cut(conversation), x.cache.alteredUpTo(conversation))
		switch {
		case now.Until != before || v.Until <= max(before, gone):
			x.fail(fmt.Errorf("summary of %s up to turn %d, made after turn %d; there is one up to %d, and turns up to %d are no longer what they were: %w",
				conversation, v.Until, before, now.Until, gone, tasks.ErrConflict))
		case len(x.at(turnKey{conversation, v.Until})) == 0:
			x.fail(fmt.Errorf("summary of %s up to turn %d, which is not there: %w", conversation, v.Until, tasks.ErrConflict))
		default:
			v.At = v.At.Round(0).UTC()
			x.step("summarised")
			summaries.put(x, conversation, v)
		}
	})
}

// storedSummary returns the summary of a conversation, cut or not; its zero value
// when there is none, or it is damaged.
func (x turns) storedSummary(conversation string) tasks.Summary {
	v, _, damaged := summaries.get(x, conversation)
	if damaged != nil {
		x.skip(TableSummaries, []byte(conversation), damaged)
		return tasks.Summary{}
	}
	return v
}

// summary returns the summary of a conversation, unless the conversation was cut
// after it.
func (x turns) summary(conversation string) tasks.Summary {
	v := x.storedSummary(conversation)
	if v.Until <= x.cut(conversation) {
		return tasks.Summary{}
	}
	return v
}

// alter notes that turns of a conversation are deleted, or moved to it. From then on
// the store refuses a summary of the turns as they are now.
func (x turns) alter(conversation string) { x.cache.alter(conversation, x.newest()) }

// dropSummary deletes the summary of a conversation whose turns are deleted.
func (x turns) dropSummary(conversation string, d *tasks.Deleted) {
	x.alter(conversation)
	if summaries.has(x, conversation) {
		d.Summaries++
		summaries.drop(x, conversation)
	}
}

// moveSummary gives the summary of a conversation to another one. If both have a
// summary, it keeps one that leaves out no turn of the other conversation. Without
// such a summary, prompts read the turns themselves.
func (x turns) moveSummary(from, to string) {
	var kept tasks.Summary
	for _, c := range [][2]string{{to, from}, {from, to}} {
		v, rows := x.summary(c[0]), x.next(c[1], x.cut(c[1]))
		if v.Until > 0 && (len(rows) == 0 || rows[0].Order > v.Until) {
			kept = v
		}
	}
	for conversation, v := range map[string]tasks.Summary{from: {}, to: kept} {
		switch {
		case reflect.DeepEqual(x.storedSummary(conversation), v):
		case v.Until == 0:
			summaries.drop(x, conversation)
		default:
			summaries.put(x, conversation, v)
		}
	}
}

// The flags of a row of the history.
const (
	rowFailed = 1 << iota
	rowTainted
	rowFrom    // the person who asked comes before the text
	rowBrought // the messages that the goal brought along, in JSON, come before the text
	rowPrivate // origins of private data come before the text
)

// encodeHistory returns flags, time, task, who asked where that is told, messages that
// the goal brought along, and text.
func encodeHistory(r historyRow) ([]byte, error) {
	told := r.From != "" && len(r.From) <= math.MaxUint8
	body := make([]byte, 0, 12+len(r.Task)+len(r.From)+len(r.Text))
	body = append(body, flag(rowFailed, r.Failed)|flag(rowTainted, r.Labels.Outside)|flag(rowPrivate, len(r.Labels.Private) > 0)|flag(rowFrom, told)|flag(rowBrought, len(r.Brought) > 0), byte(len(r.Task)))
	body = binary.BigEndian.AppendUint64(body, uint64(r.At.UnixNano()))
	body = append(body, r.Task...)
	if told {
		body = append(append(body, byte(len(r.From))), r.From...)
	}
	if len(r.Brought) > 0 {
		brought, err := json.Marshal(r.Brought)
		if err != nil {
			return nil, fmt.Errorf("encoding history row: %w", err)
		}
		body = append(binary.AppendUvarint(body, uint64(len(brought))), brought...)
	}
	if len(r.Labels.Private) > 0 {
		origins := strings.Join(r.Labels.Private, "\n")
		body = append(binary.AppendUvarint(body, uint64(len(origins))), origins...)
	}
	return append(body, r.Text...), nil
}

// decodeHistory reads what encodeHistory wrote.
func decodeHistory(key, body []byte) (r historyRow, err error) {
	order, answer, ok := readHalfKey(key)
	rest := reader{rest: body}
	flags, size := rest.byte(), rest.byte()
	at := rest.take(8)
	if at == nil {
		return r, fmt.Errorf("%w: history row", tasks.ErrDamaged)
	}
	r = historyRow{
		Order: order, Answer: answer, Failed: flags&rowFailed != 0, Labels: planner.Labels{Outside: flags&rowTainted != 0},
		At: time.Unix(0, int64(binary.BigEndian.Uint64(at))).UTC(), Task: tasks.ID(rest.take(uint64(size))),
	}
	if flags&rowFrom != 0 {
		r.From = string(rest.take(uint64(rest.byte())))
	}
	if flags&rowBrought != 0 {
		rest.short = json.Unmarshal(rest.take(rest.number()), &r.Brought) != nil
	}
	if flags&rowPrivate != 0 {
		r.Labels.Private = strings.Split(string(rest.take(rest.number())), "\n")
	}
	if r.Text = string(rest.rest); !ok || rest.short {
		return r, fmt.Errorf("%w: history row", tasks.ErrDamaged)
	}
	return r, nil
}
