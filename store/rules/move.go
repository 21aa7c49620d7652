package rules

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"legwork/bot"
	"legwork/tasks"
)

// Move gives everything in a conversation to another one. When both have a
// setting, the other one keeps its own; when both have a cut, the later one
// counts.
func (s *Tx) Move(from string, to bot.Chat) error {
	if from == "" || from == to.Key() {
		return nil
	}
	if err := checkConversation(to); err != nil {
		return err
	}
	return s.Savepoint(func(s *Tx) error {
		for _, step := range []func(string, bot.Chat) error{s.moveLane, s.moveSummary, s.moveTurns, s.moveCut, s.moveSettings, s.moveSchedules, s.moveLedger} {
			if err := step(from, to); err != nil {
				return err
			}
		}
		if !s.changes.Empty() {
			s.changes.Moved++
		}
		return nil
	})
}

// moveTurns moves the history. Orders are given over all conversations, so the
// turns of both stay sorted by time.
func (s *Tx) moveTurns(from string, to bot.Chat) error {
	var all []HistoryRow
	for after := uint64(0); ; {
		rows, err := s.Turn(from, after)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			break
		}
		all, after = append(all, rows...), rows[0].Order
	}
	if len(all) > 0 {
		now, err := s.Order()
		if err != nil {
			return err
		}
		put(&s.changes.Invalidated, to.Key(), now)
	}
	for _, r := range all {
		gone := HistoryRow{Conversation: from, Order: r.Order, Answer: r.Answer, Deleted: true}
		r.Conversation, r.Fallback = to.Key(), false
		s.changes.Rows = append(s.changes.Rows, gone, r)
		s.changes.Bytes += len(r.Text)
	}
	return nil
}

// moveLane moves the tasks that have not ended, sorted into those of the other
// conversation. It drops a task whose row is damaged.
func (s *Tx) moveLane(from string, to bot.Chat) error {
	moving, err := s.dropDamaged(from)
	if err != nil || len(moving) == 0 {
		return err
	}
	orders := make(map[tasks.ID]uint64)
	for _, e := range moving {
		task, _, err := s.Task(e.Task)
		if err != nil {
			return err
		}
		task.Chat, orders[e.Task] = to, task.Order
		put(&s.changes.Tasks, e.Task, task)
	}
	there, err := s.dropDamaged(to.Key())
	if err != nil {
		return err
	}
	for _, e := range there {
		task, _, err := s.Task(e.Task)
		if err != nil {
			return err
		}
		orders[e.Task] = task.Order
	}
	all := slices.Concat(moving, there)
	slices.SortFunc(all, func(a, b tasks.LaneEntry) int { return cmp.Compare(orders[a.Task], orders[b.Task]) })
	put(&s.changes.Lanes, from, &tasks.Lane{})
	put(&s.changes.Lanes, to.Key(), &tasks.Lane{Entries: all})
	return nil
}

// dropDamaged drops the tasks of a lane whose rows are damaged, and returns the
// rest of the lane.
func (s *Tx) dropDamaged(conversation string) ([]tasks.LaneEntry, error) {
	lane, err := s.Lane(conversation)
	if err != nil {
		return nil, err
	}
	for _, e := range lane.Entries {
		if _, _, err := s.Task(e.Task); errors.Is(err, tasks.ErrDamaged) {
			if err := s.Drop(e.Task); err != nil {
				return nil, err
			}
		} else if err != nil {
			return nil, err
		}
	}
	lane, err = s.Lane(conversation)
	return slices.Clone(lane.Entries), err
}

func (s *Tx) moveCut(from string, to bot.Chat) error {
	old, err := s.Cut(from)
	if err != nil || old == 0 {
		return err
	}
	own, err := s.Cut(to.Key())
	if err != nil {
		return err
	}
	put(&s.changes.Cuts, from, 0)
	put(&s.changes.Cuts, to.Key(), max(old, own))
	return nil
}

func (s *Tx) moveSettings(from string, to bot.Chat) error {
	old, err := s.Settings(from)
	if err != nil {
		return err
	}
	own, err := s.Settings(to.Key())
	if err != nil {
		return err
	}
	for name, value := range old {
		put(&s.changes.Settings, Setting{from, name}, "")
		if own[name] == "" {
			put(&s.changes.Settings, Setting{to.Key(), name}, value)
		}
	}
	return nil
}

// moveLedger moves the spent and the reserved amounts of a chat to another
// one, so that neither its budget of the day nor its usage begins anew.
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

// moveAccounts changes the chat of reservations.
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

// moveSums adds the totals of a chat's budgets to those of the other.
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
	list, err := s.Snapshot.SpentKeys(match, n)
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
	list, err := s.Snapshot.Accounts()
	for id := range s.changes.Accounts {
		if !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list, err
}
