package rules

import (
	"errors"
	"time"

	"legwork/tasks"
)

// retentionBatch is how many records a Retention reads at once.
const retentionBatch = 200

// TaskEntry is a task in a list.
type TaskEntry struct {
	ID   tasks.ID
	Task Task
}

// Retention deletes data of many conversations. It looks for the data without
// delaying writers, and deletes it in many small transactions.
type Retention struct {
	View   func(func(Snapshot) error) error // reads what is committed
	Change func(func(*Tx) error) error      // runs one transaction
}

// eachTask lets do change the tasks that choose picks, at most retentionBatch of
// them in a transaction.
func (k Retention) eachTask(d *tasks.Deleted, choose func(Snapshot, []TaskEntry) ([]TaskEntry, error), do func(*Tx, TaskEntry, *tasks.Deleted) error) error {
	after := tasks.ID("")
	for {
		var all, chosen []TaskEntry
		err := k.View(func(b Snapshot) (err error) {
			if all, err = b.Tasks(after, retentionBatch); err == nil {
				chosen, err = choose(b, all)
			}
			return err
		})
		if errors.Is(err, errStop) {
			return k.inBatches(chosen, d, do)
		}
		if err != nil || len(all) == 0 {
			return err
		}
		after = all[len(all)-1].ID
		if err := k.inBatches(chosen, d, do); err != nil {
			return err
		}
	}
}

// inBatches changes tasks in transactions that are short enough for other writers
// to wait.
func (k Retention) inBatches(list []TaskEntry, d *tasks.Deleted, do func(*Tx, TaskEntry, *tasks.Deleted) error) error {
	for len(list) > 0 {
		n, events := 0, 0
		for n < len(list) && events < forgetEvents {
			events += list[n].Task.Last
			n++
		}
		counted := *d
		err := k.Change(func(s *Tx) error {
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

// errStop ends eachTask: no further task matches.
var errStop = errors.New("enough")

func (k Retention) eachConversation(do func(conversation string) error) error {
	after := ""
	for {
		var list []string
		err := k.View(func(b Snapshot) (err error) { list, err = b.Conversations(after, retentionBatch); return err })
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

// dropTurns deletes turns of a conversation in one transaction. first runs at the
// beginning of it.
func (k Retention) dropTurns(conversation string, turns [][]HistoryRow, d *tasks.Deleted, first func(*Tx, *tasks.Deleted) error) error {
	counted := *d
	err := k.Change(func(s *Tx) error {
		counted = *d // it may run again
		if err := first(s, &counted); err != nil {
			return err
		}
		for _, rows := range turns {
			if err := s.dropTurn(conversation, taskOf(rows), rows, &counted); err != nil {
				return err
			}
		}
		return s.clearCut(conversation)
	})
	if err == nil {
		*d = counted
	}
	return err
}

// dropTurn deletes a turn with its task, unless the task has not ended.
func (s *Tx) dropTurn(conversation string, id tasks.ID, rows []HistoryRow, d *tasks.Deleted) error {
	task, ok, err := s.Task(id)
	if err != nil && !errors.Is(err, tasks.ErrDamaged) {
		return err
	}
	if err == nil && ok && !task.Over {
		return nil
	}
	if ok || err != nil {
		if err := s.closeAccount(id); err != nil {
			return err
		}
		s.changes.forget(id)
		d.Tasks++
	}
	for _, r := range rows {
		s.changes.Rows = append(s.changes.Rows, HistoryRow{Conversation: conversation, Order: r.Order, Answer: r.Answer, Deleted: true})
	}
	if len(rows) > 0 {
		d.Turns++
	}
	return nil
}

// dropSpent deletes rows of the ledger.
func (k Retention) dropSpent(match func(SpentKey) bool, d *tasks.Deleted) error {
	for {
		var rows []SpentKey
		err := k.View(func(b Snapshot) (err error) { rows, err = b.SpentKeys(match, retentionBatch); return err })
		if err != nil || len(rows) == 0 {
			return err
		}
		err = k.Change(func(s *Tx) error {
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

// Retain implements tasks.Deletion.
func (k Retention) Retain(tasksBefore, historyBefore time.Time) (d tasks.Deleted, err error) {
	if !tasksBefore.IsZero() {
		old := func(b Snapshot, list []TaskEntry) ([]TaskEntry, error) { return endedTasks(b, list, tasksBefore) }
		if err = k.eachTask(&d, old, (*Tx).deleteEnded); err != nil {
			return d, err
		}
	}
	if !historyBefore.IsZero() {
		err = k.retainHistory(historyBefore, &d)
	}
	return d, err
}

// endedTasks picks tasks whose last event is older than before. Ids are sorted by
// time, so the first task that was made later ends the search.
func endedTasks(b Snapshot, list []TaskEntry, before time.Time) (old []TaskEntry, err error) {
	for _, t := range list {
		if made, known := t.ID.Time(); known && !made.Before(before) {
			return old, errStop
		}
		if !t.Task.Over {
			continue
		}
		at, err := b.EndedAt(t.ID, t.Task)
		if err != nil {
			return nil, err
		}
		if at.Before(before) {
			old = append(old, t)
		}
	}
	return old, nil
}

// deleteEnded deletes a task that has ended; its turn stays.
func (s *Tx) deleteEnded(t TaskEntry, d *tasks.Deleted) error {
	task, ok, err := s.Task(t.ID)
	if err != nil || !ok || !task.Over {
		return err
	}
	if err := s.closeAccount(t.ID); err != nil {
		return err
	}
	s.changes.forget(t.ID)
	d.Tasks++
	return nil
}

// retainHistory deletes old turns and summaries, conversation by conversation, old
// entries of the audit log, and old rows of the ledger.
func (k Retention) retainHistory(before time.Time, d *tasks.Deleted) error {
	err := k.eachConversation(func(conversation string) error { return k.retainTurns(conversation, before, d) })
	if err != nil {
		return err
	}
	if err := k.retainAudit(before); err != nil {
		return err
	}
	day := before.UTC().Format(time.DateOnly)
	return k.dropSpent(func(r SpentKey) bool { return r.Day < day }, d)
}

// retainTurns deletes old turns of a conversation. They are sorted by time.
func (k Retention) retainTurns(conversation string, before time.Time, d *tasks.Deleted) error {
	for more := true; more; {
		var turns [][]HistoryRow
		var summary tasks.Summary
		err := k.View(func(b Snapshot) (err error) {
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
		more = len(turns) == retentionBatch
		err = k.dropTurns(conversation, turns, d, func(s *Tx, d *tasks.Deleted) error {
			if stale {
				put(&s.changes.Summaries, conversation, tasks.Summary{})
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

// oldTurns lists turns that are older than before.
func oldTurns(b Snapshot, conversation string, before time.Time) (turns [][]HistoryRow, err error) {
	after := uint64(0)
	for len(turns) < retentionBatch {
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
