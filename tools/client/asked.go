package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// maxAsked is how many requests of a server are answered at once.
const maxAsked = 32

// request is what a server asks of legwork.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// asked takes a request of the server; it is called where messages are read,
// with the context of the request on whose response it came, if any.
func (c *connection) asked(ctx context.Context, raw []byte) {
	var r request
	if json.Unmarshal(raw, &r) != nil || len(r.ID) == 0 {
		return
	}
	f := sentBy(ctx).flight
	ctx, forget, ok := c.questions.open(c.life, string(r.ID))
	if !ok {
		c.log.Debug("the server asks too much at once", "method", r.Method)
		return
	}
	c.spawn(func() {
		defer forget()
		result, err := c.fulfil(ctx, f, r)
		if err := c.reply(r.ID, result, err); err != nil {
			c.log.Debug("the server does not take an answer", "method", r.Method, "err", err)
		}
	})
}

// questions are the requests of a server that are not answered yet.
type questions struct {
	mu sync.Mutex
	by map[string]context.CancelFunc // by their ids as they are on the wire
}

// open notes a question. Its context ends with forget, and when the server asks
// no more. ok is false when too many are open.
func (q *questions) open(life context.Context, id string) (ctx context.Context, forget func(), ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.by) >= maxAsked {
		return nil, nil, false
	}
	if q.by == nil {
		q.by = map[string]context.CancelFunc{}
	}
	ctx, cancel := context.WithCancel(life)
	q.by[id] = cancel
	return ctx, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		cancel()
		delete(q.by, id)
	}, true
}

// withdrawn ends a question that the server does not want an answer to.
func (q *questions) withdrawn(id any) {
	key, err := json.Marshal(id)
	if err != nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if cancel := q.by[string(key)]; cancel != nil {
		cancel()
	}
}

// fulfil does what a server asks for, in the midst of the call f or at any time,
// and returns the result or a refusal.
func (c *connection) fulfil(ctx context.Context, f *flight, r request) (any, error) {
	switch r.Method {
	case string(mcp.MethodPing):
		return struct{}{}, nil
	case string(mcp.MethodListRoots):
		return c.roots()
	case string(mcp.MethodElicitationCreate):
		return c.elicit(ctx, c.belongs(f, r, func(f *flight) bool { return f.call.Ask != nil }), r.Params)
	case string(mcp.MethodSamplingCreateMessage):
		return c.sample(c.belongs(f, r, func(f *flight) bool { return f.call.Sample != nil }), r.Params)
	}
	return nil, &refusal{code: mcp.METHOD_NOT_FOUND, message: "legwork does not offer " + clean(r.Method)}
}

// belongs finds the call that a request is part of: that on whose response it
// came, or else what the connection knows.
func (c *connection) belongs(f *flight, r request, can func(*flight) bool) *flight {
	if f != nil {
		return f
	}
	var p struct {
		Meta struct {
			Token string `json:"progressToken"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(r.Params, &p)
	if f = c.flights.named(p.Meta.Token); f == nil {
		f = c.flights.likely(can)
	}
	if f == nil {
		c.log.Warn("the server asks something in the course of no call in particular", "method", r.Method)
	}
	return f
}

// reply answers a request of the server.
func (c *connection) reply(id json.RawMessage, result any, err error) error {
	answer := map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "id": id}
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		answer["error"] = map[string]any{"code": refused.code, "message": refused.message}
	case err != nil:
		answer["error"] = map[string]any{"code": mcp.INTERNAL_ERROR, "message": err.Error()}
	default:
		answer["result"] = result
	}
	b, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	if c.outbox != nil {
		_, err := c.outbox.Write(append(b, '\n'))
		return err
	}
	return c.courier.post(c.life, b)
}

// post sends one message that has no answer.
func (k *courier) post(ctx context.Context, message []byte) error {
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	to := k.address
	if k.endpoint != nil {
		to = k.endpoint()
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(message))
	if err != nil {
		return errors.Unwrap(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if version := k.agreed.Load(); version != nil {
		r.Header.Set(transport.HeaderKeyProtocolVersion, *version)
	}
	if k.session != nil && k.session() != "" {
		r.Header.Set(transport.HeaderKeySessionID, k.session())
	}
	resp, err := (&http.Client{Transport: k, CheckRedirect: k.redirect}).Do(r)
	if err != nil {
		var address *url.Error
		if errors.As(err, &address) {
			err = address.Err
		}
		return fmt.Errorf("answering the server: %w", err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.Body.Close()
}
