package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"legwork/tasks/api"
	"legwork/tasks/policy"
	"legwork/web/problem"
)

// Outline is the summary of a task.
type Outline struct {
	Lines []string `json:"lines" doc:"At most five lines of plain text."`
}

type (
	stepsReply struct {
		Body api.Steps
	}
	promptRequest struct {
		TaskPath
		Step string `path:"step" doc:"Id of the step, such as 'plan 1.0', with percent encoding."`
	}
	promptReply struct {
		Body api.Prompt
	}
	outlineReply struct {
		Body Outline
	}
)

// stepCalls are the handlers of the calls about how a task came to its answer.
type stepCalls struct {
	*calls
	inspector *api.Inspector
}

func (c stepCalls) steps(ctx context.Context, in *TaskPath) (*stepsReply, error) {
	list, err := c.inspector.Steps(ctx, api.Caller(ctx), in.id())
	return &stepsReply{list}, err
}

func (c stepCalls) prompt(ctx context.Context, in *promptRequest) (*promptReply, error) {
	p, err := c.inspector.Prompt(ctx, api.Caller(ctx), in.id(), in.Step)
	return &promptReply{p}, err
}

func (c stepCalls) outline(ctx context.Context, in *TaskPath) (*outlineReply, error) {
	lines, err := c.inspector.Outline(ctx, api.Caller(ctx), in.id())
	return &outlineReply{Outline{lines}}, err
}

func (c stepCalls) register(h huma.API) {
	register(c.calls, h, operation{
		method: http.MethodGet, path: "/v1/tasks/{id}/steps", id: "listSteps", tag: "tasks",
		summary: "List the steps of a task", op: policy.OpRead,
		text: "Model calls, tool calls, decisions of people and what else took time, in the order in which they became possible: when each ran, what it waited for, " +
			"what it used, and which of them the task had to wait for (the critical path).",
		answer: exampleSteps(),
	}, c.steps)
	register(c.calls, h, operation{
		method: http.MethodGet, path: "/v1/tasks/{id}/steps/{step}/prompt", id: "getPrompt", tag: "tasks",
		summary: "Read the prompt of a model call", op: policy.OpInspect,
		text: "The prompt is built again from the journal. `exact` says whether it is what was sent; otherwise `note` says what has changed since.",
		answer: api.Prompt{
			Model: "small", Messages: []api.PromptMessage{{Role: "user", Content: "<goal>Compare the three offers.</goal>"}}, Tools: []api.PromptTool{}, Exact: true,
		},
	}, c.prompt)
	register(c.calls, h, operation{
		method: http.MethodPost, path: "/v1/tasks/{id}/summary", id: "summarizeTask", tag: "tasks",
		summary: "Sum a task up", op: policy.OpOutline,
		text:     "A model sums the context of the task up in five lines. This costs money, which counts in the budgets of the day; a budget without room is a conflict.",
		problems: []problem.Code{problem.Conflict},
		answer:   Outline{Lines: []string{"Three offers were to be compared.", "The group web read their pages; all three could be read."}},
	}, c.outline)
}
