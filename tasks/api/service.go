package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"legwork/planner"
	"legwork/tasks"
)

// Service does what programs ask for. It is safe for concurrent use.
type Service struct {
	Config
	feed feed
}

// Config is what a Service works with. All fields are needed.
type Config struct {
	Store tasks.Store
	Inbox *tasks.Inbox // whose rules hold for programs, too
	// Webhooks lists the names of those of the config, anew at each call.
	Webhooks func() []string
	Now      func() time.Time
}

// New makes a Service.
func New(c Config) *Service { return &Service{Config: c} }

// seen is a task that a principal may see.
type seen struct {
	id  tasks.ID
	row tasks.Row
}

// see finds a task. One that the principal may not see is as one that is not
// there.
func (s *Service) see(ctx context.Context, p Principal, id tasks.ID) (seen, error) {
	if _, made := id.Made(); !made {
		return seen{}, ErrNotFound
	}
	row, err := s.Store.Row(ctx, id)
	if err != nil {
		return seen{}, told(id, err)
	}
	if !p.Sees(row.Chat) {
		return seen{}, ErrNotFound
	}
	return seen{id, row}, nil
}

// may is see for an operation that the principal's role must allow; for some
// roles only on tasks that it has started itself.
func (s *Service) may(ctx context.Context, p Principal, op Op, id tasks.ID) (seen, error) {
	if err := p.Allowed(op); err != nil {
		return seen{}, err
	}
	t, err := s.see(ctx, p, id)
	if err == nil && p.Role.May(op) == Own && t.row.From.Key() != p.Key() {
		err = fmt.Errorf("%w: it may %s only what it has started itself", ErrForbidden, op)
	}
	return t, err
}

// Allowed is ErrForbidden when the principal's role may never do an operation.
func (p Principal) Allowed(op Op) error {
	if p.Role.May(op) == Never {
		return fmt.Errorf("%w: tokens of role %s may not %s; of these roles they may: %s", ErrForbidden, p.Role, op.words(), allowedRoles(op))
	}
	return nil
}

// told makes of a store's error one that callers branch on.
func told(id tasks.ID, err error) error {
	if errors.Is(err, tasks.ErrNoTask) {
		return ErrNotFound
	}
	return fmt.Errorf("reading task %s: %w", id, err)
}

// state is the folded journal of a task that was seen. One that the store has given
// up is over, although its journal does not say so.
func (s *Service) state(ctx context.Context, id tasks.ID) (planner.State, error) {
	state, err := s.Store.State(ctx, id)
	if err != nil {
		return state, told(id, err)
	}
	if state.Finished() {
		return state, nil
	}
	row, err := s.Store.Row(ctx, id)
	if err != nil {
		return state, told(id, err)
	}
	if row.Status != string(planner.Failed) || state.Outcome == planner.Failed {
		return state, nil
	}
	// It may have failed since it was read: then its journal says how. The row is one
	// event ahead of that at most.
	if state, err = s.Store.State(ctx, id); err != nil {
		return state, told(id, err)
	}
	if state.Outcome != planner.Failed {
		state.Phase, state.Outcome, state.Why, state.Last = planner.PhaseOver, planner.Failed, planner.WhyDropped, row.Changed
		state.Review, state.Budget = 0, ""
	}
	return state, nil
}

// opening is the body of a task's first event.
func (s *Service) opening(ctx context.Context, id tasks.ID) (*planner.Opening, error) {
	e, err := s.Store.Event(ctx, id, 1)
	if err != nil {
		return nil, told(id, err)
	}
	if e.Opening == nil {
		return nil, fmt.Errorf("reading task %s: %w: it has no opening", id, tasks.ErrDamaged)
	}
	return e.Opening, nil
}

// journal reads single events; of what cannot be read it gives a zero one, and
// notes the first error.
type journal struct {
	store tasks.Store
	id    tasks.ID
	err   error
}

func (j *journal) read(ctx context.Context) planner.Journal {
	known := map[int]planner.Event{}
	return func(seq int) planner.Event {
		e, ok := known[seq]
		if ok || seq < 1 {
			return e
		}
		e, err := j.store.Event(ctx, j.id, seq)
		if err != nil && j.err == nil {
			j.err = told(j.id, err)
		}
		known[seq] = e
		return e
	}
}
