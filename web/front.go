package web

import (
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

// front is what all requests pass first and last: it gives them a number, turns
// a panic into a line of the log and, when nothing was written yet, a 500, and
// notes what came of each.
type front struct {
	next   http.Handler
	log    *slog.Logger
	served func(route, method string, status int, took time.Duration)
	tracer *telemetry.Tracer
	knows  func(*http.Request) bool // whether it comes with a token
}

// ServeHTTP implements http.Handler.
func (f front) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	begun, id := time.Now(), requestID(r)
	ctx, cancel := context.WithCancel(telemetry.About(r.Context(), telemetry.Subject{Request: id}))
	defer cancel()
	w := &writer{ResponseWriter: to}
	if r.Method == http.MethodHead {
		w.flushed = cancel // there is nothing more to come
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
	ctx, span := f.begin(ctx, r)
	r = r.WithContext(ctx)
	if r.ContentLength != 0 { // of the copy: by the other one the server knows that it must not reset the connection
		w.body = &body{ReadCloser: r.Body}
		r.Body = w.body
	}
	defer finish(span, r.Method, w)
	defer f.note(w, r, id, begun)
	defer f.guard(w, r, id)
	f.next.ServeHTTP(w, r)
}

// begin begins the span of a request that asks for something: probes and scrapes
// are too many to be of interest, and strangers put nothing into traces.
func (f front) begin(ctx context.Context, r *http.Request) (context.Context, *telemetry.Span) {
	if !strings.HasPrefix(r.URL.Path, "/v1/") && r.URL.Path != "/mcp" || f.tracer == nil || !f.knows(r) {
		return ctx, nil
	}
	ctx, span := f.tracer.Begin(ctx, telemetry.Server, r.Method, r.Header.Get("Traceparent"))
	span.Text(telemetry.Method, r.Method)
	return ctx, span
}

func finish(span *telemetry.Span, method string, w *writer) {
	if w.route != "" {
		path := w.route[strings.IndexByte(w.route, ' ')+1:] // patterns begin with a method, but for those of all
		span.Name(method + " " + path)
		span.Text(telemetry.Route, path)
	}
	span.Number(telemetry.StatusCode, w.status)
	if w.status >= http.StatusInternalServerError {
		span.Fail(strconv.Itoa(w.status))
	}
	span.End(nil)
}

func (f front) guard(w *writer, r *http.Request, id string) {
	p := recover()
	if p == nil {
		return
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p) // how a handler asks for the connection to be closed
	}
	f.log.ErrorContext(r.Context(), "a handler panicked", "method", r.Method, "path", r.URL.Path, "request", id, "panic", p, "stack", string(debug.Stack()))
	if w.status != 0 {
		panic(http.ErrAbortHandler) // so that half a reply is not taken for a whole one
	}
	problem.New(problem.Internal, "").Write(w)
}

func (f front) note(w *writer, r *http.Request, id string, begun time.Time) {
	took, status := time.Since(begun), w.status
	if status == 0 {
		status = http.StatusOK // as net/http has it
	}
	if f.served != nil {
		f.served(w.route, r.Method, status, took)
	}
	f.log.DebugContext(r.Context(), "a request was answered", "method", r.Method, "route", w.route, "status", status,
		"ms", took.Milliseconds(), "token", w.token, "request", id)
}

// requestID is the name of a request in the log: the one that the client, or a
// proxy before us, gave it, when it is harmless, or one made up.
func requestID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	harmless := len(id) > 0 && len(id) <= 64
	for _, c := range []byte(id) {
		harmless = harmless && (c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '_' || c == '.')
	}
	if harmless {
		return id
	}
	return rand.Text()[:16]
}

// writer knows what became of a reply.
type writer struct {
	http.ResponseWriter
	status  int          // 0: the reply has not begun
	token   string       // name of the one that it was asked with
	route   string       // pattern of what answers
	flushed func()       // called when what there is was sent
	before  func() error // of each write, which it can forbid
	body    *body        // of the request; nil when it has none
}

// body is that of a request.
type body struct {
	io.ReadCloser
	read bool // to its end
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read = b.read || errors.Is(err, io.EOF)
	return n, err
}

// patience is how long the rest of a body is waited for that nobody wants.
const patience = time.Second

// begin begins a reply. Where the body was not read, the connection is closed after
// it: otherwise the server would wait for the rest as long as for a request.
func (w *writer) begin(status int) {
	if w.status != 0 {
		return
	}
	w.status = status
	if w.body != nil && !w.body.read {
		w.Header().Set("Connection", "close")
		_ = http.NewResponseController(w.ResponseWriter).SetReadDeadline(time.Now().Add(patience))
	}
}

// routed notes the pattern of what answers a request.
func routed(w http.ResponseWriter, pattern string) {
	if w, ok := w.(*writer); ok {
		w.route = pattern
	}
}

// Unwrap lets http.ResponseController reach what is below.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *writer) WriteHeader(status int) {
	if w.before != nil && w.before() != nil {
		return
	}
	if status >= http.StatusOK {
		w.begin(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *writer) Write(b []byte) (int, error) {
	if w.before != nil {
		if err := w.before(); err != nil {
			return 0, err
		}
	}
	w.begin(http.StatusOK)
	return w.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (w *writer) Flush() { _ = w.FlushError() }

// FlushError is what http.ResponseController calls.
func (w *writer) FlushError() error {
	if w.before != nil {
		if err := w.before(); err != nil {
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

func replyJSON(w http.ResponseWriter, status int, kind string, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // only texts and numbers come here
	}
	reply(w, status, kind, append(body, '\n'))
}

func reply(w http.ResponseWriter, status int, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write(body) // who asked may be gone
}
