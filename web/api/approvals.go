package api

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/web/problem"
)

// Decision is the body that decides about an approval.
type Decision struct {
	Decision string          `json:"decision" enum:"approve,deny" doc:"Yes or no. The answer to a question is an 'approve' with the answer as comment; 'deny' says that nobody answers."`
	Comment  string          `json:"comment,omitempty" maxLength:"65536" doc:"The answer to a question, or why."`
	Value    json.RawMessage `json:"value,omitempty" doc:"Of a form: its fields by name."`
	Scope    string          `json:"scope,omitempty" enum:"call,task" doc:"How far a yes to calls goes: this 'call' (the default), or the same tools in this 'task'."`
	Version  *int            `json:"version,omitempty" minimum:"0" nullable:"false" doc:"Of a review: the version of the shared state that was looked at; when something of it has changed by now, other than by keys that were added, nothing is decided (412). Left out: any."`
}

type (
	approvalsRequest struct {
		Task   string `query:"task" maxLength:"200" doc:"Only of this task."`
		Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"At most so many."`
		Cursor string `query:"cursor" maxLength:"200" doc:"'next_cursor' of the page before."`
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

// scope is how far a yes goes, as the machine has it.
func scope(name string) string {
	switch name {
	case "task":
		return planner.ScopeTask
	}
	return ""
}

func (c *calls) registerApprovals(h huma.API) {
	register(c, h, operation{
		method: http.MethodGet, path: "/v1/approvals", id: "listApprovals", tag: "approvals",
		summary: "List what waits for a person", does: api.OpApprovals,
		text:   "Calls of tools, questions, plans, budgets and reviews: the newest task first, and what one task asks in the order in which it asked.",
		answer: page([]api.Approval{exampleApproval()}, cursor("approvals", exampleApproval().ID)),
	}, c.approvals)
	register(c, h, operation{
		method: http.MethodPost, path: "/v1/approvals/{id}", id: "decideApproval", tag: "approvals",
		summary: "Decide", does: api.OpDecide,
		text: "One decision each: who comes second gets a conflict that says how it was decided; the same again by the same token (but for forms) is answered as the first was. `comment` is the answer to a question, or why not; `value` holds the fields of a form; " +
			"`scope` is how far a yes to calls goes: this `call`, or the same tools in this `task`; `version` decides about a review only while nothing has changed of what the shared state was at that version (`details.version`).",
		problems: []problem.Code{problem.Conflict, problem.Precondition}, body: Decision{Decision: "approve", Comment: "Go ahead."}, answer: exampleTask(),
	}, c.decide)
}
