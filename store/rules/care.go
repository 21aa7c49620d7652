package rules

import (
	"errors"
	"time"

	"legwork/tasks"
)

// retentionBatch is how much one look of a Keeper lists.
const retentionBatch = 200

// TaskEntry is a task in a list.
type TaskEntry struct {
	ID   tasks.ID
	Task Task
}

// Retention deletes beyond single conversations. It looks for what to delete
// without holding up who writes, and deletes it in many small transactions.
type Retention struct {
	View   func(func(Snapshot) error) error // reads what is committed
	Change func(func(*Tx) error) error      // runs one transaction
}

// eachTask lets do change those tasks that choose picks, in transactions of at
// most careAtOnce tasks.
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

// inBatches changes tasks in transactions that none has to wait for long.
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

// errStop says that no further task is of interest.
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

// dropTurns deletes turns of a conversation in one transaction, after what first
// does in it.
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

// dropTurn deletes a turn with its task, unless that is not over.
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

// Tasks implements Snapshot, of what is committed.
func (s *Tx) Tasks(after tasks.ID, n int) ([]TaskEntry, error) { return s.snapshot.Tasks(after, n) }

// EndedAt implements Snapshot, of what is committed.
func (s *Tx) EndedAt(id tasks.ID, t Task) (time.Time, error) { return s.snapshot.EndedAt(id, t) }

// Conversations implements Snapshot, of what is committed.
func (s *Tx) Conversations(after string, n int) ([]string, error) {
	return s.snapshot.Conversations(after, n)
}

// AllSettings implements Snapshot, of what is committed.
func (s *Tx) AllSettings() (map[Setting]string, error) { return s.snapshot.AllSettings() }
