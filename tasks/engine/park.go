package engine

import (
	"context"

	"legwork/planner"
)

// parkable returns how the task can be parked: nothing runs, nothing can start,
// and its chat shows that, or failed to when other tasks wait for a runner. Nil:
// it needs its runner. A platform that keeps no messages would show a question
// again after parking, so a task that asks there keeps its runner.
func (r *runner) parkable() *parked {
	if r.wantSlot() != nil || !r.idle() || len(r.entry.changed) > 0 {
		return nil
	}
	shown, tried := r.presenter.Drawn()
	if !tried || (!shown || !r.presenter.Lasts()) && !r.engine.dispatcher.mustYield(r.entry) {
		return nil
	}
	if !r.presenter.Lasts() && len(r.running) > 0 {
		return nil
	}
	p := &parked{
		queued: r.view.State.Queued(), shared: r.view.State.Phase == planner.PhaseShared,
		waitingSince: r.waitingSince, backoff: r.backoff, seen: r.presenter.LastFrame(),
	}
	if r.waitingSince.IsZero() {
		p.until = planner.Deadline(r.view.State)
	}
	for _, a := range planner.Todo(r.view.State) {
		if at := r.remindAt(a); !at.IsZero() && (p.until.IsZero() || at.Before(p.until)) {
			p.until = at
		}
	}
	if r.retryAt.After(r.cfg.Now()) { // nothing starts before, not even an expiry
		p.until = r.retryAt
	}
	return p
}

// idle reports that no action runs, and that none can start before the task
// changes or a time comes.
func (r *runner) idle() bool {
	for _, a := range r.running {
		if !a.asked {
			return false
		}
	}
	later := r.retryAt.After(r.cfg.Now())
	for _, a := range planner.Todo(r.view.State) {
		if r.running[a.ID] == nil && !a.Hold && !later && (!r.paused || !needsSlot(a)) {
			return false
		}
	}
	return true
}

// parkShared parks a task that agents from outside work on without a runner, so
// that its journal, which may be long, is not read for each thing that they add.
// Nil: it needs a runner.
func (e *Engine) parkShared(ctx context.Context, t *entry) *parked {
	s, err := e.cfg.Store.State(ctx, t.id)
	if err != nil || s.Phase != planner.PhaseShared {
		return nil
	}
	until := planner.Deadline(s)
	if !until.IsZero() && !e.cfg.Now().Before(until) {
		return nil
	}
	first, err := e.cfg.Store.Event(ctx, t.id, 1)
	if err != nil || first.Opening == nil {
		return nil
	}
	open := map[planner.ActionID]bool{}
	for _, a := range planner.Todo(s) {
		open[a.ID] = true
		if to := first.Opening.Notify; to != nil && to.Chat != nil && s.Slot(a.ID.String()).Message == "" {
			return nil // the chat has not been asked yet
		}
	}
	for _, slot := range s.Slots {
		if action, err := planner.ParseActionID(slot.Name); err == nil && action.Kind == planner.KindAsk && !open[action] && !t.parked.seen.Closed(slot.Name) {
			return nil // the message of the question does not show its outcome yet
		}
	}
	return &parked{until: until, shared: true, seen: t.parked.seen}
}
