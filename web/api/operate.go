package api

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"legwork/tasks/api"
	"legwork/tasks/policy"
	"legwork/web/problem"
)

// Acceptance is the body of a request that accepts changed tools.
type Acceptance struct {
	Changes []string `json:"changes" minItems:"1" maxItems:"1000" nullable:"false" doc:"Ids of the changes."`
	Code    string   `json:"code,omitempty" maxLength:"100" doc:"The code that legwork has shown. Without it legwork shows one, and accepts nothing."`
}

// Trial is the body of a request that tries a tool.
type Trial struct {
	Arguments json.RawMessage `json:"arguments,omitempty" doc:"The arguments, a JSON object. Default: none."`
}

// PersonDecision is the body of a decision about a person.
type PersonDecision struct {
	Decision string `json:"decision" enum:"allow,chat,ignore,remove" doc:"'allow': everywhere on the platform; 'chat': only where the person asked; 'ignore': no answer; 'remove': takes an earlier decision back, so that the person can ask again."`
}

// ScheduleAction is the body of a request about a schedule.
type ScheduleAction struct {
	Action string `json:"action" enum:"pause,resume,delete,run" doc:"'resume' goes on from now on; 'run' starts the task now."`
}

type (
	serversReply struct {
		Body Page[api.Server]
	}
	serverRequest struct {
		Server string `path:"server" doc:"Name of the server."`
	}
	serverReply struct {
		Body api.ServerDetails
	}
	acceptRequest struct {
		Server string `path:"server" doc:"Name of the server."`
		Body   Acceptance
	}
	tryRequest struct {
		Server string `path:"server" doc:"Name of the server."`
		Tool   string `path:"tool" doc:"The server's name of the tool."`
		Body   Trial
	}
	tryReply struct {
		Body api.TriedCall
	}
	modelsReply struct {
		Body Page[api.Model]
	}
	healthReply struct {
		Body api.Health
	}
	peopleReply struct {
		Body api.People
	}
	personRequest struct {
		Key  string `path:"key" doc:"Key of the person: 'telegram:12345'."`
		Body PersonDecision
	}
	schedulesReply struct {
		Body Page[api.Schedule]
	}
	scheduleRequest struct {
		ID   string `path:"id" doc:"Id of the schedule."`
		Body ScheduleAction
	}
	scheduleReply struct {
		Body api.Schedule
	}
)

// operatorCalls are the handlers of the calls for those who operate legwork.
type operatorCalls struct{ *calls }

func (c operatorCalls) servers(ctx context.Context, _ *struct{}) (*serversReply, error) {
	items, err := c.Operations.Servers(ctx, api.Caller(ctx))
	return &serversReply{page(items, nil)}, err
}

func (c operatorCalls) server(ctx context.Context, in *serverRequest) (*serverReply, error) {
	s, err := c.Operations.Server(ctx, api.Caller(ctx), in.Server)
	return &serverReply{s}, err
}

func (c operatorCalls) accept(ctx context.Context, in *acceptRequest) (*serverReply, error) {
	s, err := c.Operations.Accept(ctx, api.Caller(ctx), in.Server, in.Body.Changes, in.Body.Code)
	return &serverReply{s}, err
}

func (c operatorCalls) try(ctx context.Context, in *tryRequest) (*tryReply, error) {
	ctx, end := c.waitContext(ctx, maxWait)
	defer end()
	r, err := c.Operations.Try(ctx, api.Caller(ctx), in.Server, in.Tool, in.Body.Arguments)
	return &tryReply{r}, err
}

func (c operatorCalls) models(ctx context.Context, _ *struct{}) (*modelsReply, error) {
	items, err := c.Operations.Models(ctx, api.Caller(ctx))
	return &modelsReply{page(items, nil)}, err
}

func (c operatorCalls) health(ctx context.Context, _ *struct{}) (*healthReply, error) {
	h, err := c.Operations.Health(ctx, api.Caller(ctx))
	return &healthReply{h}, err
}

func (c operatorCalls) people(ctx context.Context, _ *struct{}) (*peopleReply, error) {
	p, err := c.Operations.People(ctx, api.Caller(ctx))
	return &peopleReply{p}, err
}

func (c operatorCalls) decidePerson(ctx context.Context, in *personRequest) (*peopleReply, error) {
	p, err := c.Operations.DecidePerson(ctx, api.Caller(ctx), in.Key, in.Body.Decision)
	return &peopleReply{p}, err
}

func (c operatorCalls) schedules(ctx context.Context, _ *struct{}) (*schedulesReply, error) {
	items, err := c.Operations.Schedules(ctx, api.Caller(ctx))
	return &schedulesReply{page(items, nil)}, err
}

func (c operatorCalls) changeSchedule(ctx context.Context, in *scheduleRequest) (*scheduleReply, error) {
	s, err := c.Operations.ChangeSchedule(ctx, api.Caller(ctx), in.ID, in.Body.Action)
	return &scheduleReply{s}, err
}

func (c operatorCalls) register(h huma.API) {
	register(c.calls, h, operation{
		method: http.MethodGet, path: "/v1/servers", id: "listServers", tag: "operations",
		summary: "List tool servers", op: policy.OpServers,
		text:   "The tool servers of the config with their state, calls and errors. The counts begin with the process.",
		answer: page([]api.Server{exampleServer()}, nil),
	}, c.servers)
	register(c.calls, h, operation{
		method: http.MethodGet, path: "/v1/servers/{server}", id: "getServer", tag: "operations",
		summary: "Read about a tool server", op: policy.OpServers,
		text:   "The server with its tools, their schemas and the rules of groups, its newest errors, and its changed tools that wait to be accepted.",
		answer: exampleServerDetails(),
	}, c.server)
	register(c.calls, h, operation{
		method: http.MethodPost, path: "/v1/servers/{server}/accept", id: "acceptTools", tag: "operations",
		summary: "Accept changed tools", op: policy.OpTools,
		text:     "Tools whose server has changed them can be called again, as they are now. This takes a code: a request without one makes legwork show it in its terminal and in the chats of the admins (problem `code_needed`), the same request with the code accepts. A change that is gone by now accepts nothing (409).",
		problems: []problem.Code{problem.CodeNeeded, problem.Conflict}, body: Acceptance{Changes: []string{"5f1c0a9be2d34f67"}, Code: "K7WQ2MZT4B"}, answer: exampleServerDetails(),
	}, c.accept)
	register(c.calls, h, operation{
		method: http.MethodPost, path: "/v1/servers/{server}/tools/{tool}/call", id: "tryTool", tag: "operations",
		summary: "Try a tool", op: policy.OpTools, long: true,
		text:     "Calls a tool by the rules of its group, without a model and without a question to a person: the request is the approval. The audit log gets an entry without the arguments. A failure of the tool is a result with `failed`. The reply takes as long as the tool, 300 seconds at most, and has at most 256 KiB of text.",
		problems: []problem.Code{problem.Conflict}, body: Trial{Arguments: json.RawMessage(`{"url":"https://go.dev/doc/devel/release"}`)}, answer: exampleTried(),
	}, c.try)
	register(c.calls, h, operation{
		method: http.MethodGet, path: "/v1/models", id: "listModels", tag: "operations",
		summary: "List language models", op: policy.OpServers,
		text:   "The models of the config with roles, fallbacks and prices, whether they answer, and how long calls take. The counts begin with the process.",
		answer: page([]api.Model{exampleModel()}, nil),
	}, c.models)
	register(c.calls, h, operation{
		method: http.MethodGet, path: "/v1/health", id: "getHealth", tag: "operations",
		summary: "Read the state of the process", op: policy.OpHealth,
		text:   "The parts as in `/readyz`, and also the stored data, backups, alerts, the queue, and today's budgets.",
		answer: exampleHealth(),
	}, c.health)
	register(c.calls, h, operation{
		method: http.MethodGet, path: "/v1/people", id: "getPeople", tag: "operations",
		summary: "Read who may talk to legwork", op: policy.OpPeople,
		text:   "The admins, the rules of the config, the people about whom admins have decided, and those who wait for a decision.",
		answer: examplePeople(),
	}, c.people)
	register(c.calls, h, operation{
		method: http.MethodPost, path: "/v1/people/{key}", id: "decidePerson", tag: "operations",
		summary: "Decide about a person", op: policy.OpPeople,
		text:     "What the buttons in the chats of admins do. The first decision counts; `remove` takes it back. What the config says is changed there.",
		problems: []problem.Code{problem.Conflict}, body: PersonDecision{Decision: "allow"}, answer: examplePeople(),
	}, c.decidePerson)
	register(c.calls, h, operation{
		method: http.MethodGet, path: "/v1/schedules", id: "listSchedules", tag: "operations",
		summary: "List schedules", op: policy.OpSchedules,
		text:   "The schedules of the chats that the caller sees, and its own.",
		answer: page([]api.Schedule{exampleSchedule()}, nil),
	}, c.schedules)
	register(c.calls, h, operation{
		method: http.MethodPost, path: "/v1/schedules/{id}", id: "changeSchedule", tag: "operations",
		summary: "Pause, resume, delete or run a schedule", op: policy.OpSchedule,
		text:     "By the rules of the command /schedule: its person and admins may change a schedule, only admins one of the config, which only the config can delete. A run while the last task is not over is a conflict.",
		problems: []problem.Code{problem.Conflict}, body: ScheduleAction{Action: "pause"}, answer: exampleSchedule(),
	}, c.changeSchedule)
}
