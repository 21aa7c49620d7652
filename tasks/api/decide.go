package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"legwork/planner"
	"legwork/tasks"
)

// Decision is what a person decides.
type Decision struct {
	Approve bool
	Comment string          // why, or the answer to a question
	Value   json.RawMessage // of a form: its fields by name
	Scope   string          // planner.ScopeTask: the same tool again in this task
	Version *int            // of a review: only while the shared state has that version; nil: any
}

const errNoApproval = missingError("no such approval, or not one that this token may see")

// Decide decides about an approval. ErrForbidden for agents and viewers, and for
// operators where only an admin may; ErrConflict when it was decided already;
// *PreconditionError when the shared state has another version than the decision.
// Who decided already may do so again in the same way, and changes nothing.
func (s *Service) Decide(ctx context.Context, p Principal, approval string, d Decision) (Task, error) {
	if err := p.Allowed(OpDecide); err != nil {
		return Task{}, err
	}
	id, ask, ok := readApprovalID(approval)
	if !ok {
		return Task{}, errNoApproval
	}
	t, err := s.may(ctx, p, OpDecide, id)
	if err != nil {
		return Task{}, err
	}
	r := tasks.Ruling{
		By: p.Key(), Name: p.Name, Admin: p.Role.May(OpExtend) == Always, Own: t.row.From.Key() == p.Key(),
		Approve: d.Approve, Text: tasks.Clean(d.Comment), Scope: d.Scope, Version: d.Version,
	}
	if len(r.Text) > maxStateValue {
		return Task{}, &InvalidError{"comment", fmt.Sprintf("has %d bytes; at most %d are allowed", len(r.Text), maxStateValue)}
	}
	if len(d.Value) > 0 && string(d.Value) != "null" {
		if err := fitsJSON("value", d.Value); err != nil {
			return Task{}, err
		}
		if json.Unmarshal(d.Value, &r.Values) != nil {
			return Task{}, &InvalidError{"value", "must be an object: the fields of the form by name"}
		}
	}
	err = tasks.Decide(ctx, s.Inbox, id, ask, r)
	if misfit, ok := errors.AsType[*tasks.MisfitError](err); ok {
		return Task{}, &InvalidError{misfit.Field, misfit.Detail}
	}
	switch {
	case errors.Is(err, tasks.ErrAdminNeeded):
		return Task{}, fmt.Errorf("%w: %w", ErrForbidden, err)
	case errors.Is(err, tasks.ErrOutdated):
		state, err := s.state(ctx, id)
		if err != nil {
			return Task{}, err
		}
		return Task{}, &PreconditionError{state.Version}
	case errors.Is(err, tasks.ErrRefused):
		err = s.undecided(ctx, id, ask, r)
	}
	return s.changed(ctx, id, err)
}

// undecided says why nothing can be decided about a question; nil when it was
// decided just so, by the same program.
func (s *Service) undecided(ctx context.Context, id tasks.ID, ask tasks.Ask, r tasks.Ruling) error {
	state, err := s.state(ctx, id)
	if err != nil {
		return err
	}
	if ask.Seq < 1 || ask.Seq > state.Seq {
		return errNoApproval
	}
	events, err := s.Store.Load(ctx, id, ask.Seq-1)
	if err != nil {
		return told(id, err)
	}
	if len(events) == 0 || !asksSomething(events[0]) {
		return errNoApproval
	}
	for _, e := range events {
		if e.Type != planner.Decided || tasks.AskOf(e.Action) != ask {
			continue
		}
		if again(e, r) {
			return nil
		}
		return fmt.Errorf("%w: it was decided already: %s said %s at %s", ErrConflict, e.By, yesOrNo(e.Decision.Approve), e.At.UTC().Format(time.RFC3339))
	}
	return fmt.Errorf("%w: its time is over", ErrConflict)
}

// again reports whether a ruling is the one that an event is. The fields of a form
// are not compared: what is sent again may differ from what was filled in.
func again(e planner.Event, r tasks.Ruling) bool {
	d := e.Decision
	return e.By == r.By && e.Action.Subject != planner.SubjectForm && d.Approve == r.Approve && d.Text == r.Text && d.Scope == r.Scope
}

func yesOrNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// asksSomething reports that an event may have asked a person.
func asksSomething(e planner.Event) bool {
	switch e.Type {
	case planner.Asked, planner.Overdrew, planner.Replied, planner.Set:
		return true
	}
	return false
}
