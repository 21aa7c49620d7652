// Package api is what programs can do with tasks: start them, follow them,
// read and write their context, decide what waits for a person. The context of a
// task is its journal, told as messages; nothing of it is kept a second time.
// The HTTP API and the MCP server are thin layers over it.
package api

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"legwork/planner"
	"legwork/tasks"
)

// Errors that callers branch on; their texts are sentences for who called. What
// is wrong with a request comes as *InvalidError; tasks.ErrFull,
// tasks.ErrDamaged and others pass through.
var (
	ErrNotFound     = errors.New("no such task, or not one that this token may see")
	ErrForbidden    = errors.New("the token's role may not do this")
	ErrConflict     = errors.New("the task does not take this")
	ErrPrecondition = errors.New("the shared state has changed since it was read")
	ErrBusy         = errors.New("there is too much to do; try again later")
	ErrKeyReused    = errors.New("the idempotency key was used for another request")
)

// PreconditionError is ErrPrecondition with the version that the shared state has.
type PreconditionError struct{ Version int }

func (e *PreconditionError) Error() string {
	return fmt.Sprintf("%v: it has version %d now", ErrPrecondition, e.Version)
}

// Is implements errors.Is.
func (*PreconditionError) Is(target error) bool { return target == ErrPrecondition }

// notFoundError is ErrNotFound of something within a task, or of an approval.
type notFoundError string

func (e notFoundError) Error() string { return string(e) }

// Is implements errors.Is.
func (notFoundError) Is(target error) bool { return target == ErrNotFound }

// InvalidError says what is wrong with a value of a request and what is allowed.
type InvalidError struct {
	Field  string // JSON name, such as "goal" or "notify.chat"
	Detail string
}

func (e *InvalidError) Error() string { return e.Field + ": " + e.Detail }

// Sentence is an error as a sentence for who called.
func Sentence(err error) string {
	text := err.Error()
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(text[size:], ".") + "."
}

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

// visibleTask is a task that a principal may see.
type visibleTask struct {
	id  tasks.ID
	row tasks.Row
}

// find finds a task. One that the principal may not see is as one that is not
// there.
func (s *Service) find(ctx context.Context, p Principal, id tasks.ID) (visibleTask, error) {
	if _, made := id.Made(); !made {
		return visibleTask{}, ErrNotFound
	}
	row, err := s.Store.Row(ctx, id)
	if err != nil {
		return visibleTask{}, readError(id, err)
	}
	if !p.Sees(row.Chat) {
		return visibleTask{}, ErrNotFound
	}
	return visibleTask{id, row}, nil
}

// authorize is see for an operation that the principal's role must allow; for some
// roles only on tasks that it has started itself.
func (s *Service) authorize(ctx context.Context, p Principal, op Op, id tasks.ID) (visibleTask, error) {
	if err := p.Allowed(op); err != nil {
		return visibleTask{}, err
	}
	t, err := s.find(ctx, p, id)
	if err == nil && p.Role.May(op) == Own && t.row.From.Key() != p.Key() {
		err = fmt.Errorf("%w: it may %s only what it has started itself", ErrForbidden, op)
	}
	return t, err
}

// readError makes of a store's error one that callers branch on.
func readError(id tasks.ID, err error) error {
	if errors.Is(err, tasks.ErrNoTask) {
		return ErrNotFound
	}
	return fmt.Errorf("reading task %s: %w", id, err)
}

// foldedState is the folded journal of a task that was seen. One that the store has given
// up is over, although its journal does not say so.
func (s *Service) foldedState(ctx context.Context, id tasks.ID) (planner.State, error) {
	state, err := s.Store.State(ctx, id)
	if err != nil {
		return state, readError(id, err)
	}
	if state.Finished() {
		return state, nil
	}
	row, err := s.Store.Row(ctx, id)
	if err != nil {
		return state, readError(id, err)
	}
	if row.Status != string(planner.Failed) || state.Outcome == planner.Failed {
		return state, nil
	}
	// It may have failed since it was read: then its journal says how. The row is one
	// event ahead of that at most.
	if state, err = s.Store.State(ctx, id); err != nil {
		return state, readError(id, err)
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
		return nil, readError(id, err)
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
			j.err = readError(j.id, err)
		}
		known[seq] = e
		return e
	}
}

// Time is a moment as programs read it: RFC 3339 in UTC, to the millisecond and
// always of the same length, so that as texts they sort as they came.
type Time struct{ time.Time }

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	return t.UTC().AppendFormat(nil, `"2006-01-02T15:04:05.000Z"`), nil
}
