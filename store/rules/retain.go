package rules

import (
	"time"

	"legwork/tasks"
)

// Retain is tasks.Care's.
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

// endedTasks picks tasks whose last event came before a time. Ids come in the order
// of time: after the first one that was made later there is none.
func endedTasks(b Snapshot, list []TaskEntry, before time.Time) (old []TaskEntry, err error) {
	for _, t := range list {
		if made, known := t.ID.Made(); known && !made.Before(before) {
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

// deleteEnded deletes a task that is over; its turn stays.
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

// retainHistory deletes old turns and summaries, conversation by conversation,
// and old entries of the audit log and rows of the ledger.
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

// retainTurns deletes a conversation's turns from before a time: they come in
// the order of time.
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

// oldTurns lists turns from before a time.
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
