package contexts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"legwork/planner"
	"legwork/tasks"
)

// Approval is something that waits for a person: calls of tools, a question of a
// model or a server, a plan, a budget, a review.
type Approval struct {
	ID       string          `json:"id"` // names task and question; one decision each
	TaskID   tasks.ID        `json:"task_id"`
	Kind     string          `json:"kind"` // calls, question, form, plan, budget, review
	Text     string          `json:"text,omitempty"`
	Choices  []string        `json:"choices,omitempty"`
	Calls    []ApprovalCall  `json:"calls,omitempty"`
	Details  json.RawMessage `json:"details,omitempty"` // of a form, a plan, a budget, a review
	Asked    Time            `json:"asked_at"`
	Expires  *Time           `json:"expires_at"`
	Goal     string          `json:"goal"`
	Chat     string          `json:"chat"`
	AskedFor string          `json:"asked_for"` // key of who started the task
}

// ApprovalCall is one call of a tool that is to be allowed.
type ApprovalCall struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	// Shown is the arguments as a person should read them: indented, and with
	// characters that cannot be seen written as escapes.
	Shown  string `json:"shown"`
	Reason string `json:"reason,omitempty"` // beyond that it may change things: host, recipient
	Detail string `json:"detail,omitempty"` // which
}

// approvalID names a question: "TASK.SEQ.N".
func approvalID(id tasks.ID, ask tasks.Ask) string {
	return fmt.Sprintf("%s.%d.%d", id, ask.Seq, ask.Call)
}

// readApprovalID is the opposite of approvalID.
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
			list = append(list, approvalID(id, tasks.AskOf(s, a)))
		}
	}
	return list
}

// pageOfTasks is how many rows are read at once when all are gone through.
const pageOfTasks = 200

// Approvals lists what waits for a person, the oldest first, in a task or, with an
// empty id, in all that the principal sees.
func (s *Service) Approvals(ctx context.Context, p Principal, id tasks.ID) ([]Approval, error) {
	list := []Approval{}
	if id != "" {
		t, err := s.may(ctx, p, OpApprovals, id)
		if err != nil {
			return nil, err
		}
		if list, err = s.approvals(ctx, t, list); err != nil {
			return nil, err
		}
	} else {
		var err error
		if list, err = s.allApprovals(ctx, p); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(list, func(a, b Approval) int { return cmp.Or(a.Asked.Compare(b.Asked.Time), cmp.Compare(a.ID, b.ID)) })
	return list, nil
}

func (s *Service) allApprovals(ctx context.Context, p Principal) ([]Approval, error) {
	if err := p.Allowed(OpApprovals); err != nil {
		return nil, err
	}
	list := []Approval{}
	q := tasks.TaskQuery{Waits: true, Rooms: p.rooms(""), Limit: pageOfTasks}
	for more := true; more; {
		var rows []tasks.Row
		var err error
		if rows, more, err = s.Store.Tasks(ctx, q); err != nil {
			return nil, fmt.Errorf("listing tasks: %w", err)
		}
		if len(rows) == 0 {
			break
		}
		for _, row := range rows {
			q.Before = row.Task
			found, err := s.approvals(ctx, seen{row.Task, row}, list)
			if errors.Is(err, ErrNotFound) || errors.Is(err, tasks.ErrDamaged) {
				continue // it was deleted meanwhile, or is of no use
			}
			if err != nil {
				return nil, err
			}
			list = found
		}
	}
	return list, nil
}

// approvals adds what a task waits for to a list.
func (s *Service) approvals(ctx context.Context, t seen, list []Approval) ([]Approval, error) {
	state, err := s.state(ctx, t.id)
	if err != nil {
		return nil, err
	}
	j := journal{store: s.Store, id: t.id}
	tell := telling{t.id, state, j.read(ctx)}
	for _, a := range planner.Todo(state) {
		if a.Kind != planner.KindAsk {
			continue
		}
		found, err := tell.asked(a)
		if err = cmp.Or(j.err, err); err != nil {
			return nil, err
		}
		found.Goal, found.Chat, found.AskedFor = t.row.Goal, t.row.Chat.Key(), t.row.From.Key()
		list = append(list, found)
	}
	return list, nil
}
