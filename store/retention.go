package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"legwork/tasks"
)

// Bounds of one transaction of a deletion, so that other writers wait for a moment
// only, however much there is to delete.
const (
	retentionBatch = 200 // tasks or conversations
	forgetTurns    = 500
	forgetEvents   = 5000 // of the deleted journals
)

// Deletion implements tasks.Deletion. It looks for the data without delaying
// writers, and deletes it in many small transactions.
type Deletion struct{ *core }

// Retain implements tasks.Deletion. Files of the database may keep the bytes for a
// while, see Store.Freed.
func (k Deletion) Retain(ctx context.Context, tasksBefore, historyBefore time.Time) (d tasks.Deleted, err error) {
	if !tasksBefore.IsZero() {
		err = k.retainTasks(ctx, tasksBefore, &d)
	}
	if err == nil && !historyBefore.IsZero() {
		err = k.retainHistory(ctx, historyBefore, &d)
	}
	return d, wrap("deleting old data", err)
}

// retainTasks deletes tasks whose last event is older than before. Their turns stay.
// Ids are sorted by time, so the first task that was made later ends the search.
func (k Deletion) retainTasks(ctx context.Context, before time.Time, d *tasks.Deleted) error {
	choose := func(x *txn, id tasks.ID, t taskRow) (chosen, over bool, err error) {
		if made, known := id.Time(); known && !made.Before(before) {
			return false, true, nil
		}
		if !t.Over {
			return false, false, nil
		}
		last, err := journals{x}.event(id, t.Last)
		if err != nil && !errors.Is(err, tasks.ErrDamaged) {
			return false, false, err
		}
		return last.At.Before(before), false, nil
	}
	return k.deleteTasks(ctx, choose, func(x turns, c candidate, d *tasks.Deleted) (int, error) {
		_, events, err := x.forgetTask(c.task, d)
		return events, err
	}, d)
}

// retainHistory deletes old turns and summaries, entries of the audit log, and rows
// of the ledger. The turns of a conversation are sorted by time.
func (k Deletion) retainHistory(ctx context.Context, before time.Time, d *tasks.Deleted) error {
	old := func(r historyRow) (chosen, over bool) { return true, !r.At.IsZero() && !r.At.Before(before) }
	err := k.eachConversation(ctx, func(conversation string) error {
		return k.deleteTurns(ctx, conversation, old, turns.forget, d)
	})
	if err != nil {
		return err
	}
	if err := k.retainSummaries(ctx, before, d); err != nil {
		return err
	}
	if err := k.retainAudit(ctx, before); err != nil {
		return err
	}
	day := before.UTC().Format(time.DateOnly)
	return k.dropSpent(ctx, func(s spentKey) bool { return s.Day < day }, d)
}

// retainSummaries deletes old summaries.
func (k Deletion) retainSummaries(ctx context.Context, before time.Time, d *tasks.Deleted) error {
	var old []string
	err := k.view(ctx, "reading summaries", func(x *txn) error {
		for e, err := range summaries.sound(x, nil, nil, Ascending) {
			if err != nil {
				return err
			}
			if e.value.At.Before(before) {
				old = append(old, string(e.key))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for list := range slices.Chunk(old, retentionBatch) {
		err := k.change(ctx, d, func(x *txn, d *tasks.Deleted) error {
			for _, conversation := range list {
				v, err := turns{x}.storedSummary(conversation)
				if err != nil {
					return err
				}
				if v.Until == 0 || !v.At.Before(before) {
					continue
				}
				if err := summaries.drop(x, conversation); err != nil {
					return err
				}
				d.Summaries++
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// change runs do as a transaction, which adds what it deletes to d. After an error d
// is as it was before: do may still run then.
func (k Deletion) change(ctx context.Context, d *tasks.Deleted, do func(*txn, *tasks.Deleted) error) error {
	before := *d
	var after tasks.Deleted
	err := k.update(ctx, "deleting", func(x *txn) error {
		after = before // it may run again
		return do(x, &after)
	})
	if err == nil {
		*d = after
	}
	return err
}

// deleteFunc deletes a turn or a task within a transaction. It returns how many
// events it deleted.
type deleteFunc func(x turns, c candidate, d *tasks.Deleted) (events int, err error)

// deleteEach deletes turns or tasks in transactions that are short enough for other
// writers to wait.
func (k Deletion) deleteEach(ctx context.Context, list []candidate, do deleteFunc, d *tasks.Deleted) error {
	for len(list) > 0 {
		var n int
		err := k.change(ctx, d, func(x *txn, d *tasks.Deleted) error {
			n = 0
			for events := 0; n < len(list) && events < forgetEvents; n++ {
				more, err := do(turns{x}, list[n], d)
				if err != nil {
					return err
				}
				events += more
			}
			return nil
		})
		if err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// deleteFound deletes what find lists in a view, until find says that there is no
// more.
func (k Deletion) deleteFound(ctx context.Context, find func(x *txn) (list []candidate, over bool, err error), do deleteFunc, d *tasks.Deleted) error {
	for over := false; !over; {
		var list []candidate
		err := k.view(ctx, "looking for what to delete", func(x *txn) (err error) {
			list, over, err = find(x)
			return err
		})
		if err == nil {
			err = k.deleteEach(ctx, list, do, d)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// deleteTasks deletes the tasks that choose picks. choose gets all tasks in the order
// of their ids, without damaged ones, until over is true.
func (k Deletion) deleteTasks(ctx context.Context, choose func(x *txn, id tasks.ID, t taskRow) (chosen, over bool, err error), do deleteFunc, d *tasks.Deleted) error {
	after := ""
	return k.deleteFound(ctx, func(x *txn) (list []candidate, over bool, err error) {
		n := 0
		for e, err := range taskRows.sound(x, []byte(after+"\x00"), nil, Ascending) {
			if err != nil {
				return nil, false, err
			}
			after = string(e.key)
			chosen, end, err := choose(x, tasks.ID(after), e.value)
			if err != nil || end {
				return list, end, err
			}
			if chosen {
				list = append(list, candidate{turnKey{e.value.Chat.Key(), e.value.Order}, tasks.ID(after)})
			}
			if n++; n == retentionBatch {
				return list, false, nil
			}
		}
		return list, true, nil
	}, do, d)
}

// deleteTurns deletes the turns of a conversation that choose picks, except those of
// tasks that have not ended. choose gets the first half of each turn, from the oldest
// on, until over is true. A damaged half has only its order.
func (k Deletion) deleteTurns(ctx context.Context, conversation string, choose func(historyRow) (chosen, over bool), do deleteFunc, d *tasks.Deleted) error {
	after := uint64(0)
	return k.deleteFound(ctx, func(x *txn) (list []candidate, over bool, err error) {
		from, to := turnsBetween(conversation, after, 1<<64-1)
		for e, err := range history.scan(x, from, to, Ascending) {
			if err != nil {
				return nil, false, err
			}
			order, _, ok := readHalfKey(e.key)
			if !ok || order == after {
				continue
			}
			after = order
			r := e.value
			r.Order = order
			chosen, end := choose(r)
			if end {
				return list, true, nil
			}
			if chosen {
				list = append(list, candidate{turnKey{conversation, order}, ""})
			}
			if len(list) == forgetTurns {
				return list, false, nil
			}
		}
		return list, true, nil
	}, do, d)
}

// eachConversation calls do for each conversation that has turns.
func (k Deletion) eachConversation(ctx context.Context, do func(conversation string) error) error {
	var from []byte
	for {
		var list []string
		err := k.view(ctx, "looking for conversations", func(x *txn) error {
			for len(list) < retentionBatch {
				key, err := firstKey(x, TableHistory, from, nil, Ascending)
				if err != nil || key == nil {
					return err
				}
				name := nameIn(key)
				list, from = append(list, name), afterPrefix(namePrefix(name))
			}
			return nil
		})
		if err != nil || len(list) == 0 {
			return err
		}
		for _, conversation := range list {
			if err := do(conversation); err != nil {
				return err
			}
		}
	}
}
