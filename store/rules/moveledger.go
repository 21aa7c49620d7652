package rules

import (
	"math"
	"slices"

	"legwork/bot"
	"legwork/tasks"
)

// moveLedger gives what was spent and is reserved in a chat to another one, so
// that neither its budget of the day nor what it is told of its usage begins
// anew.
func (s *Tx) moveLedger(from string, to bot.Chat) error {
	if to.Thread != "" {
		return nil // budgets are those of whole chats
	}
	for _, step := range []func(from, to string) error{s.moveAccounts, s.moveSums, s.moveSpent} {
		if err := step(from, to.Key()); err != nil {
			return err
		}
	}
	return nil
}

// moveAccounts changes the chat of what tasks have reserved.
func (s *Tx) moveAccounts(from, to string) error {
	ids, err := s.Accounts()
	if err != nil {
		return err
	}
	for _, id := range ids {
		account, err := s.Account(id)
		if err != nil {
			return err
		}
		changed := false
		there := func(h Reservation) Reservation {
			if h.Chat == from {
				h.Chat, changed = to, true
			}
			return h
		}
		account.Reserved = slices.Clone(account.Reserved)
		for i, h := range account.Reserved {
			account.Reserved[i] = there(h)
		}
		if account.Kept != nil {
			kept := there(*account.Kept)
			account.Kept = &kept
		}
		if changed {
			put(&s.changes.Accounts, id, account)
		}
	}
	return nil
}

// moveSums adds the sums of a chat's budgets to those of the other.
func (s *Tx) moveSums(from, to string) error {
	all, err := s.TotalKeys()
	if err != nil {
		return err
	}
	for _, of := range all {
		if of.Chat != from {
			continue
		}
		old, err := s.Total(of)
		if err != nil {
			return err
		}
		own := TotalKey{Day: of.Day, Chat: to}
		sum, err := s.Total(own)
		if err != nil {
			return err
		}
		put(&s.changes.Totals, of, Total{})
		put(&s.changes.Totals, own, Total{sum.Spent.plus(old.Spent), sum.Reserved.plus(old.Reserved), sum.Extra.plus(old.Extra)})
	}
	return nil
}

// moveSpent adds the rows of a chat to those of the other.
func (s *Tx) moveSpent(from, to string) error {
	rows, err := s.SpentKeys(func(r SpentKey) bool { return r.Chat == from }, math.MaxInt)
	if err != nil {
		return err
	}
	for _, row := range rows {
		old, err := s.Spent(row)
		if err != nil {
			return err
		}
		s.dropSpentRow(row)
		row.Chat = to
		spent, err := s.Spent(row)
		if err != nil {
			return err
		}
		spent.Calls, spent.Usage = spent.Calls+old.Calls, spent.Usage.Add(old.Usage)
		put(&s.changes.Spent, row, spent)
	}
	return nil
}

func (s *Tx) dropSpentRow(row SpentKey) {
	delete(s.changes.Spent, row)
	s.changes.SpentDeleted = append(s.changes.SpentDeleted, row)
}

// SpentKeys implements Snapshot.
func (s *Tx) SpentKeys(match func(SpentKey) bool, n int) ([]SpentKey, error) {
	list, err := s.snapshot.SpentKeys(match, n)
	list = slices.DeleteFunc(list, func(r SpentKey) bool { return slices.Contains(s.changes.SpentDeleted, r) })
	for row := range s.changes.Spent {
		if len(list) < n && match(row) && !slices.Contains(list, row) {
			list = append(list, row)
		}
	}
	return list, err
}

// Accounts implements Snapshot.
func (s *Tx) Accounts() ([]tasks.ID, error) {
	list, err := s.snapshot.Accounts()
	for id := range s.changes.Accounts {
		if !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list, err
}
