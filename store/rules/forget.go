package rules

import (
	"errors"
	"slices"

	"legwork/tasks"
)

// Bounds of one transaction of a Forgetting, so that other writers wait for a
// moment only, however long the conversation is.
const (
	forgetTurns  = 500
	forgetEvents = 5000 // of the deleted journals
)

// ConversationDeletion deletes what a conversation holds, in as many transactions as its
// length takes. Each deletes turns whole, from the oldest on, so that after a
// kill between two of them another ConversationDeletion finds the rest.
type ConversationDeletion struct {
	Conversation string

	after, until uint64 // orders: what is done, what was there at the beginning
	deleted      int    // turns
	done         bool
}

// Run lets change, which runs one transaction, do what is left, and returns how
// many turns were deleted in all.
func (f ConversationDeletion) Run(change func(func(*Tx) error) error) (int, error) {
	for !f.done {
		var next ConversationDeletion
		err := change(func(s *Tx) error {
			next = f // do may run again, when its transaction was not committed
			return s.forget(&next)
		})
		if err != nil {
			return f.deleted, err
		}
		f = next
	}
	return f.deleted, nil
}

// forget deletes the next turns. Those of tasks that are not over stay.
func (s *Tx) forget(f *ConversationDeletion) error {
	order, err := s.Order()
	if err != nil {
		return err
	}
	if f.until == 0 {
		f.until = order
	}
	if err := s.dropSummary(f.Conversation, order); err != nil {
		return err
	}
	lane, err := s.Lane(f.Conversation)
	if err != nil {
		return err
	}
	var gone []HistoryRow // written at the end: Turn looks through all that is written
	for turns, events := 0, 0; turns < forgetTurns && events < forgetEvents && !f.done; turns++ {
		rows, err := s.Turn(f.Conversation, f.after)
		if err != nil {
			return err
		}
		if f.done = len(rows) == 0 || rows[0].Order > f.until; f.done {
			break
		}
		f.after = rows[0].Order
		deleted, n, err := s.forgetTask(f, lane, taskOf(rows))
		if err != nil {
			return err
		}
		if deleted {
			gone = append(gone, rows...)
		}
		events += n
	}
	for _, r := range gone {
		s.changes.Rows = append(s.changes.Rows, HistoryRow{Conversation: f.Conversation, Order: r.Order, Answer: r.Answer, Deleted: true})
	}
	if !f.done {
		return nil
	}
	if err := s.forgetFirings(f.Conversation); err != nil {
		return err
	}
	if err := s.forgetChatSettings(f.Conversation); err != nil {
		return err
	}
	return s.clearCut(f.Conversation)
}

// forgetChatSettings deletes the settings that are about what is being said in a
// conversation.
func (s *Tx) forgetChatSettings(conversation string) error {
	all, err := s.Settings(conversation)
	if err != nil {
		return err
	}
	for name := range all {
		if tasks.PassingSetting(name) {
			put(&s.changes.Settings, Setting{conversation, name}, "")
		}
	}
	return nil
}

// forgetTask deletes the task of a turn, unless it is not over, and returns
// how many events went with it.
func (s *Tx) forgetTask(f *ConversationDeletion, lane tasks.Lane, id tasks.ID) (deleted bool, events int, err error) {
	live := slices.ContainsFunc(lane.Entries, func(e tasks.LaneEntry) bool { return e.Task == id })
	task, ok, err := s.Task(id)
	damaged := errors.Is(err, tasks.ErrDamaged)
	if err != nil && !damaged {
		return false, 0, err
	}
	if live || ok && !damaged && !task.Over {
		return false, 0, nil
	}
	if ok || damaged {
		if err := s.closeAccount(id); err != nil {
			return false, 0, err
		}
		s.changes.forget(id)
	}
	f.deleted++
	return true, task.Last, nil
}

// clearCut deletes a conversation's cut when nothing is left that it hides.
func (s *Tx) clearCut(conversation string) error {
	cut, err := s.Cut(conversation)
	if err != nil || cut == 0 {
		return err
	}
	rows, err := s.Turn(conversation, 0)
	if err != nil {
		return err
	}
	if len(rows) == 0 || rows[0].Order > cut {
		put(&s.changes.Cuts, conversation, 0)
	}
	return nil
}

// taskOf is the task of a turn's rows; empty when they are damaged and nothing
// tells it.
func taskOf(rows []HistoryRow) tasks.ID {
	for _, r := range rows {
		if r.Task != "" {
			return r.Task
		}
	}
	return ""
}
