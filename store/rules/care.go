package rules

import (
	"errors"
	"time"

	"legwork/tasks"
)

// careAtOnce is how much one look of a Keeper lists.
const careAtOnce = 200

// Listed is a task in a list.
type Listed struct {
	ID   tasks.ID
	Task Task
}

// Keeper deletes beyond single conversations. It looks for what to delete
// without holding up who writes, and deletes it in many small transactions.
type Keeper struct {
	View   func(func(Base) error) error   // reads what is committed
	Change func(func(*Stage) error) error // runs one transaction
}

// eachTask lets do change those tasks that choose picks, in transactions of at
// most careAtOnce tasks.
func (k Keeper) eachTask(d *tasks.Deleted, choose func(Base, []Listed) ([]Listed, error), do func(*Stage, Listed, *tasks.Deleted) error) error {
	after := tasks.ID("")
	for {
		var all, chosen []Listed
		err := k.View(func(b Base) (err error) {
			if all, err = b.Tasks(after, careAtOnce); err == nil {
				chosen, err = choose(b, all)
			}
			return err
		})
		if errors.Is(err, errEnough) {
			return k.inTurns(chosen, d, do)
		}
		if err != nil || len(all) == 0 {
			return err
		}
		after = all[len(all)-1].ID
		if err := k.inTurns(chosen, d, do); err != nil {
			return err
		}
	}
}

// inTurns changes tasks in transactions that none has to wait for long.
func (k Keeper) inTurns(list []Listed, d *tasks.Deleted, do func(*Stage, Listed, *tasks.Deleted) error) error {
	for len(list) > 0 {
		n, events := 0, 0
		for n < len(list) && events < forgetEvents {
			events += list[n].Task.Last
			n++
		}
		counted := *d
		err := k.Change(func(s *Stage) error {
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

// errEnough says that no further task is of interest.
var errEnough = errors.New("enough")

func (k Keeper) eachConversation(do func(conversation string) error) error {
	after := ""
	for {
		var list []string
		err := k.View(func(b Base) (err error) { list, err = b.Conversations(after, careAtOnce); return err })
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
func (k Keeper) dropTurns(conversation string, turns [][]Row, d *tasks.Deleted, first func(*Stage, *tasks.Deleted) error) error {
	counted := *d
	err := k.Change(func(s *Stage) error {
		counted = *d // it may run again
		if err := first(s, &counted); err != nil {
			return err
		}
		for _, rows := range turns {
			if err := s.dropTurn(conversation, taskOf(rows), rows, &counted); err != nil {
				return err
			}
		}
		return s.uncut(conversation)
	})
	if err == nil {
		*d = counted
	}
	return err
}

// dropTurn deletes a turn with its task, unless that is not over.
func (s *Stage) dropTurn(conversation string, id tasks.ID, rows []Row, d *tasks.Deleted) error {
	task, ok, err := s.Task(id)
	if err != nil && !errors.Is(err, tasks.ErrDamaged) {
		return err
	}
	if err == nil && ok && !task.Over {
		return nil
	}
	if ok || err != nil {
		if err := s.close(id); err != nil {
			return err
		}
		s.changes.forget(id)
		d.Tasks++
	}
	for _, r := range rows {
		s.changes.Rows = append(s.changes.Rows, Row{Conversation: conversation, Order: r.Order, Answer: r.Answer, Gone: true})
	}
	if len(rows) > 0 {
		d.Turns++
	}
	return nil
}

// dropSpent deletes rows of the ledger.
func (k Keeper) dropSpent(match func(SpentRow) bool, d *tasks.Deleted) error {
	for {
		var rows []SpentRow
		err := k.View(func(b Base) (err error) { rows, err = b.SpentRows(match, careAtOnce); return err })
		if err != nil || len(rows) == 0 {
			return err
		}
		err = k.Change(func(s *Stage) error {
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

// Tasks implements Base, of what is committed.
func (s *Stage) Tasks(after tasks.ID, n int) ([]Listed, error) { return s.base.Tasks(after, n) }

// Ended implements Base, of what is committed.
func (s *Stage) Ended(id tasks.ID, t Task) (time.Time, error) { return s.base.Ended(id, t) }

// Conversations implements Base, of what is committed.
func (s *Stage) Conversations(after string, n int) ([]string, error) {
	return s.base.Conversations(after, n)
}

// AllSettings implements Base, of what is committed.
func (s *Stage) AllSettings() (map[Setting]string, error) { return s.base.AllSettings() }
