package store

import (
	"context"
	"slices"

	"legwork/internal/clip"
	"legwork/tasks"
)

// Conversations implements the part of tasks.Store about conversations and what is
// stored for their chats.
type Conversations struct{ *core }

// History implements tasks.Store. A damaged row costs its turn, not the others.
func (c Conversations) History(ctx context.Context, conversation string, before tasks.ID, maxBytes int) ([]tasks.Turn, error) {
	var list turnCollector
	err := c.view(ctx, "reading history", func(x *txn) error {
		list = turnCollector{left: maxBytes}
		end := uint64(1<<64 - 1)
		if before != "" {
			task, err := journals{x}.existing(before)
			if err != nil {
				return err
			}
			end = task.Order
		}
		return turns{x}.collect(conversation, end, &list)
	})
	slices.Reverse(list.turns)
	return list.turns, err
}

// Turns implements tasks.Summaries. A damaged goal costs its turn, a damaged answer
// is left out.
func (c Conversations) Turns(ctx context.Context, conversation string, after uint64, limit int) (list []tasks.Turn, err error) {
	err = c.view(ctx, "reading turns", func(x *txn) error {
		list = nil
		cut, err := turns{x}.cut(conversation)
		if err != nil {
			return err
		}
		from, to := turnsBetween(conversation, max(after, cut), 1<<64-1)
		for e, err := range history.sound(x, from, to, Ascending) {
			if err != nil {
				return err
			}
			n := len(list)
			switch r := e.value; {
			case r.Answer && n > 0 && list[n-1].Order == r.Order:
				list[n-1] = withAnswer(list[n-1], r)
			case !r.Answer && n >= limit:
				return nil
			case !r.Answer:
				list = append(list, turnOf(r))
			}
		}
		return nil
	})
	return list, err
}

// turns are the history of the conversations, within a transaction.
type turns struct{ *txn }

// put writes one half of a turn.
func (x turns) put(conversation string, r historyRow) error {
	return history.put(x, halfKey{turnKey{conversation, r.Order}, r.Answer}, r)
}

// putMissing writes one half of a turn, unless it is there already.
func (x turns) putMissing(conversation string, r historyRow) error {
	there, err := history.has(x, halfKey{turnKey{conversation, r.Order}, r.Answer})
	if err != nil || there {
		return err
	}
	return x.put(conversation, r)
}

// drop deletes both halves of a turn.
func (x turns) drop(conversation string, order uint64) error {
	for _, answer := range []bool{false, true} {
		if err := history.drop(x, halfKey{turnKey{conversation, order}, answer}); err != nil {
			return err
		}
	}
	return nil
}

// cut returns the order up to which the turns of a conversation are cut off; 0 for
// no cut.
func (x turns) cut(conversation string) (uint64, error) {
	order, _, err := cuts.get(x, conversation)
	return order, err
}

// turnsBetween is the range of a conversation's turns after one order and before
// another one.
func turnsBetween(conversation string, after, before uint64) (from, to []byte) {
	return historyKey(halfKey{turnKey{conversation, after + 1}, false}), historyKey(halfKey{turnKey{conversation, before}, false})
}

// next returns the halves of a conversation's first turn whose order is above after,
// the goal before the answer; none when there is no such turn. A damaged half comes
// without its text.
func (x turns) next(conversation string, after uint64) (rows []historyRow, err error) {
	from, to := turnsBetween(conversation, after, 1<<64-1)
	for e, err := range history.scan(x, from, to, Ascending) {
		if err != nil {
			return nil, err
		}
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
			if rows[i].Task, err = x.taskWithOrder(rows[i].Order); err != nil {
				return nil, err
			}
		}
	}
	return rows, nil
}

// taskWithOrder finds a task by its order among all tasks; empty when none has it.
func (x turns) taskWithOrder(order uint64) (tasks.ID, error) {
	for e, err := range taskRows.scan(x, nil, nil, Ascending) {
		if err != nil {
			return "", err
		}
		if e.damaged == nil && e.value.Order == order {
			return tasks.ID(e.key), nil
		}
	}
	return "", nil
}

// taskOf is the task of a turn's rows; empty when nothing tells it.
func taskOf(rows []historyRow) tasks.ID {
	for _, r := range rows {
		if r.Task != "" {
			return r.Task
		}
	}
	return ""
}

// collect adds a conversation's turns that are not cut off and come before an order,
// from the newest to the oldest. In this direction an answer comes before its goal.
func (x turns) collect(conversation string, before uint64, list *turnCollector) error {
	cut, err := x.cut(conversation)
	if err != nil {
		return err
	}
	from, to := turnsBetween(conversation, cut, before)
	var answer historyRow
	for e, err := range history.sound(x.txn, from, to, Descending) {
		if err != nil {
			return err
		}
		if e.value.Answer {
			answer = e.value
			continue
		}
		t := turnOf(e.value)
		if answer.Order == e.value.Order {
			t = withAnswer(t, answer)
		}
		if !list.add(t) {
			return nil
		}
	}
	return nil
}

// turnOf returns a turn with its goal's row.
func turnOf(r historyRow) tasks.Turn {
	return tasks.Turn{Task: r.Task, Order: r.Order, At: r.At, Goal: r.Text, From: r.From}
}

// withAnswer returns the turn with its answer's row.
func withAnswer(t tasks.Turn, r historyRow) tasks.Turn {
	t.Answer, t.Failed, t.Tainted = r.Text, r.Failed, r.Tainted
	return t
}

// turnCollector collects turns from the newest to the oldest until their goals and
// answers together would exceed a number of bytes.
type turnCollector struct {
	left  int // bytes
	turns []tasks.Turn
}

// add takes the next older turn. It returns false when the turn does not fit, which
// ends the collection. It shortens the newest turn instead, so that one very long
// question does not hide the whole conversation.
func (b *turnCollector) add(t tasks.Turn) bool {
	if len(b.turns) == 0 && len(t.Goal)+len(t.Answer) > b.left {
		t.Goal, t.Answer = shorten(t.Goal, b.left/2), shorten(t.Answer, b.left/2)
	}
	b.left -= len(t.Goal) + len(t.Answer)
	if b.left < 0 {
		return false
	}
	b.turns = append(b.turns, t)
	return true
}

// shorten cuts a text to at most n bytes, between two characters.
func shorten(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return clip.Marked(text, max(0, n-len(clip.Mark)))
}
