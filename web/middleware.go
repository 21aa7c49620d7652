package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"legwork/internal/telemetry"
	"legwork/web/problem"
)

// middleware wraps the handling of all requests. It gives each request an id and a
// trace span, logs a panic and answers it with a 500 when nothing was written yet,
// and reports how the request went.
type middleware struct {
	next     http.Handler
	log      *slog.Logger
	served   func(route, method string, status int, took time.Duration)
	tracer   *telemetry.Tracer
	hasToken func(*http.Request) bool // whether the request has a valid token
}

// ServeHTTP implements http.Handler.
func (m middleware) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	start, id := time.Now(), requestID(r)
	ctx, cancel := context.WithCancel(telemetry.About(r.Context(), telemetry.Subject{Request: id}))
	defer cancel()
	w := &responseWriter{ResponseWriter: to}
	if r.Method == http.MethodHead {
		w.flushed = cancel // the reply to HEAD ends with its headers
	}
	for name, value := range map[string]string{
		"X-Request-Id":                 id,
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
		"Referrer-Policy":              "no-referrer",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Content-Security-Policy":      "default-src 'none'; frame-ancestors 'none'",
		"Cache-Control":                "no-store",
	} {
		w.Header().Set(name, value)
	}
	ctx, span := m.startSpan(ctx, r)
	r = r.WithContext(ctx)
	if r.ContentLength != 0 { // only in the copy of the request: the server looks at the body of the original one before it resets a connection
		w.body = &trackedBody{ReadCloser: r.Body}
		r.Body = w.body
	}
	defer endSpan(span, r.Method, w)
	defer m.report(w, r, id, start)
	defer m.recoverPanic(w, r, id)
	m.next.ServeHTTP(w, r)
}

// startSpan starts the span of a request to the API or to /mcp with a valid token.
// Probes and scrapes would fill the traces without telling anything.
func (m middleware) startSpan(ctx context.Context, r *http.Request) (context.Context, *telemetry.Span) {
	if !strings.HasPrefix(r.URL.Path, "/v1/") && r.URL.Path != pathMCP || m.tracer == nil || !m.hasToken(r) {
		return ctx, nil
	}
	ctx, span := m.tracer.Begin(ctx, telemetry.Server, r.Method, r.Header.Get("Traceparent"))
	span.Text(telemetry.Method, r.Method)
	return ctx, span
}

func endSpan(span *telemetry.Span, method string, w *responseWriter) {
	if w.route != "" {
		path := w.route[strings.IndexByte(w.route, ' ')+1:] // patterns begin with a method, except those for all methods
		span.Name(method + " " + path)
		span.Text(telemetry.Route, path)
	}
	span.Number(telemetry.StatusCode, w.status)
	if w.status >= http.StatusInternalServerError {
		span.Fail(strconv.Itoa(w.status))
	}
	span.End(nil)
}

func (m middleware) recoverPanic(w *responseWriter, r *http.Request, id string) {
	p := recover()
	if p == nil {
		return
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p) // a handler that panics with it wants the connection closed
	}
	m.log.ErrorContext(r.Context(), "handler panicked", "method", r.Method, "path", r.URL.Path, "request", id, "panic", p, "stack", string(debug.Stack()))
	if w.status != 0 {
		panic(http.ErrAbortHandler) // so that no client takes half a reply for a whole one
	}
	problem.New(problem.Internal, "").Write(w)
}

func (m middleware) report(w *responseWriter, r *http.Request, id string, start time.Time) {
	took, status := time.Since(start), w.status
	status = cmp.Or(status, http.StatusOK) // net/http sends it when a handler writes nothing
	if m.served != nil {
		m.served(w.route, r.Method, status, took)
	}
	m.log.DebugContext(r.Context(), "request served", "method", r.Method, "route", w.route, "status", status,
		"ms", took.Milliseconds(), "token", w.token, "request", id)
}

// requestID is the id of a request in the log: the X-Request-Id of the client or
// of a proxy when it is short and plain, otherwise a random one.
func requestID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	plain := len(id) > 0 && len(id) <= 64
	for _, c := range []byte(id) {
		plain = plain && (c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '_' || c == '.')
	}
	if plain {
		return id
	}
	return rand.Text()[:16]
}

// responseWriter records what happens to a reply.
type responseWriter struct {
	http.ResponseWriter
	status      int          // 0: the reply has not begun
	token       string       // name of the token of the request
	route       string       // pattern of the handler
	flushed     func()       // called after each flush; may be nil
	beforeWrite func() error // called before each write, which its error prevents; may be nil
	onForbidden func()       // called before the header of a reply with 403; may be nil
	body        *trackedBody // of the request; nil when it has none
}

// trackedBody is the body of a request that knows whether it was read.
type trackedBody struct {
	io.ReadCloser
	read bool // to its end
}

// Read implements io.Reader.
func (b *trackedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read = b.read || errors.Is(err, io.EOF)
	return n, err
}

// drainTime is how long the server waits for the rest of a body that no handler
// reads.
const drainTime = time.Second

// begin notes the status of a reply before its first byte. When the body of the
// request was not read, it closes the connection after the reply: otherwise the
// server would wait for the rest as long as for a request.
func (w *responseWriter) begin(status int) {
	if w.status != 0 {
		return
	}
	w.status = status
	if w.body != nil && !w.body.read {
		w.Header().Set("Connection", "close")
		_ = http.NewResponseController(w.ResponseWriter).SetReadDeadline(time.Now().Add(drainTime))
	}
}

// setRoute notes the pattern of the handler of a request.
func setRoute(w http.ResponseWriter, pattern string) {
	if w, ok := w.(*responseWriter); ok {
		w.route = pattern
	}
}

// Unwrap is for http.ResponseController.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *responseWriter) WriteHeader(status int) {
	if w.beforeWrite != nil && w.beforeWrite() != nil {
		return
	}
	if status == http.StatusForbidden && w.onForbidden != nil {
		w.onForbidden()
	}
	if status >= http.StatusOK {
		w.begin(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *responseWriter) Write(b []byte) (int, error) {
	if w.beforeWrite != nil {
		if err := w.beforeWrite(); err != nil {
			return 0, err
		}
	}
	w.begin(http.StatusOK)
	return w.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (w *responseWriter) Flush() { _ = w.FlushError() }

// FlushError is for http.ResponseController.
func (w *responseWriter) FlushError() error {
	if w.beforeWrite != nil {
		if err := w.beforeWrite(); err != nil {
			return err
		}
	}
	w.begin(http.StatusOK)
	err := http.NewResponseController(w.ResponseWriter).Flush()
	if w.flushed != nil {
		w.flushed()
	}
	return err
}

func replyJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // callers pass only texts and numbers
	}
	reply(w, status, "application/json", append(body, '\n'))
}

func reply(w http.ResponseWriter, status int, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone
}
