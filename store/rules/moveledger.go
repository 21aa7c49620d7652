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
func (s *Stage) moveLedger(from string, to bot.Chat) error {
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
func (s *Stage) moveAccounts(from, to string) error {
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
		there := func(h Held) Held {
			if h.Chat == from {
				h.Chat, changed = to, true
			}
			return h
		}
		account.Held = slices.Clone(account.Held)
		for i, h := range account.Held {
			account.Held[i] = there(h)
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
func (s *Stage) moveSums(from, to string) error {
	all, err := s.AllSums()
	if err != nil {
		return err
	}
	for _, of := range all {
		if of.Chat != from {
			continue
		}
		old, err := s.Sum(of)
		if err != nil {
			return err
		}
		own := Sums{Day: of.Day, Chat: to}
		sum, err := s.Sum(own)
		if err != nil {
			return err
		}
		put(&s.changes.Sums, of, Sum{})
		put(&s.changes.Sums, own, Sum{sum.Spent.plus(old.Spent), sum.Reserved.plus(old.Reserved), sum.Extra.plus(old.Extra)})
	}
	return nil
}

// moveSpent adds the rows of a chat to those of the other.
func (s *Stage) moveSpent(from, to string) error {
	rows, err := s.SpentRows(func(r SpentRow) bool { return r.Chat == from }, math.MaxInt)
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

func (s *Stage) dropSpentRow(row SpentRow) {
	delete(s.changes.Spent, row)
	s.changes.SpentGone = append(s.changes.SpentGone, row)
}

// SpentRows implements Base.
func (s *Stage) SpentRows(match func(SpentRow) bool, n int) ([]SpentRow, error) {
	list, err := s.base.SpentRows(match, n)
	list = slices.DeleteFunc(list, func(r SpentRow) bool { return slices.Contains(s.changes.SpentGone, r) })
	for row := range s.changes.Spent {
		if len(list) < n && match(row) && !slices.Contains(list, row) {
			list = append(list, row)
		}
	}
	return list, err
}

// Accounts implements Base.
func (s *Stage) Accounts() ([]tasks.ID, error) {
	list, err := s.base.Accounts()
	for id := range s.changes.Accounts {
		if !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list, err
}
