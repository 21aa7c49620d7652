package rules

import (
	"cmp"
	"errors"
	"slices"

	"legwork/bot"
	"legwork/tasks"
)

// Move gives all that a conversation holds to another one. What both have, a
// setting or a cut, stays as the other one has it, or as the later one.
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

// moveTurns moves the history. Orders are given over all conversations, so that
// the turns of both come in order of time.
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

// moveLane moves the tasks that are not over, in order among those of the other
// conversation. One whose row is damaged is dropped: nothing more is done for it.
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
