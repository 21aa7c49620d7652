// Package mcp offers what programs can do with tasks as tools of an MCP server,
// so that other agents delegate to legwork. It is a thin layer over package
// contexts: who calls, and what that may do, is decided there for each request.
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"legwork/tasks/contexts"
)

// Config is what a handler works with.
type Config struct {
	Service *contexts.Service
	Version string // of legwork, told to clients
	// Stop is closed when the process begins to stop: then calls that wait return.
	// Nil: never.
	Stop <-chan struct{}
	// Log hears of what went wrong inside. Nil: nobody does.
	Log *slog.Logger
}

const (
	maxBody   = 1 << 20
	writeTime = 30 * time.Second // of one write, after which the client is taken for gone
)

// New makes the handler of /mcp: streamable HTTP, in the current and the older
// revisions of the protocol. Who calls is contexts.Caller of each request's
// context. It keeps no sessions, so that a request may come after a restart, or
// to another replica, and no request can use what another one brought along.
func New(c Config) http.Handler {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	d := definitions()
	s := server.NewMCPServer("legwork", c.Version, server.WithToolCapabilities(false), server.WithInputSchemaValidation(),
		server.WithInstructions(d.Instructions), server.WithRecovery(), server.WithLogger(c.Log))
	(&desk{Service: c.Service, log: c.Log, stop: c.Stop, server: s}).add(d)
	return &handler{http: server.NewStreamableHTTPServer(s, server.WithStateLess(true), server.WithStreamableHTTPLogger(c.Log))}
}

// handler stands between net/http and the protocol.
type handler struct{ http *server.StreamableHTTPServer }

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		// There is nothing to listen to apart from requests, and no session to end:
		// the protocol has 405 for a server like that.
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "This MCP server has no sessions; send requests with POST.", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		http.Error(w, "The request has more than 1 MiB.", http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		http.Error(w, "The request ended too early.", http.StatusBadRequest)
		return
	}
	// A call may wait longer than a request usually may take.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	h.http.Handle(&writer{w, http.NewResponseController(w)}, &server.HTTPRequest{
		Method: r.Method, URL: r.URL, Header: r.Header, Body: body,
		Context: context.WithValue(r.Context(), argumentsKey{}, argumentsOf(body)),
	})
}

// writer gives each write a time of its own, and finds what flushes below other
// writers.
type writer struct {
	http.ResponseWriter
	control *http.ResponseController
}

// Write implements server.HTTPResponseWriter.
func (w *writer) Write(b []byte) (int, error) {
	//nolint:forbidigo // sockets go by the clock of the process
	_ = w.control.SetWriteDeadline(time.Now().Add(writeTime)) // without it the server's own holds
	return w.ResponseWriter.Write(b)
}

// Flush implements server.HTTPResponseWriter.
func (w *writer) Flush() { _ = w.control.Flush() }

// CanStream implements server.HTTPResponseWriter.
func (w *writer) CanStream() bool { return true }

type argumentsKey struct{}

// argumentsOf are the arguments of a call as they were sent: the library hands
// them on as values in which large numbers have lost digits.
func argumentsOf(body []byte) json.RawMessage {
	var call struct {
		Params struct {
			Arguments json.RawMessage `json:"arguments"`
		} `json:"params"`
	}
	_ = json.Unmarshal(body, &call) // the library says what is wrong with it
	return call.Params.Arguments
}
