package store

import (
	"context"
	"time"

	"legwork/tasks"
)

// Bounds of one transaction of a deletion, so that other writers wait for a moment
// only, however much there is to delete.
const (
	deleteAtOnce = 500  // records of one kind
	forgetEvents = 5000 // of the deleted journals
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
	if err == nil {
		err = k.retainAttempts(ctx, &d)
	}
	if err == nil && d.Contents > 0 {
		err = Files(k).collect(ctx)
	}
	return d, wrap("deleting old data", err)
}

// retainTasks deletes tasks whose last event is older than before. Their turns stay.
// Ids are sorted by time, so the first task that was made later ends the search.
func (k Deletion) retainTasks(ctx context.Context, before time.Time, d *tasks.Deleted) error {
	choose := func(x *txn, id tasks.ID, t taskRow) (chosen, over bool) {
		if made, known := id.Time(); known && !made.Before(before) {
			return false, true
		}
		if !t.Over {
			return false, false
		}
		last, _ := journals{x}.event(id, t.Last) // a damaged one is old
		return last.At.Before(before), false
	}
	return k.deleteTasks(ctx, d, choose, func(x *txn, c candidate, d *tasks.Deleted) { turns{x}.forgetTask(c.task, d) })
}

// retainHistory deletes old turns, summaries and posts, entries of the audit log, and rows
// of the ledger. The turns of a conversation are sorted by time.
func (k Deletion) retainHistory(ctx context.Context, before time.Time, d *tasks.Deleted) error {
	old := func(r historyRow) (chosen, over bool) { return true, !r.At.IsZero() && !r.At.Before(before) }
	err := k.eachConversation(ctx, func(conversation string) error {
		return k.deleteTurns(ctx, d, conversation, old, forgetTurn)
	})
	if err == nil {
		err = k.retainSummaries(ctx, before, d)
	}
	if err == nil {
		err = k.retainPosts(ctx, before, d)
	}
	if err == nil {
		err = k.retainAudit(ctx, before, d)
	}
	if err == nil {
		day := before.UTC().Format(time.DateOnly)
		err = k.dropSpent(ctx, d, func(s spentKey) bool { return s.Day < day })
	}
	return err
}

// retainSummaries deletes old summaries.
func (k Deletion) retainSummaries(ctx context.Context, before time.Time, d *tasks.Deleted) error {
	return deleteFound(ctx, k, d, func(x *txn) (old []string, over bool) {
		for e := range summaries.sound(x, nil, nil, Ascending) {
			if e.value.At.Before(before) {
				old = append(old, string(e.key))
			}
		}
		return old, true
	}, func(x *txn, conversation string, d *tasks.Deleted) {
		if v := (turns{x}).storedSummary(conversation); v.Until > 0 && v.At.Before(before) { // it may be a new one
			summaries.drop(x, conversation)
			d.Summaries++
		}
	})
}

// dropSpent deletes the rows of the ledger that match.
func (k Deletion) dropSpent(ctx context.Context, d *tasks.Deleted, match func(spentKey) bool) error {
	var from []byte
	return deleteFound(ctx, k, d, func(x *txn) (rows []spentKey, over bool) {
		rows = matchingKeys(x, TableSpent, from, deleteAtOnce, readSpentKey, match)
		if len(rows) < deleteAtOnce {
			return rows, true
		}
		from = spentKeyBytes(rows[len(rows)-1])
		return rows, false
	}, func(x *txn, row spentKey, d *tasks.Deleted) {
		spentRows.drop(x, row)
		x.frees = true
		d.Spent++
	})
}

// change runs do as a transaction, which adds what it deletes to d. After an error d
// is as it was before: do may still run then.
func (k Deletion) change(ctx context.Context, d *tasks.Deleted, do func(*txn, *tasks.Deleted)) error {
	before := *d
	var after tasks.Deleted
	err := k.update(ctx, "deleting", func(x *txn) {
		after = before // it may run again
		do(x, &after)
	})
	if err == nil {
		*d = after
	}
	return err
}

// deleteFound deletes what find lists in a view, until find says that there is no
// more. It does so in transactions that are short enough for other writers to wait.
// do deletes one of the list and adds it to d.
func deleteFound[T any](ctx context.Context, k Deletion, d *tasks.Deleted, find func(*txn) (list []T, over bool), do func(x *txn, found T, d *tasks.Deleted)) error {
	for over := false; !over; {
		var list []T
		err := k.view(ctx, "looking for what to delete", func(x *txn) { list, over = find(x) })
		for err == nil && len(list) > 0 {
			n := 0
			err = k.change(ctx, d, func(x *txn, d *tasks.Deleted) {
				for n = 0; n < min(len(list), deleteAtOnce) && x.removed < forgetEvents; n++ {
					do(x, list[n], d)
				}
			})
			list = list[n:]
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// candidate is a turn, or a task, that may be deleted.
type candidate struct {
	turnKey          // where the turn was opened: a chat may have moved since
	task    tasks.ID // empty: the task of the turn
}

// deleteTasks deletes the tasks that choose picks. choose gets all tasks in the order
// of their ids, without damaged ones, until over is true.
func (k Deletion) deleteTasks(ctx context.Context, d *tasks.Deleted, choose func(x *txn, id tasks.ID, t taskRow) (chosen, over bool), do func(*txn, candidate, *tasks.Deleted)) error {
	after := ""
	return deleteFound(ctx, k, d, func(x *txn) (list []candidate, over bool) {
		n := 0
		for e := range taskRows.sound(x, []byte(after+"\x00"), nil, Ascending) {
			after = string(e.key)
			chosen, end := choose(x, tasks.ID(after), e.value)
			if end {
				break
			}
			if chosen {
				list = append(list, candidate{turnKey{e.value.Chat.Key(), e.value.Order}, tasks.ID(after)})
			}
			if n++; n == deleteAtOnce {
				return list, false
			}
		}
		return list, true
	}, do)
}

// deleteTurns deletes the turns of a conversation that choose picks, except those of
// tasks that have not ended. choose gets the first half of each turn, from the oldest
// on, until over is true. A damaged half has only its order.
func (k Deletion) deleteTurns(ctx context.Context, d *tasks.Deleted, conversation string, choose func(historyRow) (chosen, over bool), do func(*txn, candidate, *tasks.Deleted)) error {
	after := uint64(0)
	return deleteFound(ctx, k, d, func(x *txn) (list []candidate, over bool) {
		from, to := turnsBetween(conversation, after, 1<<64-1)
		for e := range history.scan(x, from, to, Ascending) {
			order, _, ok := readHalfKey(e.key)
			if !ok || order == after {
				continue
			}
			after = order
			r := e.value
			r.Order = order
			chosen, end := choose(r)
			if end {
				break
			}
			if chosen {
				list = append(list, candidate{turnKey: turnKey{conversation, order}})
			}
			if len(list) == deleteAtOnce {
				return list, false
			}
		}
		return list, true
	}, do)
}

// eachConversation calls do for each conversation that has turns.
func (k Deletion) eachConversation(ctx context.Context, do func(conversation string) error) error {
	var from []byte
	for {
		var list []string
		err := k.view(ctx, "looking for conversations", func(x *txn) {
			for len(list) < deleteAtOnce {
				key := firstKey(x, TableHistory, from, nil, Ascending)
				if key == nil {
					return
				}
				name := nameIn(key)
				list, from = append(list, name), afterPrefix(namePrefix(name))
			}
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
