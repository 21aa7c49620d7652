// Package mcp offers what programs can do with tasks as tools of an MCP server,
// so that other agents delegate to legwork. It is a thin layer over package
// contexts: who calls, and what that may do, is decided there for each request.
package mcp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/server"

	"legwork/tasks/api"
)

// Config is what a handler works with.
type Config struct {
	Service *api.Service
	Version string // of legwork, told to clients
	// Stop is closed when the process begins to stop: then calls that wait return.
	// Nil: never.
	Stop <-chan struct{}
	// Refused hears when the role of a token may not use a tool. Nil: nobody does.
	Refused func(ctx context.Context, p api.Principal, tool string)
	// Log hears of what went wrong inside. Nil: nobody does.
	Log *slog.Logger
}

// New makes the handler of /mcp: streamable HTTP, in the current and the older
// revisions of the protocol. Who calls is api.Caller of each request's
// context. It keeps no sessions, so that a request may come after a restart, or
// to another replica, and no request can use what another one brought along. The
// name of one that older clients are given only says which call they give up.
// Whoever mounts it bounds bodies and the time of each write, not that of a
// request: calls wait as long as they are asked to.
func New(c Config) http.Handler {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	h := &handler{turns: make(turns, atOnce)}
	h.protocol = sync.OnceValue(func() http.Handler {
		o := definitions()
		d := &desk{Service: c.Service, log: c.Log, stop: c.Stop, calls: &h.calls, refused: c.Refused, turns: h.turns}
		d.server = server.NewMCPServer("legwork", c.Version, server.WithToolCapabilities(false),
			server.WithInstructions(o.Instructions), server.WithToolFilter(d.usable))
		d.add(o)
		return server.NewStreamableHTTPServer(d.server, server.WithStateLess(true),
			server.WithDisableLocalhostProtection(true),                    // package web looks at Host
			server.WithStreamableHTTPLogger(slog.New(slog.DiscardHandler))) // it tells which clients are gone
	})
	return h
}

// handler stands between net/http and the protocol.
type handler struct {
	// protocol is made by the first request: where nobody uses the endpoint, it
	// takes no memory.
	protocol func() http.Handler
	calls    calls
	turns    turns
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		// There is nothing to listen to apart from requests, and no session to end:
		// the protocol has 405 for a server like that.
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "This MCP server has no sessions; send requests with POST.", http.StatusMethodNotAllowed)
		return
	}
	sent, body, wrong := h.read(r)
	if wrong != nil {
		wrong.write(w)
		return
	}
	switch sent.method {
	case "notifications/cancelled": // the library would take it from anybody
		h.calls.giveUp(sent.cancelled)
		w.WriteHeader(http.StatusAccepted)
		return
	case "initialize":
		greet(w)
	}
	r = r.WithContext(context.WithValue(r.Context(), requestKey{}, sent))
	r.Body = io.NopCloser(bytes.NewReader(body))
	h.protocol().ServeHTTP(w, r)
}

// read reads a request, when it is its turn, and returns what the library is to read
// of it.
func (h *handler) read(r *http.Request) (sent request, without []byte, wrong *refusal) {
	if h.turns.begin(r.Context()) != nil {
		return sent, nil, &refusal{http.StatusServiceUnavailable, "The request was ended."}
	}
	defer h.turns.end()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return sent, nil, &refusal{http.StatusBadRequest, "The request ended too early."}
	}
	body = lean(body)
	if bytes.HasPrefix(body, []byte("[")) {
		return sent, nil, &refusal{http.StatusBadRequest, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Batches are not taken; send each request by itself."}}`}
	}
	sent, without = requestOf(r, body), bare(body)
	if around := max(len(without), len(body)-len(sent.arguments)); around > maxAround { // neither alone holds for names that are there twice
		return sent, nil, &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("The request has %d bytes besides the arguments of a tool; %d are allowed.", around, maxAround)}
	}
	return sent, without, nil
}

// refusal is a reply to what the library does not see: a sentence, or JSON.
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
	_, _ = io.WriteString(w, f.text) // who asked may be gone
}
