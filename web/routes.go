package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"runtime/debug"
)

// routes are what is served, by exact path.
type routes map[string]route

type route struct {
	method string // GET also serves HEAD
	http.Handler
}

// ServeHTTP implements http.Handler.
func (to routes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	one, ok := to[r.URL.Path]
	if !ok {
		problem(w, http.StatusNotFound, "")
		return
	}
	if r.Method != one.method && (one.method != http.MethodGet || r.Method != http.MethodHead) {
		w.Header().Set("Allow", one.method)
		problem(w, http.StatusMethodNotAllowed, "")
		return
	}
	one.ServeHTTP(w, r)
}

func webhooks(hooks map[string]http.Handler) routes {
	to := routes{}
	for path, h := range hooks {
		to[path] = route{http.MethodPost, h}
	}
	return to
}

// probes answer whether the process works at all, and whether all of its parts
// do.
func probes(health func() map[string]error) routes {
	if health == nil {
		health = func() map[string]error { return nil }
	}
	return routes{
		"/healthz": {http.MethodGet, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			reply(w, http.StatusOK, "text/plain; charset=utf-8", []byte("ok"))
		})},
		"/readyz": {http.MethodGet, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			ready(w, health())
		})},
	}
}

func ready(w http.ResponseWriter, health map[string]error) {
	answer := struct {
		Status string            `json:"status"`
		Parts  map[string]string `json:"parts"`
	}{"ready", make(map[string]string, len(health))}
	status := http.StatusOK
	for part, err := range health {
		answer.Parts[part] = "ok"
		if err != nil {
			answer.Parts[part] = err.Error()
			answer.Status, status = "not ready", http.StatusServiceUnavailable
		}
	}
	replyJSON(w, status, "application/json", answer)
}

// problem is an error as RFC 9457 has it.
func problem(w http.ResponseWriter, status int, detail string) {
	replyJSON(w, status, "application/problem+json", struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail,omitempty"`
	}{"about:blank", http.StatusText(status), status, detail})
}

func replyJSON(w http.ResponseWriter, status int, kind string, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // only texts and numbers come here
	}
	reply(w, status, kind, append(body, '\n'))
}

func reply(w http.ResponseWriter, status int, kind string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // who asked may be gone
}

// guard turns a panic of a handler into a line of the log and, when nothing was
// written yet, a 500.
func (s *Server) guard(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := &writer{ResponseWriter: w}
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(p) // how a handler asks for the connection to be closed
			}
			s.log.ErrorContext(r.Context(), "a handler panicked", "method", r.Method, "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
			if seen.wrote {
				panic(http.ErrAbortHandler) // so that half a reply is not taken for a whole one
			}
			problem(w, http.StatusInternalServerError, "")
		}()
		h.ServeHTTP(seen, r)
	})
}

// writer knows whether a reply has begun.
type writer struct {
	http.ResponseWriter
	wrote bool
}

// Unwrap lets http.ResponseController reach what is below.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *writer) WriteHeader(status int) {
	w.wrote = w.wrote || status >= http.StatusOK
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *writer) Write(b []byte) (int, error) {
	w.wrote = true
	return w.ResponseWriter.Write(b)
}
