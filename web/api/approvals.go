package api

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/tasks/policy"
	"legwork/web/problem"
)

// Decision is the body of a decision about an approval.
type Decision struct {
	Decision string          `json:"decision" enum:"approve,deny" doc:"To answer a question, send 'approve' with the answer as comment; 'deny' leaves the question unanswered."`
	Comment  string          `json:"comment,omitempty" maxLength:"65536" doc:"The answer to a question, or the reason for the decision."`
	Value    json.RawMessage `json:"value,omitempty" doc:"The fields of a form, by name."`
	Scope    string          `json:"scope,omitempty" enum:"call,task" doc:"What is allowed: only this 'call' (the default), or the same tools in this 'task'."`
	Version  *int            `json:"version,omitempty" minimum:"0" nullable:"false" doc:"The version of the shared state that was reviewed. If something other than added keys has changed since then, nothing is decided (412). Default: any version."`
}

type (
	approvalsRequest struct {
		Task   string `query:"task" maxLength:"200" doc:"Only approvals of this task."`
		Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"The largest number of entries in a page."`
		Cursor string `query:"cursor" maxLength:"200" doc:"The 'next_cursor' of the page before."`
	}
	approvalsReply struct {
		Body Page[api.Approval]
	}
	decideRequest struct {
		ID   string `path:"id" doc:"Id of the approval."`
		Body Decision
	}
)

func (c *calls) approvals(ctx context.Context, in *approvalsRequest) (*approvalsReply, error) {
	last, err := after("approvals", in.Cursor)
	if err != nil {
		return nil, err
	}
	items, next, err := c.Service.Approvals(ctx, api.Caller(ctx), api.ApprovalQuery{Task: tasks.ID(in.Task), After: last, Limit: in.Limit})
	return &approvalsReply{page(items, cursor("approvals", next))}, err
}

func (c *calls) decide(ctx context.Context, in *decideRequest) (*taskReply, error) {
	t, err := c.Service.Decide(ctx, api.Caller(ctx), in.ID, api.Decision{
		Approve: in.Body.Decision == "approve", Comment: in.Body.Comment, Value: in.Body.Value, Scope: scope(in.Body.Scope), Version: in.Body.Version,
	})
	return &taskReply{Body: t}, err
}

// scope is the scope of an approval in planner.
func scope(name string) string {
	if name == "task" {
		return planner.ScopeTask
	}
	return ""
}

func (c *calls) registerApprovals(h huma.API) {
	register(c, h, operation{
		method: http.MethodGet, path: "/v1/approvals", id: "listApprovals", tag: "approvals",
		summary: "List what waits for a person", op: policy.OpApprovals,
		text:   "Tool calls, questions, plans, budgets and reviews that wait for a decision: the newest task first, and those of one task in the order in which it asked.",
		answer: page([]api.Approval{exampleApproval()}, cursor("approvals", exampleApproval().ID)),
	}, c.approvals)
	register(c, h, operation{
		method: http.MethodPost, path: "/v1/approvals/{id}", id: "decideApproval", tag: "approvals",
		summary: "Decide", op: policy.OpDecide,
		text: "Each approval is decided once. A second decision gets a conflict that says who decided what; the same decision again by the same token gets the same reply as before, except for forms. `comment` is the answer to a question, or the reason; `value` holds the fields of a form; " +
			"`scope` says what is allowed: only this `call`, or the same tools in this `task`; with `version`, a review is decided only if the shared state has not changed since that version (`details.version`).",
		problems: []problem.Code{problem.Conflict, problem.Precondition}, body: Decision{Decision: "approve", Comment: "Go ahead."}, answer: exampleTask(),
	}, c.decide)
}
