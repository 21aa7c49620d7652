package contexts

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

// ApprovalQuery chooses approvals.
type ApprovalQuery struct {
	Task  tasks.ID // empty: all tasks that the principal sees
	After string   // id of the last of the page before, which may be decided
	Limit int      // 1 to 200; 0: 50
}

// Approvals lists what waits for a person: the newest task first, and what one
// task asks in the order in which it asked. next is the After of the next page,
// empty at the end. ErrNotFound of Task, *InvalidError.
func (s *Service) Approvals(ctx context.Context, p Principal, q ApprovalQuery) (list []Approval, next string, err error) {
	if err := p.Allowed(OpApprovals); err != nil {
		return nil, "", err
	}
	limit, err := within(q.Limit, usualLists, maxListed)
	if err != nil {
		return nil, "", err
	}
	last, after, named := readApprovalID(q.After)
	if q.After != "" && !named {
		return nil, "", &InvalidError{"cursor", "is none that a list gave"}
	}
	if q.Task == "" {
		list, err = s.allApprovals(ctx, p, last, after, limit+1)
	} else if t, missing := s.may(ctx, p, OpApprovals, q.Task); missing != nil {
		err = missing
	} else if named && last != q.Task {
		err = &InvalidError{"cursor", "is of another task"}
	} else {
		list, err = s.approvals(ctx, t, after, limit+1)
	}
	if len(list) > limit {
		list, next = list[:limit], list[limit-1].ID
	}
	return list, next, err
}

// allApprovals lists what tasks wait for, from a question of one of them on.
func (s *Service) allApprovals(ctx context.Context, p Principal, last tasks.ID, after tasks.Ask, most int) ([]Approval, error) {
	list := []Approval{}
	add := func(t seen, after tasks.Ask) error {
		found, err := s.approvals(ctx, t, after, most-len(list))
		if errors.Is(err, ErrNotFound) || errors.Is(err, tasks.ErrDamaged) {
			return nil // it was deleted meanwhile, or is of no use
		}
		list = append(list, found...)
		return err
	}
	if last != "" {
		t, err := s.may(ctx, p, OpApprovals, last)
		if err == nil {
			err = add(t, after)
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
	}
	q := tasks.TaskQuery{Waits: true, Rooms: p.rooms(""), Before: last, Limit: most}
	for more := true; more; {
		var rows []tasks.Row
		var err error
		if rows, more, err = s.Store.Tasks(ctx, q); err != nil {
			return nil, fmt.Errorf("listing tasks: %w", err)
		}
		for _, row := range rows {
			if len(list) == most {
				return list, nil
			}
			if err := add(seen{row.Task, row}, tasks.Ask{}); err != nil {
				return nil, err
			}
			q.Before = row.Task
		}
		more = more && len(rows) > 0
	}
	return list, nil
}

// approvals lists what a task waits for, after one of its questions and no more
// than so many.
func (s *Service) approvals(ctx context.Context, t seen, after tasks.Ask, most int) ([]Approval, error) {
	state, err := s.state(ctx, t.id)
	if err != nil {
		return nil, err
	}
	open := map[tasks.Ask]planner.Action{}
	for _, a := range planner.Todo(state) {
		if ask := tasks.AskOf(state, a); a.Kind == planner.KindAsk && inOrder(ask, after) > 0 {
			open[ask] = a
		}
	}
	j := journal{store: s.Store, id: t.id}
	tell := telling{t.id, state, j.read(ctx)}
	var list []Approval
	for _, ask := range slices.SortedFunc(maps.Keys(open), inOrder) {
		if len(list) == most {
			break
		}
		found, err := tell.asked(open[ask])
		if err = cmp.Or(j.err, err); err != nil {
			return nil, err
		}
		found.Goal, found.Chat, found.AskedFor = t.row.Goal, t.row.Chat.Key(), t.row.From.Key()
		list = append(list, found)
	}
	return list, nil
}

// inOrder is the order in which a task asks.
func inOrder(a, b tasks.Ask) int {
	return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Call, b.Call))
}
