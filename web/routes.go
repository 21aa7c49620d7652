package web

import (
	"maps"
	"net/http"
	"strings"

	"legwork/web/problem"
)

// routes are what is open to all, by exact path.
type routes map[string]route

type route struct {
	method string // GET also serves HEAD
	http.Handler
	anyHost bool // whatever host the request names
}

// mount is what is served at one address.
type mount struct {
	routes
	hosts
	door *door // to what needs a token; nil where there is nothing of it
}

// ServeHTTP implements http.Handler.
func (m mount) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	one, open := m.routes[r.URL.Path]
	if !one.anyHost && !m.answers(r.Host) {
		problem.New(problem.Host, "Nothing is served here under the name that the request gives as its host. If others are to reach legwork under it, set http.public_url to it in the config.").Write(w)
		return
	}
	switch {
	case open:
		one.serve(w, r)
	case m.door != nil && m.door.leads(r.URL.Path):
		m.door.ServeHTTP(w, r)
	case m.routes["/docs"].Handler != nil:
		problem.New(problem.NotFound, "There is nothing at this address; /docs lists all calls.").Write(w)
	default:
		problem.New(problem.NotFound, "").Write(w)
	}
}

func (one route) serve(w http.ResponseWriter, r *http.Request) {
	allow := one.method
	if allow == http.MethodGet {
		allow = "GET, HEAD"
	}
	if r.Method != one.method && (one.method != http.MethodGet || r.Method != http.MethodHead) {
		problem.WriteMethod(w, r, allow)
		return
	}
	routed(w, one.method+" "+r.URL.Path)
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	one.ServeHTTP(w, r)
}

// add serves more.
func (m mount) add(more routes) { maps.Copy(m.routes, more) }

// docs adds the pages about the API.
func (m mount) docs(h http.Handler) {
	if h == nil {
		return
	}
	for _, path := range []string{"/openapi.json", "/docs"} {
		m.routes[path] = route{method: http.MethodGet, Handler: h}
	}
}

func webhooks(hooks map[string]http.Handler) routes {
	to := routes{}
	for path, h := range hooks {
		to[path] = route{http.MethodPost, h, true}
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
		}), true},
		"/readyz": {http.MethodGet, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			ready(w, health())
		}), false},
	}
}

func ready(w http.ResponseWriter, health map[string]error) {
	answer := struct {
		Status string            `json:"status"`
		Parts  map[string]string `json:"parts"`
	}{isReady, make(map[string]string, len(health))}
	for part, err := range health {
		answer.Parts[part], answer.Status = standing(answer.Status, err)
	}
	status := http.StatusOK
	if answer.Status == isNot {
		status = http.StatusServiceUnavailable
	}
	replyJSON(w, status, "application/json", answer)
}

// leads reports whether a path is behind the door.
func (d *door) leads(path string) bool { return d.behind(path) != nil }

// behind is what serves a path; nil for nothing.
func (d *door) behind(path string) http.Handler {
	switch {
	case strings.HasPrefix(path, "/v1/"):
		return d.api
	case path == "/mcp":
		return d.mcp
	case path == "/metrics":
		return d.metrics
	}
	return nil
}
