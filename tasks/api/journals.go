package api

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"legwork/planner"
	"legwork/tasks"
)

// journals reads tasks as programs see them.
type journals struct{ store tasks.Store }

// foldedState is the state of a task. A task that the store has dropped is over,
// although its journal does not say so.
func (all journals) foldedState(ctx context.Context, id tasks.ID) (planner.State, error) {
	state, err := all.store.State(ctx, id)
	if err != nil {
		return state, readError(id, err)
	}
	if state.Finished() {
		return state, nil
	}
	row, err := all.store.Row(ctx, id)
	if err != nil {
		return state, readError(id, err)
	}
	if row.Status != string(planner.Failed) || state.Outcome == planner.Failed {
		return state, nil
	}
	// It may have failed since the state was read; then a second state says how. The row
	// is at most one event ahead of the state.
	if state, err = all.store.State(ctx, id); err != nil {
		return state, readError(id, err)
	}
	if state.Outcome != planner.Failed {
		state.Phase, state.Outcome, state.Reason, state.Last = planner.PhaseOver, planner.Failed, planner.ReasonDropped, row.Changed
		state.Review, state.Budget = 0, ""
	}
	return state, nil
}

// opening is the body of the first event of a task, with the whole question.
func (all journals) opening(ctx context.Context, id tasks.ID) (*planner.Opening, error) {
	o, err := tasks.OpeningOf(ctx, all.store, id)
	if err != nil {
		return nil, readError(id, err)
	}
	if o == nil {
		return nil, fmt.Errorf("reading task %s: %w: it has no opening", id, tasks.ErrDamaged)
	}
	return o, nil
}

// eachEvent calls do for the events of a task with a seq above after and up to last.
// It reads them one by one, so that a page of a long journal costs only that page
// and only one large result is in memory.
func (all journals) eachEvent(ctx context.Context, id tasks.ID, after, last int, do func(planner.Event) error) error {
	for seq := after; seq < last; {
		seq++
		e, err := all.store.Event(ctx, id, seq)
		if err != nil {
			return readError(id, err)
		}
		switch err := do(e); {
		case errors.Is(err, errStop):
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

// findRepeated finds the message that was added with the same key before.
func (all journals) findRepeated(ctx context.Context, id tasks.ID, e planner.Event) (Message, error) {
	state, err := all.foldedState(ctx, id)
	if err != nil {
		return Message{}, err
	}
	heard := slices.Concat(state.Guidance, state.Notes)
	slices.Sort(heard)
	for _, seq := range slices.Backward(heard) {
		before, err := all.store.Event(ctx, id, seq)
		if err != nil {
			return Message{}, readError(id, err)
		}
		if before.Message != e.Message || before.By != e.By {
			continue
		}
		same := before.Type == e.Type && before.Text == e.Text && slices.Equal(before.Files, e.Files)
		if same && e.Note != nil {
			same = before.Note != nil && before.Note.Type == e.Note.Type && string(compact(before.Note.Content)) == string(e.Note.Content)
		}
		if !same {
			return Message{}, ErrKeyReused
		}
		return all.messageAt(ctx, id, seq, false)
	}
	return Message{}, ErrKeyReused
}

// messageAt reads one message, with or without the values of forms.
func (all journals) messageAt(ctx context.Context, id tasks.ID, seq int, values bool) (Message, error) {
	state, err := all.foldedState(ctx, id)
	if err != nil {
		return Message{}, err
	}
	j := journal{store: all.store, id: id}
	tr := translator{id, state, j.read(ctx), values}
	e := tr.journal(seq)
	if j.err != nil {
		return Message{}, j.err
	}
	m, _, err := tr.filtered(e, nil)
	if err == nil {
		err = j.err
	}
	return m, err
}

func (all journals) readState(ctx context.Context, id tasks.ID) (State, error) {
	state, err := all.foldedState(ctx, id)
	if err != nil {
		return State{}, err
	}
	return all.stateOf(ctx, id, state)
}

func (all journals) stateOf(ctx context.Context, id tasks.ID, state planner.State) (State, error) {
	j := journal{store: all.store, id: id}
	tr := translator{id, state, j.read(ctx), false}
	out := State{Values: tr.sharedState(), Version: state.Version, Versions: map[string]int{}, Over: state.Settled()}
	for key, value := range state.Shared {
		out.Versions[key] = tr.version(value.Seq)
	}
	return out, j.err
}
