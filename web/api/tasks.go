package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"legwork/files"
	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/tasks/policy"
	"legwork/web/problem"
)

// NewTask is the body of a request to start a task.
type NewTask struct {
	Goal           string     `json:"goal" minLength:"1" maxLength:"262144" doc:"The question or what to do, at most 256 KiB."`
	Groups         []string   `json:"groups,omitempty" maxItems:"100" minLength:"1" doc:"Tool groups that the task may use; an empty list: none. Default: all that the token may use."`
	Language       string     `json:"language,omitempty" maxLength:"35" doc:"Language of the answer, such as 'en'. Default: that of the config."`
	Notify         *Notify    `json:"notify,omitempty" doc:"Where to send the outcome, beside the API: a chat or a webhook."`
	Files          []files.ID `json:"files,omitempty" maxItems:"20" minLength:"1" maxLength:"64" doc:"Ids of files that belong to the question: uploads, or files of tasks that the token may see."`
	Run            *bool      `json:"run,omitempty" nullable:"false" doc:"'false' makes a shared context for agents from outside. Default: 'true'."`
	IdempotencyKey string     `json:"idempotency_key,omitempty" minLength:"1" maxLength:"200" doc:"Identifies the request, so that sending it again does not start a second task; or use the header Idempotency-Key."`
}

// Notify says where the outcome of a task goes.
type Notify struct {
	Chat    string `json:"chat,omitempty" minLength:"1" maxLength:"200" doc:"A chat that the token may see, such as 'slack:C1'."`
	Webhook string `json:"webhook,omitempty" minLength:"1" maxLength:"200" doc:"A webhook of the config ('alerts.webhooks') that the token may name."`
}

// service is n for the service; nil stays nil.
func (n *Notify) service() *api.Notify {
	if n == nil {
		return nil
	}
	return &api.Notify{Chat: n.Chat, Webhook: n.Webhook}
}

// TaskPath is the part of a request that names a task.
type TaskPath struct {
	ID string `path:"id" doc:"Id of the task."`
}

func (t TaskPath) id() tasks.ID { return tasks.ID(t.ID) }

type (
	startRequest struct {
		Key    string `header:"Idempotency-Key" maxLength:"200" doc:"Identifies the request, so that sending it again has no further effect; the same as 'idempotency_key' of the body. All calls of a token share their keys."`
		Prefer string `header:"Prefer" doc:"'wait=60': wait for up to so many seconds; at most 300."`
		Body   NewTask
	}
	startReply struct {
		Status   int
		Location string `header:"Location" doc:"The address of the task."`
		Replayed string `header:"Idempotent-Replayed" doc:"'true' when the key was used before for the same request."`
		Applied  string `header:"Preference-Applied" doc:"The time that the request could wait: 'wait=60'."`
		Body     api.Task
	}
	listRequest struct {
		State  []string `query:"state" enum:"queued,planning,working,waiting,answering,done,failed,stopped" doc:"Only tasks in one of these states, separated by commas."`
		Chat   string   `query:"chat" maxLength:"200" doc:"Only tasks of this chat, such as 'slack:C1' or 'api:ops'."`
		Person string   `query:"person" maxLength:"200" doc:"Only tasks that this person or token asked for, such as 'slack:U1' or 'api:ops'."`
		Group  string   `query:"group" maxLength:"200" doc:"Only tasks with a sub-task of this tool group."`
		Words  string   `query:"q" maxLength:"200" doc:"Only tasks whose goal has all of these words in its first 500 bytes."`
		Limit  int      `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"The largest number of entries in a page."`
		Cursor string   `query:"cursor" maxLength:"200" doc:"The 'next_cursor' of the page before."`
	}
	listReply struct {
		Body Page[api.TaskSummary]
	}
	waitRequest struct {
		TaskPath
		Prefer string `header:"Prefer" doc:"'wait=60': wait for up to so many seconds; at most 300."`
	}
	taskReply struct {
		Applied string `header:"Preference-Applied" doc:"The time that the request could wait: 'wait=60'."`
		Body    api.Task
	}
	retryRequest struct {
		TaskPath
		Key  string `header:"Idempotency-Key" maxLength:"200" doc:"Identifies the request, so that sending it again has no further effect; the same as 'idempotency_key' of the body. All calls of a token share their keys."`
		Body *Retry
	}
	answerRequest struct {
		TaskPath
		Prefer string `header:"Prefer" doc:"'wait=60': wait for up to so many seconds; at most 300."`
		Body   Answer
	}
)

// Retry is the body of a request to start a task again; it may be left out.
type Retry struct {
	IdempotencyKey string `json:"idempotency_key,omitempty" minLength:"1" maxLength:"200" doc:"Identifies the request, so that sending it again does not start another task; or use the header Idempotency-Key."`
}

// Answer is the body with the answer of an agent from outside.
type Answer struct {
	Text string `json:"text" minLength:"1" maxLength:"262144" doc:"The answer, in Markdown, at most 256 KiB."`
}

func (c *calls) start(ctx context.Context, in *startRequest) (*startReply, error) {
	key, err := idempotencyKey(in.Key, in.Body.IdempotencyKey)
	if err != nil {
		return nil, err
	}
	who := api.Caller(ctx)
	t, again, err := c.Service.Start(ctx, who, api.NewTask{
		Goal: in.Body.Goal, Groups: in.Body.Groups, Language: in.Body.Language, Notify: in.Body.Notify.service(),
		External: in.Body.Run != nil && !*in.Body.Run, Key: key, Files: in.Body.Files,
	})
	if err != nil {
		return nil, err
	}
	wait := preferredWait(in.Prefer)
	if wait > 0 {
		if t, err = c.await(ctx, who, t.ID, wait); err != nil {
			return nil, err
		}
	}
	out := started(t, again)
	out.Applied = applied(wait)
	return out, nil
}

// started is the reply to a request that starts a task; again says that an earlier
// request with the same key has started it.
func started(t api.Task, again bool) *startReply {
	out := &startReply{Status: http.StatusCreated, Location: "/v1/tasks/" + string(t.ID), Body: t}
	if again {
		out.Status, out.Replayed = http.StatusOK, "true"
	}
	return out
}

// await reads a task when it is over, at the latest after a while.
func (c *calls) await(ctx context.Context, who api.Principal, id tasks.ID, wait time.Duration) (api.Task, error) {
	bounded, done := c.waitContext(ctx, wait)
	defer done()
	t, err := c.Service.Wait(bounded, who, id)
	if err == nil && ctx.Err() != nil {
		err = ctx.Err() // the client is gone, or its token was revoked
	}
	return t, err
}

func (c *calls) list(ctx context.Context, in *listRequest) (*listReply, error) {
	before, err := after("tasks", in.Cursor)
	if err != nil {
		return nil, err
	}
	items, next, err := c.Service.List(ctx, api.Caller(ctx), api.Query{States: in.State, Chat: in.Chat, Person: in.Person, Group: in.Group, Words: in.Words, Before: tasks.ID(before), Limit: in.Limit})
	if err != nil {
		return nil, err
	}
	return &listReply{Body: page(items, cursor("tasks", string(next)))}, nil
}

func (c *calls) get(ctx context.Context, in *waitRequest) (*taskReply, error) {
	return c.withWait(ctx, in.Prefer, func(who api.Principal) (api.Task, error) {
		return c.Service.Get(ctx, who, in.id())
	})
}

func (c *calls) answer(ctx context.Context, in *answerRequest) (*taskReply, error) {
	return c.withWait(ctx, in.Prefer, func(who api.Principal) (api.Task, error) {
		return c.Service.Answer(ctx, who, in.id(), in.Body.Text)
	})
}

func (c *calls) cancel(ctx context.Context, in *waitRequest) (*taskReply, error) {
	return c.withWait(ctx, in.Prefer, func(who api.Principal) (api.Task, error) {
		return c.Service.Cancel(ctx, who, in.id())
	})
}

// withWait returns the task of do: at once, or when it is over if a Prefer header
// asks for that.
func (c *calls) withWait(ctx context.Context, prefer string, do func(api.Principal) (api.Task, error)) (*taskReply, error) {
	who, wait := api.Caller(ctx), preferredWait(prefer)
	t, err := do(who)
	if err == nil && wait > 0 {
		t, err = c.await(ctx, who, t.ID, wait)
	}
	return &taskReply{applied(wait), t}, err
}

func (c *calls) retry(ctx context.Context, in *retryRequest) (*startReply, error) {
	var body Retry
	if in.Body != nil {
		body = *in.Body
	}
	key, err := idempotencyKey(in.Key, body.IdempotencyKey)
	if err != nil {
		return nil, err
	}
	t, again, err := c.Service.Retry(ctx, api.Caller(ctx), in.id(), key)
	if err != nil {
		return nil, err
	}
	return started(t, again), nil
}

// idempotencyKey is the key of a request: in the header, in the body, or in both.
func idempotencyKey(header, body string) (string, error) {
	if header != "" && body != "" && header != body {
		return "", invalid("header.Idempotency-Key", "differs from idempotency_key of the body; send one of them, or the same key")
	}
	if !isStorable(header) {
		return "", invalid("header.Idempotency-Key", "has a NUL, or is not UTF-8")
	}
	return max(header, body), nil
}

func (c *calls) registerTasks(h huma.API) {
	again := reply{status: http.StatusOK, text: "The idempotency key was used before for the same request; this is the task as it is now.", withBody: true}
	register(c, h, operation{
		method: http.MethodPost, path: "/v1/tasks", id: "startTask", tag: "tasks", status: http.StatusCreated, waits: true,
		summary: "Start a task",
		text: "Legwork plans the task, works on it with the groups that the token may use, and answers. With `run: false` it makes a shared context instead: " +
			"agents from outside work on it until one of them hands in the answer.\n\nA request with an idempotency key can be sent again without starting a second task.",
		op: policy.OpStart, also: []reply{again},
		problems: []problem.Code{problem.KeyReused}, body: exampleNewTask(), answer: exampleTask(),
	}, c.start)
	register(c, h, operation{
		method: http.MethodGet, path: "/v1/tasks", id: "listTasks", tag: "tasks",
		summary: "List tasks", text: "The tasks that the token may see, the newest first. With `person`, `group` or `q` a page looks through 10,000 tasks at most: it may be short, or empty, although `next_cursor` is set.", op: policy.OpRead,
		answer: page([]api.TaskSummary{exampleListed()}, cursor("tasks", exampleID)),
	}, c.list)
	register(c, h, operation{
		method: http.MethodGet, path: "/v1/tasks/{id}", id: "getTask", tag: "tasks", waits: true,
		summary: "Read a task", text: "With `Prefer: wait=60` the reply comes when the task is over, at the latest after so many seconds (300 at most).", op: policy.OpRead,
		answer: exampleTask(),
	}, c.get)
	register(c, h, operation{
		method: http.MethodPost, path: "/v1/tasks/{id}/answer", id: "answerTask", tag: "tasks", waits: true,
		summary: "Hand in the answer", text: "Ends a task with `run: false`, on which agents from outside work.", op: policy.OpAnswer,
		problems: []problem.Code{problem.Conflict}, body: Answer{Text: "Three reviews agree; the draft is in the shared state."}, answer: exampleTask(),
	}, c.answer)
	register(c, h, operation{
		method: http.MethodPost, path: "/v1/tasks/{id}/cancel", id: "cancelTask", tag: "tasks", waits: true,
		summary: "Stop a task", text: "The answer says what was found until then. Stopping a task again changes nothing; a task that is done or failed is a conflict.",
		op: policy.OpCancel, problems: []problem.Code{problem.Conflict}, answer: exampleTask(),
	}, c.cancel)
	register(c, h, operation{
		method: http.MethodPost, path: "/v1/tasks/{id}/retry", id: "retryTask", tag: "tasks", status: http.StatusCreated,
		summary: "Retry a task", text: "Starts a new task with the goal of a task that is over.",
		op: policy.OpRetry, also: []reply{again},
		problems: []problem.Code{problem.Conflict, problem.KeyReused}, body: Retry{IdempotencyKey: "again-1"}, answer: exampleTask(),
	}, c.retry)
}
