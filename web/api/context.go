package api

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"legwork/files"
	"legwork/tasks/api"
	"legwork/tasks/policy"
	"legwork/web/problem"
)

// NewMessage is the body of a message to add to a context.
type NewMessage struct {
	Type           string          `json:"type" enum:"plan,thought,action,tool_call,tool_result,observation,human_input,delegation,status_update,error" doc:"The type. 'human_input' of a person is guidance. Other calls make 'goal', 'approval' and 'answer'."`
	Content        json.RawMessage `json:"content" doc:"Any JSON, at most 64 KiB."`
	Files          []files.ID      `json:"files,omitempty" maxItems:"20" minLength:"1" maxLength:"64" doc:"Ids of files that belong to the message: uploads, or files of tasks that the token may see."`
	IdempotencyKey string          `json:"idempotency_key,omitempty" minLength:"1" maxLength:"200" doc:"Identifies the request, so that sending it again does not add a second message; or use the header Idempotency-Key. All calls of a token share their keys: begin it with the id of the task."`
}

// TypeFilter is the part of a request that selects types of messages.
type TypeFilter struct {
	Type []string `query:"type" enum:"goal,plan,thought,action,tool_call,tool_result,observation,human_input,approval,delegation,status_update,answer,error" doc:"Only messages of these types, separated by commas."`
}

// ContentPart is a part of the content of one message.
type ContentPart struct {
	Seq    int    `json:"seq" doc:"Number of the message."`
	Part   string `json:"part" doc:"JSON text from 'offset' on. All parts together are the whole content."`
	Offset int    `json:"offset" doc:"Where the part begins, in bytes."`
	Bytes  int    `json:"content_bytes" doc:"Length of the whole content."`
	Next   *int   `json:"next_offset" doc:"Where the next part begins; null at the end."`
}

type (
	contextRequest struct {
		TaskPath
		After int `query:"after" minimum:"0" doc:"Only newer entries than this one."`
		TypeFilter
		Limit int `query:"limit" minimum:"1" maximum:"1000" default:"200" doc:"The largest number of entries in a page."`
	}
	contextReply struct {
		Body api.Context
	}
	contentRequest struct {
		TaskPath
		Seq    int `path:"seq" minimum:"1" doc:"Number of the message."`
		Offset int `query:"offset" minimum:"0" doc:"Where in the content to begin, in bytes."`
		Limit  int `query:"limit" minimum:"4" maximum:"262144" default:"65536" doc:"The largest number of bytes in a part."`
	}
	contentReply struct {
		Body ContentPart
	}
	addRequest struct {
		TaskPath
		Key  string `header:"Idempotency-Key" maxLength:"200" doc:"Identifies the request, so that sending it again has no further effect; the same as 'idempotency_key' of the body. All calls of a token share their keys."`
		Body NewMessage
	}
	addReply struct {
		Status   int
		Replayed string `header:"Idempotent-Replayed" doc:"'true' when the key was used before for the same request."`
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
	out := ContentPart{Seq: in.Seq, Part: part, Offset: in.Offset, Bytes: bytes}
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
	m, again, err := c.Service.Add(ctx, api.Caller(ctx), in.id(), api.NewMessage{Type: in.Body.Type, Content: in.Body.Content, Files: in.Body.Files, Key: key})
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
		summary: "Read the context", op: policy.OpRead,
		text: "The messages of the task, in order, and its shared state. When the content of a message is shortened, `content_bytes` is its whole length; " +
			"read it in parts at `/v1/tasks/{id}/context/{seq}`. For more messages, repeat the call with `after={next_after}` until that is null.",
		answer: exampleContext(),
	}, c.context)
	register(c, h, operation{
		method: http.MethodGet, path: "/v1/tasks/{id}/context/{seq}", id: "getContent", tag: "context",
		summary: "Read a long message", op: policy.OpRead,
		text:   "The content of one message as JSON text, in parts that end between characters. For the next part, repeat the call with `offset={next_offset}`.",
		answer: ContentPart{Seq: 7, Part: `{"text":"The beginning of a long`, Offset: 0, Bytes: 48213, Next: new(32)},
	}, c.content)
	register(c, h, operation{
		method: http.MethodPost, path: "/v1/tasks/{id}/messages", id: "addMessage", tag: "context", status: http.StatusCreated,
		summary: "Add to the context", op: policy.OpAdd,
		text:     "The next decision sees the message. The token says who the sender is. `human_input` of a person is guidance and restarts a running decision. Everything else is data.",
		also:     []reply{{status: http.StatusOK, text: "The idempotency key was used before for the same request; this is the message of then.", withBody: true}},
		problems: []problem.Code{problem.Conflict, problem.KeyReused}, body: NewMessage{Type: "observation", Content: json.RawMessage(`{"text":"Two of the three sources agree."}`)}, answer: exampleMessage(),
	}, c.add)
}
