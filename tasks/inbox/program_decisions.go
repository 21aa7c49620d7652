package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"legwork/internal/form"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/policy"
)

// ProgramDecision is a decision about an open question that a program submits.
type ProgramDecision struct {
	By      string // key of the program
	Name    string // what it is called
	Admin   bool
	Own     bool // the program started the task
	Approve bool
	Text    string                     // the reason; for an approval, the answer to a model
	Values  map[string]json.RawMessage // of a server's form, by field
	Scope   string                     // empty: this once; planner.ScopeTask
	Version *int                       // for a review: the version of the shared state that the program looked at; nil: the current one
}

// ArgumentError names the field of a decision that does not fit its question.
type ArgumentError struct {
	Field  string // "comment", "value", "value.NAME", "scope" or "version"
	Detail string
}

func (e *ArgumentError) Error() string { return e.Field + ": " + e.Detail }

// ErrAdminNeeded means that only an admin may decide this.
var ErrAdminNeeded = errors.New("only an admin may decide this")

// ErrOutdated means that the shared state has changed since the program looked at
// it, other than by new keys.
var ErrOutdated = errors.New("the shared state has changed since it was looked at")

// checkVersion returns an error if a decision is about an outdated version of the state
// under review. New keys do not count as a change: agents add keys all the time,
// and every decision would be too late.
func (r ProgramDecision) checkVersion(a planner.Action, s planner.State) error {
	switch {
	case r.Version == nil:
		return nil
	case a.ID.Subject != planner.SubjectReview:
		return &ArgumentError{"version", "is allowed for a review alone"}
	case !s.Current(*r.Version):
		return fmt.Errorf("%w: it has version %d now", ErrOutdated, s.Version)
	}
	return nil
}

// decisionEvents makes the events of a decision.
func decisionEvents(ctx context.Context, in *Inbox, id tasks.ID, a planner.Action, r ProgramDecision) ([]planner.Event, error) {
	d := planner.Decision{Approve: r.Approve, Text: r.Text}
	kind := a.ID.Subject
	if r.Scope != "" && (kind != planner.SubjectCalls || !r.Approve || r.Scope != planner.ScopeTask) {
		return nil, &ArgumentError{"scope", `"task" is allowed when calls are approved, otherwise there is none`}
	}
	if len(r.Values) > 0 && kind != planner.SubjectForm {
		return nil, &ArgumentError{"value", "only the fields of a form take values"}
	}
	var e planner.Event
	if kind == planner.SubjectCalls || kind == planner.SubjectForm {
		var err error
		if e, err = in.Store.Event(ctx, id, a.ID.Seq); err != nil {
			return nil, fmt.Errorf("reading question: %w", err)
		}
	}
	switch kind {
	case planner.SubjectForm:
		return r.fields(a, e)
	case planner.SubjectCalls:
		if r.Approve && e.Question.Person != "" && e.Question.Person != r.By {
			return nil, &ArgumentError{"decision", "can only be deny: the calls use the sign-in of the person who asked, who alone can allow them"}
		}
		if r.Approve {
			granted, ok := policy.Allows(e.Question, r.Scope)
			if !ok {
				return nil, &ArgumentError{"scope", "these calls need an approval each time; leave the scope out"}
			}
			d.Scope, d.Grants = granted.Scope, granted.Grants
		}
	case planner.SubjectQuestion, planner.SubjectGoal:
		if d.Approve && d.Text == "" {
			return nil, &ArgumentError{"comment", "is needed: it is the answer"}
		}
	case planner.SubjectBudget:
		if r.Approve && !in.rules.Load().Budget.CanExtend(r.Admin) || r.Approve && !r.Admin && !r.Own {
			return nil, fmt.Errorf("%w: only an admin may extend the budget", ErrAdminNeeded)
		}
	}
	return r.event(a, d), nil
}

// event makes the one event of a decision about a question.
func (r ProgramDecision) event(a planner.Action, d planner.Decision) []planner.Event {
	d.Name = r.Name
	e := planner.Event{Type: planner.Decided, Action: a.ID, By: r.By, Decision: &d}
	if a.ID.Subject == planner.SubjectReview {
		e.Values = planner.ReviewValues(d.Approve)
	}
	return []planner.Event{e}
}

// fields makes the answers to all open fields of a server's form.
func (r ProgramDecision) fields(a planner.Action, e planner.Event) ([]planner.Event, error) {
	if r.Approve && e.Question.SignIn != nil {
		return nil, &ArgumentError{"decision", fmt.Sprintf("can only be deny: the task goes on by itself when a person has signed in at %q", e.Question.Server)}
	}
	q, _ := tasks.FormOf(e, a.ID)
	if q.URL != "" {
		q = &form.Question{URL: q.URL}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Values)) {
		if !slices.ContainsFunc(q.Fields, func(f form.Field) bool { return f.Name == name }) {
			return nil, &ArgumentError{"value", fmt.Sprintf("the form has no field %q; %s", name, namesOf(q.Fields))}
		}
	}
	if !r.Approve || len(q.Fields) == 0 {
		return r.event(a, planner.Decision{Approve: r.Approve, Text: r.Text}), nil
	}
	var events []planner.Event
	for i := a.ID.Field; i < len(q.Fields); i++ {
		value, err := fieldValue(q.Fields[i], r.Values)
		if err != nil {
			return nil, err
		}
		a.ID.Field = i
		events = append(events, r.event(a, planner.Decision{Approve: true, Value: value})...)
	}
	return events, nil
}

// fieldValue returns the value of a field, or its default when the value is missing
// and may be.
func fieldValue(f form.Field, values map[string]json.RawMessage) (json.RawMessage, error) {
	v := values[f.Name]
	if len(v) == 0 || string(v) == "null" {
		if !cards.MayOmit(f) {
			return nil, &ArgumentError{"value." + f.Name, "is needed"}
		}
		return f.Default, nil
	}
	if err := f.Check(v); err != nil {
		return nil, &ArgumentError{"value." + f.Name, "does not fit the field's schema " + string(f.Schema)}
	}
	return v, nil
}

func namesOf(fields []form.Field) string {
	var names []string
	for _, f := range fields {
		names = append(names, f.Name)
	}
	if len(names) == 0 {
		return "it has none"
	}
	return "it has " + strings.Join(names, ", ")
}

// Decide decides about a question, as the press of a button does. Errors:
// *ArgumentError, ErrAdminNeeded, ErrOutdated, and ErrRefused when the question is
// not open any more.
func Decide(ctx context.Context, in *Inbox, id tasks.ID, ask tasks.Ask, r ProgramDecision) error {
	var logResult func()
	err := ChangeTask(ctx, in, id, func(s planner.State) ([]planner.Event, error) {
		todo := planner.Todo(s)
		i := slices.IndexFunc(todo, func(a planner.Action) bool { return a.Kind == planner.KindAsk && tasks.AskOf(a.ID) == ask })
		if i < 0 {
			return nil, tasks.ErrRefused
		}
		a := todo[i]
		if err := r.checkVersion(a, s); err != nil {
			return nil, err
		}
		events, err := decisionEvents(ctx, in, id, a, r)
		logResult = func() {
			if a.ID.Subject == planner.SubjectBudget {
				budgetDecided(ctx, in, id, r.By, s.Overdraft, r.Approve)
			} else {
				logDecision(ctx, in, id, a.ID, r.By, *events[0].Decision)
			}
		}
		return events, err
	})
	if err == nil {
		logResult()
	}
	return err
}
