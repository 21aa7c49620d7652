package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/inbox"
	"legwork/tasks/input"
	"legwork/tasks/policy"
)

// Approval is a decision that waits for a person: about tool calls, a question of a
// model or a server, a plan, a budget, a review.
type Approval struct {
	ID       string          `json:"id" doc:"Identifies the task and the question. Each approval is decided once."`
	TaskID   tasks.ID        `json:"task_id" doc:"Id of the task that waits."`
	Kind     string          `json:"kind" doc:"'calls', 'question', 'form', 'plan', 'budget', 'review'."`
	Text     string          `json:"text,omitempty" doc:"What is asked."`
	Choices  []string        `json:"choices,omitempty" doc:"Suggested answers."`
	Calls    []ApprovalCall  `json:"calls,omitempty" doc:"The calls that need approval."`
	Details  json.RawMessage `json:"details,omitempty" doc:"For a form: its 'server' and 'fields', 'url' or 'sign_in'; for a plan: its 'thought', 'subtasks' and 'estimate'; for a budget: 'budget', 'unit', 'limit', 'spent', 'wanted', 'extend_by'; for a review: 'state', 'version', 'wanted_by'."`
	Asked    Time            `json:"asked_at" doc:"When it was asked."`
	Expires  *Time           `json:"expires_at" doc:"After this time it counts as denied; null: never."`
	Goal     string          `json:"goal" doc:"The goal of the task, shortened."`
	Chat     string          `json:"chat" doc:"Where the task was asked."`
	AskedFor string          `json:"asked_for" doc:"Who started the task."`
	Name     string          `json:"asked_for_name,omitempty" doc:"Name of that person, when the platform told it."`
}

// ApprovalCall is a tool call that needs approval.
type ApprovalCall struct {
	Tool      string          `json:"tool" doc:"'server.tool'."`
	Arguments json.RawMessage `json:"arguments" doc:"The exact arguments of the call."`
	// characters that cannot be seen written as escapes.
	Shown  string `json:"shown" doc:"The arguments for people to read: indented, with invisible characters as escapes."`
	Reason string `json:"reason,omitempty" doc:"Why this call needs approval although such calls usually do not: 'leaves' means that it can carry private data out."`
	Detail string `json:"detail,omitempty" doc:"Which host or recipient."`
}

// approvalID is the id of a question: "TASK.SEQ.N".
func approvalID(id tasks.ID, ask tasks.Ask) string {
	return fmt.Sprintf("%s.%d.%d", id, ask.Seq, ask.Call)
}

// readApprovalID parses an approvalID.
func readApprovalID(name string) (id tasks.ID, ask tasks.Ask, ok bool) {
	parts := strings.Split(name, ".")
	if len(parts) != 3 {
		return "", ask, false
	}
	seq, bad := strconv.Atoi(parts[1])
	call, worse := strconv.Atoi(parts[2])
	id, ask = tasks.ID(parts[0]), tasks.Ask{Seq: seq, Call: call}
	return id, ask, bad == nil && worse == nil && approvalID(id, ask) == name
}

// waiting lists the approvals that a task waits for.
func waiting(id tasks.ID, s planner.State) []string {
	list := []string{}
	for _, a := range planner.Todo(s) {
		if a.Kind == planner.KindAsk {
			list = append(list, approvalID(id, tasks.AskOf(a.ID)))
		}
	}
	return list
}

// ApprovalQuery selects approvals.
type ApprovalQuery struct {
	Task  tasks.ID // empty: all tasks that the principal sees
	After string   // id of the last approval of the page before, which may be decided by now
	Limit int      // 1 to 200; 0: 50
}

// Approvals lists the approvals that wait for a decision: the newest task first, and
// those of one task in the order in which it asked. next is the After of the next
// page, empty at the end. ErrNotFound for Task, *InvalidError.
func (s *Service) Approvals(ctx context.Context, p Principal, q ApprovalQuery) (list []Approval, next string, err error) {
	if err := p.Allowed(policy.OpApprovals); err != nil {
		return nil, "", err
	}
	limit, err := checkLimit(q.Limit, defaultListed, maxListed)
	if err != nil {
		return nil, "", err
	}
	last, after, named := readApprovalID(q.After)
	if q.After != "" && !named {
		return nil, "", &InvalidError{"cursor", "is none that a list gave"}
	}
	page := &approvalPage{list: []Approval{}, most: limit}
	if q.Task == "" {
		err = s.allApprovals(ctx, p, last, after, page)
	} else if t, missing := s.authorize(ctx, p, policy.OpApprovals, q.Task); missing != nil {
		err = missing
	} else if named && last != q.Task {
		err = &InvalidError{"cursor", "is of another task"}
	} else {
		err = s.approvals(ctx, t, after, page)
	}
	if page.more {
		next = page.list[len(page.list)-1].ID
	}
	return page.list, next, err
}

// approvalPage is a page under construction. It is full after a number of approvals,
// or when their texts have more than maxPage bytes.
type approvalPage struct {
	list  []Approval
	most  int
	bytes int
	more  bool // there was no room for another approval
}

// full reports whether the page has no room for another approval.
func (p *approvalPage) full() bool { return len(p.list) == p.most || p.bytes > maxPage }

func (p *approvalPage) add(a Approval) {
	p.list = append(p.list, a)
	p.bytes += len(a.Text) + len(a.Details) + len(a.Goal)
	for _, call := range a.Calls {
		p.bytes += len(call.Arguments) + len(call.Shown)
	}
}

// allApprovals fills a page with the approvals of all tasks, after a question of one
// of them.
func (s *Service) allApprovals(ctx context.Context, p Principal, last tasks.ID, after tasks.Ask, page *approvalPage) error {
	add := func(t visibleTask, after tasks.Ask) error {
		err := s.approvals(ctx, t, after, page)
		if errors.Is(err, ErrNotFound) || errors.Is(err, tasks.ErrDamaged) {
			return nil // it was deleted meanwhile, or cannot be read
		}
		return err
	}
	if last != "" {
		t, err := s.authorize(ctx, p, policy.OpApprovals, last)
		if err == nil {
			err = add(t, after)
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	q := p.query("")
	q.Waits, q.Before, q.Limit = true, last, page.most+1
	for more := true; more && !page.more; {
		var rows []tasks.Row
		var err error
		if rows, more, err = s.Store.Tasks(ctx, q); err != nil {
			return fmt.Errorf("listing tasks: %w", err)
		}
		for _, row := range rows {
			if err := add(visibleTask{row.Task, row}, tasks.Ask{}); err != nil || page.more {
				return err
			}
			q.Before = row.Task
		}
		more = more && len(rows) > 0
	}
	return nil
}

// approvals adds the approvals of a task, after one of its questions, to a page.
func (s *Service) approvals(ctx context.Context, t visibleTask, after tasks.Ask, page *approvalPage) error {
	state, err := s.foldedState(ctx, t.id)
	if err != nil {
		return err
	}
	open := map[tasks.Ask]planner.Action{}
	for _, a := range planner.Todo(state) {
		if ask := tasks.AskOf(a.ID); a.Kind == planner.KindAsk && compareAsks(ask, after) > 0 {
			open[ask] = a
		}
	}
	j := journal{store: s.Store, id: t.id}
	tr := translator{t.id, state, j.read(ctx), false}
	for _, ask := range slices.SortedFunc(maps.Keys(open), compareAsks) {
		if page.full() {
			page.more = true
			break
		}
		found, err := tr.approvalOf(open[ask])
		if err = cmp.Or(j.err, err); err != nil {
			return err
		}
		found.Goal, found.Chat, found.AskedFor, found.Name = t.row.Goal, t.row.Chat.Key(), t.row.From.Key(), t.row.From.Name
		page.add(found)
	}
	return nil
}

// compareAsks orders the questions of a task by time.
func compareAsks(a, b tasks.Ask) int {
	return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Call, b.Call))
}

// Decision is the decision of a person.
type Decision struct {
	Approve bool
	Comment string          // the reason, or the answer to a question
	Value   json.RawMessage // the fields of a form, by name
	Scope   string          // planner.ScopeTask: also later calls of the same tools in this task
	Version *int            // of the reviewed state: decide only if it has not changed; nil: any
}

const errNoApproval = notFoundError("no such approval, or not one that this token may see")

// Decide decides about an approval. ErrForbidden for agents and viewers, and for
// operators where only an admin may decide; ErrConflict when it was already decided;
// *PreconditionError when the shared state has another version than the decision.
// The same decision by the same principal changes nothing and is no error.
func (s *Service) Decide(ctx context.Context, p Principal, approval string, d Decision) (Task, error) {
	if err := p.Allowed(policy.OpDecide); err != nil {
		return Task{}, err
	}
	id, ask, ok := readApprovalID(approval)
	if !ok {
		return Task{}, errNoApproval
	}
	t, err := s.authorize(ctx, p, policy.OpDecide, id)
	if err != nil {
		return Task{}, err
	}
	r := inbox.ProgramDecision{
		By: p.Key(), Name: p.Title(), Admin: p.Role.May(policy.OpExtend) == policy.Always, Own: p.Owns(t.row.From),
		Approve: d.Approve, Text: input.Clean(d.Comment), Scope: d.Scope, Version: d.Version,
	}
	if len(r.Text) > maxStateValue {
		return Task{}, &InvalidError{"comment", fmt.Sprintf("has %d bytes; at most %d are allowed", len(r.Text), maxStateValue)}
	}
	if len(d.Value) > 0 && string(d.Value) != "null" {
		if err := checkJSON("value", d.Value); err != nil {
			return Task{}, err
		}
		if json.Unmarshal(d.Value, &r.Values) != nil {
			return Task{}, &InvalidError{"value", "must be an object: the fields of the form by name"}
		}
	}
	err = inbox.Decide(ctx, s.Inbox, id, ask, r)
	if wrong, ok := errors.AsType[*inbox.ArgumentError](err); ok {
		return Task{}, &InvalidError{wrong.Field, wrong.Detail}
	}
	switch {
	case errors.Is(err, inbox.ErrAdminNeeded):
		return Task{}, fmt.Errorf("%w: %w", ErrForbidden, err)
	case errors.Is(err, inbox.ErrOutdated):
		state, err := s.foldedState(ctx, id)
		if err != nil {
			return Task{}, err
		}
		return Task{}, &PreconditionError{state.Version}
	case errors.Is(err, tasks.ErrRefused):
		err = s.decisionConflict(ctx, id, ask, r)
	}
	return s.afterChange(ctx, id, err)
}

// decisionConflict says why a question can no longer be decided; nil when the same
// principal has decided it in the same way.
func (all journals) decisionConflict(ctx context.Context, id tasks.ID, ask tasks.Ask, r inbox.ProgramDecision) error {
	state, err := all.foldedState(ctx, id)
	if err != nil {
		return err
	}
	if ask.Seq < 1 || ask.Seq > state.Seq {
		return errNoApproval
	}
	events, err := all.store.Load(ctx, id, ask.Seq-1)
	if err != nil {
		return readError(id, err)
	}
	if len(events) == 0 || !canAsk(events[0]) {
		return errNoApproval
	}
	for _, e := range events {
		if e.Type != planner.Decided || tasks.AskOf(e.Action) != ask {
			continue
		}
		if sameDecision(e, r) {
			return nil
		}
		return fmt.Errorf("%w: it was decided already: %s said %s at %s", ErrConflict, e.By, yesOrNo(e.Decision.Approve), e.At.UTC().Format(time.RFC3339))
	}
	return fmt.Errorf("%w: its time is over", ErrConflict)
}

// sameDecision reports whether an event is the decision that a program submits. Two
// decisions about a form are never the same, since the fields may differ.
func sameDecision(e planner.Event, r inbox.ProgramDecision) bool {
	d := e.Decision
	return e.By == r.By && e.Action.Subject != planner.SubjectForm && d.Approve == r.Approve && d.Text == r.Text && d.Scope == r.Scope
}

func yesOrNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// canAsk reports whether an event may have asked a person.
func canAsk(e planner.Event) bool {
	switch e.Type {
	case planner.Asked, planner.BudgetReached, planner.Replied, planner.StateSet:
		return true
	}
	return false
}
