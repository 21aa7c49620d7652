package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// httpExchange is the HTTP side of an exchange. On -http it is also the way
// back of the answer.
type httpExchange struct {
	w      http.ResponseWriter
	r      *http.Request
	plain  bool // -sse: requests carry none of the headers of streamable HTTP
	stream bool // answer with an event stream
	begun  bool
}

func (h *httpExchange) version() string { return h.r.Header.Get(mcp.HeaderProtocolVersion) }

// wrong says what is wrong with the headers of a request.
func (h *httpExchange) wrong(m message) string {
	accept := strings.Join(h.r.Header.Values("Accept"), ",")
	events := strings.Contains(accept, "text/event-stream")
	kind, _, _ := strings.Cut(h.r.Header.Get("Content-Type"), ";")
	switch {
	case h.r.Method == http.MethodGet && !events:
		return "header Accept has no text/event-stream: " + accept
	case h.r.Method != http.MethodPost:
		return ""
	case strings.TrimSpace(kind) != "application/json":
		return "header Content-Type is not application/json: " + kind
	case h.plain:
		return ""
	case !events || !strings.Contains(accept, "application/json"):
		return "header Accept wants application/json and text/event-stream: " + accept
	case mcp.IsModernProtocol(m.version()):
		return h.wrongModern(m)
	}
	return ""
}

// wrongModern compares the headers of revision 2026-07-28 with the message.
func (h *httpExchange) wrongModern(m message) string {
	name, named := mcp.ExtractHeaderName(mcp.MCPMethod(m.Method), m.Params)
	said, _ := mcp.DecodeHeaderValue(h.r.Header.Get(mcp.HeaderName))
	switch header := h.r.Header; {
	case h.version() != m.version():
		return fmt.Sprintf("header %s is %q, _meta says %q", mcp.HeaderProtocolVersion, h.version(), m.version())
	case header.Get(mcp.HeaderMethod) != m.Method:
		return fmt.Sprintf("header %s is %q", mcp.HeaderMethod, header.Get(mcp.HeaderMethod))
	case named && said != name:
		return fmt.Sprintf("header %s is %q, the message says %q", mcp.HeaderName, header.Get(mcp.HeaderName), name)
	case header.Get(mcp.HeaderSessionID) != "":
		return "header " + mcp.HeaderSessionID + " in a revision without sessions"
	}
	return ""
}

func (h *httpExchange) refuse(id json.RawMessage, r *refusal) {
	h.w.Header().Set("Content-Type", "application/json")
	if r.status == http.StatusMethodNotAllowed {
		h.w.Header().Set("Allow", http.MethodPost)
	}
	h.w.WriteHeader(r.status)
	_, _ = io.WriteString(h.w, r.message(validID(id)))
}

// begin writes the header once, and the beginning of an event each time.
func (h *httpExchange) begin() {
	if !h.begun && h.stream {
		h.w.Header().Set("Content-Type", "text/event-stream")
	} else if !h.begun {
		h.w.Header().Set("Content-Type", "application/json")
	}
	h.begun = true
	if h.stream {
		_, _ = io.WriteString(h.w, "event: message\ndata: ")
	}
}

func (h *httpExchange) write(begin, piece string, n int, end string) {
	h.begin()
	_, err := io.WriteString(h.w, begin)
	for i := 0; i < n && err == nil; i++ {
		_, err = io.WriteString(h.w, piece)
	}
	if h.stream {
		end += "\n\n"
	}
	_, _ = io.WriteString(h.w, end)
	h.flush()
}

func (h *httpExchange) part(text string) {
	if !h.begun {
		h.begin()
	}
	_, _ = io.WriteString(h.w, text)
	h.flush()
}

func (h *httpExchange) flush() { _ = http.NewResponseController(h.w).Flush() }

func (h *httpExchange) later(work func()) { work() }

func (h *httpExchange) accept() { h.w.WriteHeader(http.StatusAccepted) }

// exchangeKey is where the exchange is in the context of its request.
type exchangeKey struct{}

// sessionsByRequest finds the sessions on behalf of a request.
type sessionsByRequest struct{ gate *gate }

func (s sessionsByRequest) ResolveSessionIdManager(r *http.Request) server.SessionIdManager {
	x, _ := r.Context().Value(exchangeKey{}).(*exchange)
	return sessionsOf{s.gate, x}
}

func (f *fake) serveHTTP(addr string) error {
	library := server.NewStreamableHTTPServer(f.mcp, server.WithSessionIdManagerResolver(sessionsByRequest{f.gate}),
		server.WithStreamableHTTPProtocolVersions(f.versions()...), server.WithStreamableHTTPLogger(slog.New(slog.DiscardHandler)))
	mux := http.NewServeMux()
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/loop", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		session := r.Header.Get(mcp.HeaderSessionID)
		if r.Method == http.MethodGet && session != "" {
			ctx, cut := context.WithCancel(r.Context())
			defer cut()
			one := &stream{ResponseWriter: w, cut: cut}
			w, r = one, r.WithContext(ctx)
			f.streams.add(session, one)
			defer f.streams.remove(session, one)
		}
		h := &httpExchange{w: w, r: r, stream: f.stream}
		f.front(&exchange{session: session, back: h, http: h}, library)
	})
	return f.listen(addr, "/mcp", mux)
}

// front lets one HTTP request through to the library, or not.
func (f *fake) front(x *exchange, library http.Handler) {
	w, r := x.http.w, x.http.r
	if f.token != "" && r.Header.Get("Authorization") != "Bearer "+f.token {
		unauthorized(f, x)
		return
	}
	x.Method = r.Method
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		x.raw, x.message = body, readMessage(body)
	}
	r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	x.http.r = r
	if x.Method == "tools/call" && !x.http.plain {
		cancel := sync.OnceFunc(func() { f.cancel(x.session, x.ID) })
		stop := context.AfterFunc(r.Context(), cancel)
		defer func() {
			if stop(); r.Context().Err() != nil {
				cancel() // the call may end before AfterFunc had its turn
			}
		}()
	}
	if !f.take(x) || f.resume(x) {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(x.raw))
	library.ServeHTTP(w, r)
}

// listen serves until the process ends. The address is known before -delay has
// passed, but nothing listens there until then.
func (f *fake) listen(addr, path string, h http.Handler) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	url := "http://" + l.Addr().String() + path
	if f.delay > 0 {
		_ = l.Close()
	}
	fmt.Fprintln(os.Stderr, url)
	if f.addrFile != "" {
		if err := writeWhole(f.addrFile, url); err != nil {
			return err
		}
	}
	f.atStart()
	if f.delay > 0 {
		if l, err = net.Listen("tcp", l.Addr().String()); err != nil {
			return fmt.Errorf("listening again: %w", err)
		}
	}
	for f.fault == "deaf" {
		if _, err := l.Accept(); err != nil {
			return fmt.Errorf("accepting: %w", err)
		}
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	return s.Serve(l)
}

// writeWhole writes a file so that a reader sees all of it or nothing.
func writeWhole(name, text string) error {
	if err := os.WriteFile(name+".new", []byte(text), 0o600); err != nil {
		return fmt.Errorf("writing the address: %w", err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		return fmt.Errorf("writing the address: %w", err)
	}
	return nil
}
