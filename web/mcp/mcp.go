// Package mcp is an MCP server whose tools start and follow tasks, so that other agents
// can delegate work to legwork. It is a thin layer over tasks/api, which decides for
// each request what the caller may do.
package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"legwork/tasks/api"
)

// Config is the configuration of the handler. Only Service is needed.
type Config struct {
	Service *api.Service
	Version string // of legwork, for clients
	// Stop is closed when the process begins to stop; then waiting calls return. May be
	// nil.
	Stop <-chan struct{}
	// Refused is called when the role of a token may not use a tool; may be nil.
	Refused func(ctx context.Context, p api.Principal, tool string)
	// Log gets internal errors; may be nil.
	Log *slog.Logger
}

// New makes the handler of /mcp: streamable HTTP, in the current and older revisions
// of the protocol. The context of a request says who calls: see api.Caller. The
// handler keeps no sessions, so that a request may arrive after a restart or at
// another replica. The session of older clients only identifies the calls that they
// cancel. The server around the handler limits the size of bodies and the time of
// each write, but not that of a request: calls wait as long as the caller asks.
func New(c Config) http.Handler {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	e := &endpoint{decoders: make(decoders, maxDecoding), stop: c.Stop}
	e.protocol = sync.OnceValues(func() (http.Handler, map[string]tool) {
		o := definitions()
		h := &handlers{Service: c.Service, log: c.Log, stop: c.Stop, calls: &e.calls, refused: c.Refused, decoders: e.decoders}
		h.server = server.NewMCPServer("legwork", c.Version, server.WithToolCapabilities(false), server.WithResourceCapabilities(false, false),
			server.WithInstructions(o.Instructions), server.WithToolFilter(h.visible))
		h.addTools(o)
		h.addFiles()
		return server.NewStreamableHTTPServer(h.server, server.WithStateLess(true),
			server.WithDisableLocalhostProtection(true),                             // package web checks Host
			server.WithStreamableHTTPLogger(slog.New(slog.DiscardHandler))), h.tools // it logs disconnected clients
	})
	return e
}

// endpoint reads each request before the protocol library does.
type endpoint struct {
	// protocol is the library's handler, and the tools by name. The first request makes
	// both, so that an unused endpoint takes no memory.
	protocol func() (http.Handler, map[string]tool)
	calls    runningCalls
	decoders decoders
	stop     <-chan struct{}
}

// ServeHTTP implements http.Handler.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		// A server without sessions and without a stream of its own answers GET and
		// DELETE with 405 (MCP 2025-06-18, "Streamable HTTP").
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "This MCP server has no sessions; send requests with POST.", http.StatusMethodNotAllowed)
		return
	}
	sent, body, wrong := e.read(r)
	if wrong != nil {
		wrong.write(w)
		return
	}
	switch sent.method {
	case "notifications/cancelled": // the library would accept it from any caller
		e.calls.cancel(sent.cancelled)
		w.WriteHeader(http.StatusAccepted)
		return
	case "initialize":
		setSession(w)
	}
	protocol, tools := e.protocol()
	if sent.method == string(mcp.MethodToolsCall) && sent.agrees(r.Header) {
		caller := api.Caller(r.Context())
		switch called, known := tools[sent.tool]; {
		case !known:
			sent.unknownTool().write(w)
			return
		case caller.Wider != "" && caller.Allowed(called.op) != nil:
			sent.scopeMissing(caller.Wider).write(w)
			return
		}
	}
	if sent.listens(r.Header) {
		e.listen(w, r, json.RawMessage(sent.id))
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), requestKey{}, sent))
	r.Body = io.NopCloser(bytes.NewReader(body))
	protocol.ServeHTTP(w, r)
}

// read reads a request. It returns the body for the library, which is without the
// arguments of a tool.
func (e *endpoint) read(r *http.Request) (sent request, without []byte, wrong *refusal) {
	if e.decoders.acquire(r.Context()) != nil {
		return sent, nil, &refusal{http.StatusServiceUnavailable, "The request was ended."}
	}
	defer e.decoders.release()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return sent, nil, &refusal{http.StatusBadRequest, "The request did not arrive completely."}
	}
	body = bytes.TrimSpace(body)
	if bytes.HasPrefix(body, []byte("[")) {
		return sent, nil, &refusal{http.StatusBadRequest, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Batches are not supported; send each request by itself."}}`}
	}
	sent, without = parseRequest(r, body), withoutArguments(body)
	if size := max(len(without), len(body)-len(sent.arguments)); size > maxEnvelope { // both, since either is wrong for repeated names
		return sent, nil, &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("The request has %d bytes besides the arguments of a tool; %d are allowed.", size, maxEnvelope)}
	}
	return sent, without, nil
}

// refusal is a reply to a request that the library does not get: a sentence, or JSON.
type refusal struct {
	status int
	text   string
}

func (f refusal) write(w http.ResponseWriter) {
	if !strings.HasPrefix(f.text, "{") {
		http.Error(w, f.text, f.status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.status)
	_, _ = io.WriteString(w, f.text) // the client may be gone
}
