package api

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"legwork/tasks/api"
	"legwork/web/problem"
)

// NewMessage is the body that adds to a context.
type NewMessage struct {
	Type           string          `json:"type" enum:"plan,thought,action,tool_call,tool_result,observation,human_input,delegation,status_update,error" doc:"What it is. 'human_input' of a person is guidance; 'goal', 'approval' and 'answer' come of other calls."`
	Content        json.RawMessage `json:"content" doc:"Any JSON, at most 64 KiB."`
	IdempotencyKey string          `json:"idempotency_key,omitempty" minLength:"1" maxLength:"200" doc:"Names the request, so that it can be sent again without adding twice; or header Idempotency-Key. It is one for all calls of a token: begin it with the id of the task."`
}

// Typed is what a request says that wants messages of some types only.
type Typed struct {
	Type []string `query:"type" enum:"goal,plan,thought,action,tool_call,tool_result,observation,human_input,approval,delegation,status_update,answer,error" doc:"Only messages of these types, with commas between them."`
}

// Content is a part of what one message says.
type Content struct {
	Seq    int    `json:"seq" doc:"Number of the message."`
	Part   string `json:"part" doc:"JSON text from 'offset' on; the parts put together are the whole."`
	Offset int    `json:"offset" doc:"Where the part begins, in bytes."`
	Bytes  int    `json:"content_bytes" doc:"Length of the whole content."`
	Next   *int   `json:"next_offset" doc:"Where the next part begins; null at the end."`
}

type (
	contextRequest struct {
		Addressed
		After int `query:"after" minimum:"0" doc:"Only what is newer than this."`
		Typed
		Limit int `query:"limit" minimum:"1" maximum:"1000" default:"200" doc:"At most so many."`
	}
	contextReply struct {
		Body api.Context
	}
	contentRequest struct {
		Addressed
		Seq    int `path:"seq" minimum:"1" doc:"Number of the message."`
		Offset int `query:"offset" minimum:"0" doc:"Where in the content to begin, in bytes."`
		Limit  int `query:"limit" minimum:"4" maximum:"262144" default:"65536" doc:"At most so many."`
	}
	contentReply struct {
		Body Content
	}
	addRequest struct {
		Addressed
		Key  string `header:"Idempotency-Key" maxLength:"200" doc:"Names the request, so that it can be sent again without being done twice; the same as 'idempotency_key' of the body. One for all calls of a token."`
		Body NewMessage
	}
	addReply struct {
		Status   int
		Replayed string `header:"Idempotent-Replayed" doc:"'true' when the key was used before for the same request: it is that message."`
		Body     api.Message
	}
)

func (c *calls) context(ctx context.Context, in *contextRequest) (*contextReply, error) {
	got, err := c.Service.Context(ctx, api.Caller(ctx), in.id(), api.ContextQuery{After: in.After, Types: in.Type, Limit: in.Limit})
	return &contextReply{got}, err
}

func (c *calls) content(ctx context.Context, in *contentRequest) (*contentReply, error) {
	part, next, bytes, err := c.Service.Content(ctx, api.Caller(ctx), in.id(), in.Seq, in.Offset, in.Limit)
	if err != nil {
		return nil, err
	}
	out := Content{Seq: in.Seq, Part: part, Offset: in.Offset, Bytes: bytes}
	if next > 0 {
		out.Next = &next
	}
	return &contentReply{out}, nil
}

func (c *calls) add(ctx context.Context, in *addRequest) (*addReply, error) {
	key, err := idempotencyKey(in.Key, in.Body.IdempotencyKey)
	if err != nil {
		return nil, err
	}
	m, again, err := c.Service.Add(ctx, api.Caller(ctx), in.id(), api.NewMessage{Type: in.Body.Type, Content: in.Body.Content, Key: key})
	if err != nil {
		return nil, err
	}
	if again {
		return &addReply{Status: http.StatusOK, Replayed: "true", Body: m}, nil
	}
	return &addReply{Status: http.StatusCreated, Body: m}, nil
}

func (c *calls) registerContext(h huma.API) {
	register(c, h, operation{
		method: http.MethodGet, path: "/v1/tasks/{id}/context", id: "getContext", tag: "context",
		summary: "Read the context", does: api.OpRead,
		text: "The messages of the task, in order, and its shared state. A message whose content had to be shortened says how long the whole of it is (`content_bytes`); " +
			"`/v1/tasks/{id}/context/{seq}` has it in parts. Go on with `after={next_after}` while that is no null.",
		answer: exampleContext(),
	}, c.context)
	register(c, h, operation{
		method: http.MethodGet, path: "/v1/tasks/{id}/context/{seq}", id: "getContent", tag: "context",
		summary: "Read a long message", does: api.OpRead,
		text:   "The content of one message as JSON text, in parts that end between characters: put together they are the whole. Go on with `offset={next_offset}`.",
		answer: Content{Seq: 7, Part: `{"text":"The beginning of a long`, Offset: 0, Bytes: 48213, Next: new(32)},
	}, c.content)
	register(c, h, operation{
		method: http.MethodPost, path: "/v1/tasks/{id}/messages", id: "addMessage", tag: "context", status: http.StatusCreated,
		summary: "Add to the context", does: api.OpAdd,
		text:     "The next decision sees it. The sender comes from the token. `human_input` of a person is guidance: a decision under way is made anew with it. Everything else is data.",
		also:     []reply{{status: http.StatusOK, text: "The idempotency key was used before for the same request: that message.", bodied: true}},
		problems: []problem.Code{problem.Conflict, problem.KeyReused}, body: NewMessage{Type: "observation", Content: json.RawMessage(`{"text":"Two of the three sources agree."}`)}, answer: exampleMessage(),
	}, c.add)
}
