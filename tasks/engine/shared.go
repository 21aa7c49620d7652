package engine

import (
	"context"

	"legwork/planner"
)

// alone is how a task that agents from outside work on rests when it needs
// nobody: its journal, which may be long, is not read for each thing that they
// add. Nil: it has to be looked at.
func (e *Engine) alone(ctx context.Context, f *file) *rest {
	s, err := e.cfg.Store.State(ctx, f.id)
	if err != nil || s.Phase != planner.PhaseShared {
		return nil
	}
	until := planner.Deadline(s)
	if !until.IsZero() && !e.cfg.Now().Before(until) {
		return nil
	}
	first, err := e.cfg.Store.Event(ctx, f.id, 1)
	if err != nil || first.Opening == nil {
		return nil
	}
	open := map[planner.ActionID]bool{}
	for _, a := range planner.Todo(s) {
		open[a.ID] = true
		if told := first.Opening.Notify; told != nil && told.Chat != nil && s.Slot(a.ID.String()).Message == "" {
			return nil // it is to be asked
		}
	}
	for _, slot := range s.Slots {
		if action, err := planner.ParseActionID(slot.Name); err == nil && action.Kind == planner.KindAsk && !open[action] && !f.seen.Closed(slot.Name) {
			return nil // its message is to say how it went
		}
	}
	return &rest{until: until, shared: true, seen: f.seen}
}
