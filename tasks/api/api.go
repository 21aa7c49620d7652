// Package api is everything that programs can do with tasks: start and follow them,
// read and write their context, decide about approvals. The messages of a context are
// made from the journal of the task, so that nothing is stored twice. The HTTP API and
// the MCP server are thin layers over this package.
package api

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/inbox"
	"legwork/tasks/policy"
)

// Errors that callers branch on. Their texts are sentences for the principal. A mistake
// in a request is an *InvalidError; tasks.ErrFull, tasks.ErrDamaged and others pass
// through.
var (
	ErrNotFound     = errors.New("no such task, or not one that this token may see")
	ErrForbidden    = errors.New("the role of the caller may not do this")
	ErrConflict     = errors.New("the task does not take this")
	ErrPrecondition = errors.New("the shared state has changed since it was read")
	ErrBusy         = errors.New("there is too much to do; try again later")
	ErrKeyReused    = errors.New("the idempotency key was used for another request")
)

// PreconditionError is ErrPrecondition with the current version of the shared state.
type PreconditionError struct{ Version int }

func (e *PreconditionError) Error() string {
	return fmt.Sprintf("%v: it has version %d now", ErrPrecondition, e.Version)
}

// Is implements errors.Is.
func (*PreconditionError) Is(target error) bool { return target == ErrPrecondition }

// notFoundError is ErrNotFound for a part of a task, or for an approval.
type notFoundError string

func (e notFoundError) Error() string { return string(e) }

// Is implements errors.Is.
func (notFoundError) Is(target error) bool { return target == ErrNotFound }

// InvalidError says what is wrong with a value of a request, and what is allowed.
type InvalidError struct {
	Field  string // JSON name, such as "goal" or "notify.chat"
	Detail string
}

func (e *InvalidError) Error() string { return e.Field + ": " + e.Detail }

// Sentence returns an error as a sentence for the caller.
func Sentence(err error) string {
	text := err.Error()
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(text[size:], ".") + "."
}

// Service does the work for programs. It is safe for concurrent use.
type Service struct {
	Config
	journals
	feed feed
}

// Config is the configuration of a Service. All fields but Files are needed.
type Config struct {
	Store tasks.Store
	Inbox *inbox.Inbox // its rules hold for programs, too
	// Webhooks lists the names of the webhooks in the current config.
	Webhooks func() []string
	// Files returns the current limits of files. Nil: no limits.
	Files func() FileLimits
	Now   func() time.Time
}

// New makes a Service.
func New(c Config) *Service { return &Service{Config: c, journals: journals{c.Store}} }

// visibleTask is a task that a principal may see.
type visibleTask struct {
	id  tasks.ID
	row tasks.Row
}

// values reports whether a principal may read what people have entered into forms of
// servers, in a task that asker has started.
func (p Principal) values(asker bot.Person) bool {
	right := p.Role.May(policy.OpValues)
	return right == policy.Always || right == policy.Own && p.Owns(asker)
}

// find finds a task. A task that the principal may not see does not exist for it.
func (s *Service) find(ctx context.Context, p Principal, id tasks.ID) (visibleTask, error) {
	if _, made := id.Time(); !made {
		return visibleTask{}, ErrNotFound
	}
	row, err := s.Store.Row(ctx, id)
	if err != nil {
		return visibleTask{}, readError(id, err)
	}
	if !p.SeesTask(row.Chat, row.From) {
		return visibleTask{}, ErrNotFound
	}
	return visibleTask{id, row}, nil
}

// authorize finds a task for an operation that the role of the principal must allow;
// some roles may do it only with tasks that they have started themselves.
func (s *Service) authorize(ctx context.Context, p Principal, op policy.Op, id tasks.ID) (visibleTask, error) {
	if err := p.Allowed(op); err != nil {
		return visibleTask{}, err
	}
	t, err := s.find(ctx, p, id)
	if err == nil && p.Role.May(op) == policy.Own && !p.Owns(t.row.From) {
		err = fmt.Errorf("%w: it may %s only what it has started itself", ErrForbidden, op)
	}
	return t, err
}

// readError makes ErrNotFound of the store's error for an unknown task.
func readError(id tasks.ID, err error) error {
	if errors.Is(err, tasks.ErrNoTask) {
		return ErrNotFound
	}
	return fmt.Errorf("reading task %s: %w", id, err)
}

// journal reads single events. For an event that it cannot read it returns a zero
// one, and keeps the first error.
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

// Time is a moment in JSON: RFC 3339 in UTC, with milliseconds and always of the
// same length, so that the texts sort by time.
type Time struct{ time.Time }

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	return t.UTC().AppendFormat(nil, `"2006-01-02T15:04:05.000Z"`), nil
}
