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
	"os"
	"path/filepath"
	"sync"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"legwork/llm"
)

// maxServerRequests is how many requests of a server are open at once.
const maxServerRequests = 32

// request is a request of a server.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// handleRequest answers a request of the server in a goroutine. ctx is that of the
// request on whose response it came, if any.
func (c *connection) handleRequest(ctx context.Context, raw []byte) {
	var r request
	if json.Unmarshal(raw, &r) != nil || len(r.ID) == 0 {
		return
	}
	f := sentRequestOf(ctx).call
	ctx, forget, ok := c.openRequests.open(c.ctx, string(r.ID))
	if !ok {
		c.log.Debug("too many requests of the server", "method", r.Method)
		return
	}
	c.spawn(func() {
		defer forget()
		result, err := c.answerRequest(ctx, f, r)
		if err := c.reply(r.ID, result, err); err != nil {
			c.log.Debug("reply to the server not sent", "method", r.Method, "cause", err)
		}
	})
}

// serverRequests are the open requests of a server.
type serverRequests struct {
	mu sync.Mutex
	by map[string]context.CancelFunc // by their ids as they are on the wire
}

// open adds a request. Its context ends with forget, and when the server cancels
// the request. ok is false when too many are open.
func (q *serverRequests) open(life context.Context, id string) (ctx context.Context, forget func(), ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.by) >= maxServerRequests {
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

// cancel ends a request that the server cancelled.
func (q *serverRequests) cancel(id any) {
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

// answerRequest does what a server asks for, during the call f or outside of any
// call, and returns the result or an *rpcError.
func (c *connection) answerRequest(ctx context.Context, f *inFlightCall, r request) (any, error) {
	switch r.Method {
	case string(mcp.MethodPing):
		return struct{}{}, nil
	case string(mcp.MethodListRoots):
		return c.roots()
	case string(mcp.MethodElicitationCreate):
		return c.elicit(ctx, c.callOf(f, r, func(f *inFlightCall) bool { return f.call.Ask != nil }), r.Params)
	case string(mcp.MethodSamplingCreateMessage):
		return c.sample(c.callOf(f, r, func(f *inFlightCall) bool { return f.call.Sample != nil }), r.Params)
	}
	return nil, &rpcError{code: mcp.METHOD_NOT_FOUND, message: "legwork does not offer " + clean(r.Method)}
}

// callOf finds the call that a request belongs to: the call on whose response it
// came, else the call of its progress token, else the best match.
func (c *connection) callOf(f *inFlightCall, r request, can func(*inFlightCall) bool) *inFlightCall {
	if f != nil {
		return f
	}
	var p struct {
		Meta struct {
			Token string `json:"progressToken"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(r.Params, &p)
	if f = c.inFlight.byToken(p.Meta.Token); f == nil {
		f = c.inFlight.bestMatch(can)
	}
	if f == nil {
		c.log.Warn("request of the server belongs to no single call", "method", r.Method)
	}
	return f
}

// reply answers a request of the server.
func (c *connection) reply(id json.RawMessage, result any, err error) error {
	answer := map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "id": id}
	var refused *rpcError
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
	if c.stdin != nil {
		_, err := c.stdin.Write(append(b, '\n'))
		return err
	}
	return c.http.post(c.ctx, b)
}

// post sends one message that has no answer.
func (k *httpTransport) post(ctx context.Context, message []byte) error {
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
	if version := k.protocol.Load(); version != nil {
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

// localAsker brings the questions of a server in this process to the call that
// they are part of.
type localAsker struct{ conn *connection }

// Elicit asks a person.
func (a localAsker) Elicit(ctx context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return answerLocal[mcp.ElicitationResult](ctx, a.conn, mcp.MethodElicitationCreate, r.Params)
}

// CreateMessage makes a model call.
func (a localAsker) CreateMessage(ctx context.Context, r mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	return answerLocal[mcp.CreateMessageResult](ctx, a.conn, mcp.MethodSamplingCreateMessage, r.CreateMessageParams)
}

func answerLocal[T any](ctx context.Context, c *connection, method mcp.MCPMethod, params any) (*T, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	result, err := c.answerRequest(ctx, sentRequestOf(ctx).call, request{Method: string(method), Params: raw})
	if err != nil {
		return nil, err
	}
	if raw, err = json.Marshal(result); err != nil {
		return nil, err
	}
	out := new(T)
	return out, json.Unmarshal(raw, out)
}

// invalidParams is the error for a request that cannot be read.
func invalidParams(err error) error {
	return &rpcError{code: mcp.INVALID_PARAMS, message: err.Error()}
}

// sample makes a model call that a server asks for.
func (c *connection) sample(f *inFlightCall, params json.RawMessage) (any, error) {
	if !c.cfg.Sampling || f == nil || f.call.Sample == nil {
		return nil, &rpcError{code: mcp.METHOD_NOT_FOUND, message: "legwork makes no model calls for this server; its admin can allow them (sampling)"}
	}
	s, err := readSampling(params)
	if err != nil {
		return nil, invalidParams(err)
	}
	s.Server = c.cfg.Name
	f.clock.pause() // people may have to agree, and the model takes its own time
	defer f.clock.resume()
	f.freeSlot()
	out, err := f.call.Sample(f.ctx, s)
	if err != nil {
		return nil, &rpcError{code: -1, message: "the model call was refused or failed"} // the reason is not for the server
	}
	return map[string]any{
		"role": "assistant", "model": out.Model, "stopReason": "endTurn",
		"content": map[string]string{"type": "text", "text": out.Text},
	}, nil
}

// maxSampling is how long a model call may be that a server asks for, in bytes: a
// person has to read it.
const maxSampling = 32 << 10

// readSampling reads the params of sampling/createMessage. Parts that are not
// text are described in words.
func readSampling(params json.RawMessage) (Sampling, error) {
	var p struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		System    string `json:"systemPrompt"`
		MaxTokens int    `json:"maxTokens"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return Sampling{}, fmt.Errorf("reading the model call: %w", err)
	}
	if len(p.Messages) == 0 {
		return Sampling{}, errors.New("a model call without messages")
	}
	s := Sampling{System: clean(p.System), MaxTokens: p.MaxTokens}
	for _, m := range p.Messages {
		if m.Role != "user" && m.Role != "assistant" {
			return Sampling{}, fmt.Errorf("legwork does not know messages of the role %q", clean(m.Role))
		}
		s.Messages = append(s.Messages, llm.Message{Role: m.Role, Content: contentText(m.Content)})
	}
	if size := s.size(); size > maxSampling {
		return Sampling{}, fmt.Errorf("a model call of %d bytes; the limit is %d", size, maxSampling)
	}
	return s, nil
}

func (s Sampling) size() int {
	n := len(s.System)
	for _, m := range s.Messages {
		n += len(m.Content)
	}
	return n
}

// roots answers roots/list with the folders of the config.
func (c *connection) roots() (any, error) {
	if len(c.cfg.Roots) == 0 {
		return nil, &rpcError{code: mcp.METHOD_NOT_FOUND, message: "legwork has no folders for this server; its admin can name some (roots)"}
	}
	type root struct {
		URI  string `json:"uri"`
		Name string `json:"name"`
	}
	all := []root{}
	for _, folder := range c.cfg.Roots {
		path, err := filepath.Abs(folder)
		if err != nil {
			continue
		}
		if st, err := os.Stat(path); err != nil || !st.IsDir() {
			c.log.Warn("root folder missing", "folder", folder)
			continue
		}
		u := url.URL{Scheme: "file", Path: filepath.ToSlash(path)}
		all = append(all, root{URI: u.String(), Name: filepath.Base(path)})
	}
	return map[string]any{"roots": all}, nil
}
