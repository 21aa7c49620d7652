package rules

import (
	"errors"
	"fmt"

	"legwork/planner"
	"legwork/tasks"
)

// Append adds events to a task, all or none, with everything that follows from
// them. Call it inside Savepoint, because an error leaves half of the changes.
func (s *Tx) Append(id tasks.ID, after int, fence int64, events ...planner.Event) error {
	task, ok, err := s.Task(id)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("task %s: %w", id, tasks.ErrNoTask)
	}
	if fence != 0 && fence < task.Fence {
		return fmt.Errorf("task %s, lease %d, highest %d: %w", id, fence, task.Fence, tasks.ErrFenced)
	}
	state, err := s.State(id)
	if err != nil {
		return err
	}
	if task.Over && !state.Finished() { // it was dropped, and nothing may continue it
		return fmt.Errorf("task %s was dropped: %w", id, tasks.ErrRefused)
	}
	if after >= 0 && after != state.Seq {
		return fmt.Errorf("task %s, read up to %d, now at %d: %w", id, after, state.Seq, tasks.ErrConflict)
	}
	task.Fence = max(task.Fence, fence)
	put(&s.changes.Tasks, id, task) // so that the base is read once
	for _, e := range events {
		if err := s.appendEvent(id, e); err != nil {
			return err
		}
	}
	return nil
}

// appendEvent adds one event to a task and writes what follows from it.
func (s *Tx) appendEvent(id tasks.ID, e planner.Event) error {
	task, _, err := s.Task(id)
	if err != nil {
		return err
	}
	before, err := s.State(id)
	if err != nil {
		return err
	}
	lane, err := s.ownLane(task.Chat.Key())
	if err != nil {
		return err
	}
	lane.Amend(id, before, &e)
	e, after, err := s.fold(id, before, e)
	if err != nil {
		return err
	}
	if text, failed, ok := planner.Settles(before, after, e); ok {
		s.changes.Rows = append(s.changes.Rows, HistoryRow{
			Conversation: task.Chat.Key(), Order: task.Order, Task: id, Answer: true, Failed: failed, Tainted: after.Tainted > 0, At: e.At, Text: text,
		})
	}
	task.Last, task.Over = e.Seq, task.Over || after.Finished()
	put(&s.changes.Tasks, id, task)
	if err := s.updateLedger(id, task, before, after, e); err != nil {
		return err
	}
	return s.release(lane.Note(id, after))
}

// updateLedger writes what an event means for the ledger.
func (s *Tx) updateLedger(id tasks.ID, task Task, before, after planner.State, e planner.Event) error {
	if err := s.settleEvent(id, task, e); err != nil {
		return err
	}
	if err := s.extendBudget(before, e); err != nil {
		return err
	}
	switch {
	case task.Over:
		return s.closeAccount(id)
	case after.Settled() && !before.Settled():
		return s.freeKept(id)
	}
	return nil
}

// fold gives e its number and time, checks that it fits, and records it. It
// returns the event as stored and the state it led to.
func (s *Tx) fold(id tasks.ID, before planner.State, e planner.Event) (planner.Event, planner.State, error) {
	e.Seq = before.Seq + 1
	if e.At.IsZero() {
		e.At = s.now
	}
	if !planner.Takes(before, e) {
		return e, before, fmt.Errorf("task %s, event %q: %w", id, e.Type, tasks.ErrRefused)
	}
	body, e, err := Encode(e)
	if err != nil {
		return e, before, fmt.Errorf("encoding event %q of task %s: %w", e.Type, id, err)
	}
	after := planner.Apply(before, e)
	s.changes.Records = append(s.changes.Records, Record{Task: id, Event: e, Body: body})
	s.changes.Bytes += len(body)
	s.changes.Lapsed += lapsed(before, after, e)
	put(&s.changes.States, id, after)
	s.changes.Index.note(id, before, after, e)
	return e, after, s.audit(id, e)
}

// release lets tasks of a conversation continue. It skips a task that has
// continued already, and drops a damaged one, so that the tasks behind it do not
// wait.
func (s *Tx) release(ids []tasks.ID) error {
	for _, id := range ids {
		err := s.Savepoint(func(s *Tx) error { return s.appendEvent(id, planner.Event{Type: planner.Released}) })
		switch {
		case errors.Is(err, tasks.ErrDamaged):
			if err := s.Drop(id); err != nil {
				return err
			}
		case err != nil && !errors.Is(err, tasks.ErrRefused):
			return err
		}
	}
	return nil
}

// Drop ends a task without an event. The history says that it failed, unless the
// history holds its answer, and the tasks behind it in its conversation continue.
// A task that has ended already stays as it is.
func (s *Tx) Drop(id tasks.ID) error {
	task, ok, err := s.Task(id)
	if errors.Is(err, tasks.ErrDamaged) {
		task, ok, err = s.LaneCopy(id)
	}
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("task %s: %w", id, tasks.ErrNoTask)
	}
	if task.Over {
		return nil
	}
	task.Over = true
	put(&s.changes.Tasks, id, task)
	if err := s.closeAccount(id); err != nil {
		return err
	}
	s.changes.Dropped = append(s.changes.Dropped, id)
	if state, err := s.State(id); err != nil || !state.Settled() {
		put(&s.changes.Index.settled, id, string(planner.Failed))
	}
	s.changes.Rows = append(s.changes.Rows, HistoryRow{
		Conversation: task.Chat.Key(), Order: task.Order, Task: id, Answer: true, Failed: true, At: s.now, Fallback: true,
	})
	lane, err := s.ownLane(task.Chat.Key())
	if err != nil {
		return err
	}
	return s.release(lane.Note(id, planner.State{Phase: planner.PhaseOver}))
}
