package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"legwork/internal/clip"
	"legwork/tasks/api"
)

// request is what the endpoint reads of a request before the library does.
type request struct {
	callID
	method    string
	version   string          // of the protocol; empty in older revisions
	able      bool            // it declares what the client can do
	tool      string          // that is called
	arguments json.RawMessage // of a tool; the library does not get them
	hops      float64         // how often one legwork has passed the work to the next
	cancelled callID          // of notifications/cancelled
}

type requestKey struct{}

// parseRequest reads a request.
func parseRequest(r *http.Request, body []byte) request {
	var sent struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
			Request   json.RawMessage `json:"requestId"`
			Meta      struct {
				Hops    float64                    `json:"legwork/hops"`
				Version string                     `json:"io.modelcontextprotocol/protocolVersion"`
				Able    map[string]json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
			} `json:"_meta"`
		} `json:"params"`
	}
	_ = json.Unmarshal(body, &sent) // the library reports mistakes
	client := callID{caller: api.Caller(r.Context()).Key(), session: r.Header.Get(sessionHeader)}
	return request{
		callID: client.with(sent.ID), method: sent.Method, version: sent.Params.Meta.Version, able: sent.Params.Meta.Able != nil, tool: sent.Params.Name,
		arguments: sent.Params.Arguments, hops: sent.Params.Meta.Hops, cancelled: client.with(sent.Params.Request),
	}
}

// agrees reports whether the headers say the same as the message, which the library
// checks where it answers (MCP 2026-07-28, "Streamable HTTP", "Standard Headers").
func (r request) agrees(h http.Header) bool {
	if r.version == "" {
		return !mcp.IsModernProtocol(h.Get(mcp.HeaderProtocolVersion))
	}
	name, ok := mcp.DecodeHeaderValue(h.Get(mcp.HeaderName))
	return r.able && ok && name == r.tool && h.Get(mcp.HeaderMethod) == r.method &&
		mcp.IsModernProtocol(r.version) && mcp.IsValidProtocolVersion(r.version) && h.Get(mcp.HeaderProtocolVersion) == r.version
}

// unknownTool is the reply to a call of a tool that does not exist. The library would
// say so twice.
func (r request) unknownTool() refusal {
	status := http.StatusOK
	if mcp.IsModernProtocol(r.version) {
		status = http.StatusBadRequest // MCP 2026-07-28, "Streamable HTTP"
	}
	return r.failure(status, mcp.INVALID_PARAMS, fmt.Sprintf("There is no tool %q; tools/list names those that you may use.", clip.Bytes(r.tool, 100)))
}

// scopeMissing is the reply to a call that the access token does not allow, but one of the
// same person with another scope would. The server around the handler names the scope
// (MCP 2026-07-28, "Authorization").
func (r request) scopeMissing(scope string) refusal {
	return r.failure(http.StatusForbidden, mcp.INVALID_REQUEST, fmt.Sprintf("The access token does not allow the tool %q; one with the scope %q may.", r.tool, scope))
}

// failure is a reply with an error of JSON-RPC.
func (r request) failure(status, code int, message string) refusal {
	id := json.RawMessage(r.id)
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "id": id, "error": map[string]any{"code": code, "message": message}})
	if err != nil {
		return refusal{http.StatusBadRequest, "The request cannot be read."}
	}
	return refusal{status, string(text)}
}

// hops is how often one legwork has passed the work of a request to the next.
func hops(ctx context.Context) int {
	sent, _ := ctx.Value(requestKey{}).(request)
	return int(max(0, min(sent.hops, 1<<20)))
}

// maxEnvelope limits the bytes of a request besides the arguments of a tool.
const maxEnvelope = 16 << 10

// withoutArguments removes the arguments of a tool from a request. The library would
// decode them before their size is checked, and large numbers would lose digits.
func withoutArguments(body []byte) []byte {
	var whole, params map[string]json.RawMessage
	if json.Unmarshal(body, &whole) != nil || json.Unmarshal(whole["params"], &params) != nil || params["arguments"] == nil {
		return body
	}
	params["arguments"] = json.RawMessage("{}")
	text, err := json.Marshal(params)
	if err == nil {
		whole["params"] = text
		text, err = json.Marshal(whole)
	}
	if err != nil {
		return body
	}
	return text
}

// sessionHeader holds the session that a client of older protocol revisions got in the
// reply to initialize (MCP 2025-06-18, "Session Management"). Here it only tells
// clients apart that use the same request ids, so that any value will do.
const sessionHeader = "Mcp-Session-Id"

// setSession gives a client of older protocol revisions a session.
func setSession(w http.ResponseWriter) { w.Header().Set(sessionHeader, rand.Text()) }

// callID identifies a running call, so that its client can cancel it.
type callID struct{ caller, session, id string }

func (c callID) with(id json.RawMessage) callID {
	c.id = string(id)
	return c
}

// runningCalls are the calls of clients of older protocol revisions. These clients
// cancel a call by a notification; clients of the current revision, which has no
// sessions, close the connection.
type runningCalls struct {
	mu      sync.Mutex
	cancels map[callID]*context.CancelFunc
}

// begin returns a context that ends when the call is canceled. end must be called.
func (c *runningCalls) begin(ctx context.Context, id callID) (_ context.Context, end func()) {
	if id.session == "" {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancels == nil {
		c.cancels = map[callID]*context.CancelFunc{}
	}
	c.cancels[id] = &cancel
	return ctx, func() {
		cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.cancels[id] == &cancel { // a client may use an id twice
			delete(c.cancels, id)
		}
	}
}

// cancel cancels a call if it is running.
func (c *runningCalls) cancel(id callID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.cancels[id]; cancel != nil {
		(*cancel)()
	}
}

// maxDecoding is how many requests or arguments are decoded at once: decoded values can
// take many times the memory of their text.
const maxDecoding = 8

// decoders holds a value for each of them.
type decoders chan struct{}

// acquire waits until there is room. After that release must be called; an error is
// that of ctx.
func (t decoders) acquire(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t decoders) release() { <-t }
