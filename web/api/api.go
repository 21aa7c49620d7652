// Package api serves what programs can do with tasks over HTTP: the calls under
// /v1, their OpenAPI document, and a page that tells it to people.
package api

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"legwork/internal/telemetry"
	"legwork/tasks/api"
)

// Config says what to serve.
type Config struct {
	// Service does what is asked for. Who asks is api.Caller of a request's
	// context.
	Service *api.Service
	// Version is that of the program, for the document. Empty: "dev".
	Version string
	// Public is the address that programs reach it by, for the document. Empty: the
	// one that the document was fetched from.
	Public string
	// Stop is closed when the process begins to stop: then streams and long polls
	// end. Nil: they end with their requests alone.
	Stop <-chan struct{}
	// Heartbeat is how often a stream without messages says that it is alive. 0:
	// 15 s.
	Heartbeat time.Duration
	// Patience is how long one write to a client may take. 0: 30 s.
	Patience time.Duration
	// Metrics counts the streams. Nil: nobody does.
	Metrics *telemetry.Metrics
	// Log hears of what went wrong inside. Nil: nobody does.
	Log *slog.Logger
}

// API is the calls of a Config.
type API struct {
	calls calls
	// routes is made at the first request, since a process whose API nobody uses
	// needs no schemas in memory.
	routes func() routes
	// Pages are made once: they are for everybody, as often as they like.
	openAPI func() (file, error)
	docs    func() file
}

// routes leads requests to calls, and describes them.
type routes struct {
	mux      *http.ServeMux
	document *huma.OpenAPI
}

// calls are the handlers.
type calls struct {
	Config
	does  map[string]api.Op // by patterns of the mux
	lists map[string]bool   // parameters of queries that are lists, of whatever call
	turns chan struct{}     // one for each body that is made into values
}

// New makes an API.
func New(c Config) *API {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Version == "" {
		c.Version = "dev"
	}
	if c.Heartbeat == 0 {
		c.Heartbeat = 15 * time.Second
	}
	if c.Patience == 0 {
		c.Patience = 30 * time.Second
	}
	a := &API{calls: calls{c, map[string]api.Op{}, map[string]bool{}, make(chan struct{}, atOnce)}}
	a.routes = sync.OnceValue(a.build)
	a.docs = sync.OnceValue(func() file { return newFile("text/html; charset=utf-8", docsPage) })
	a.openAPI = sync.OnceValues(func() (file, error) {
		raw, err := json.Marshal(a.routes().document)
		return newFile("application/json", raw), err
	})
	return a
}

// build registers all calls.
func (a *API) build() routes {
	mux := http.NewServeMux()
	h := humago.New(mux, huma.Config{
		OpenAPI:                      a.calls.document(),
		Formats:                      map[string]huma.Format{"application/json": format(), "json": format()},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{a.calls.asProblem},
	})
	c := &a.calls
	c.registerTasks(h)
	c.registerContext(h)
	c.registerState(h)
	c.registerStreams(h)
	c.registerApprovals(h)
	c.registerReports(h)
	complete(h.OpenAPI())
	return routes{mux, h.OpenAPI()}
}

// format is JSON as it is read and written here. What is read was looked at by
// checkBody before.
func format() huma.Format {
	return huma.Format{Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: json.Unmarshal}
}

// OpenAPI is the document, as JSON.
func (a *API) OpenAPI() ([]byte, error) {
	p, err := a.openAPI()
	return p.body, err
}

// Handler serves every path under /v1/, those that lead nowhere included. Whoever
// mounts it bounds bodies and the time in which they arrive.
func (a *API) Handler() http.Handler { return http.HandlerFunc(a.serve) }

func (a *API) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	mux := a.routes().mux
	h, pattern := mux.Handler(r)
	if pattern == "" || !clean(r.URL.Path) {
		a.unrouted(w, r, h)
		return
	}
	r.Pattern = pattern // of the request that the caller has, whatever becomes of it here
	if p := cmp.Or(a.calls.permitted(r, pattern), a.calls.checkQuery(r), checkHeaders(r)); p != nil {
		p.Write(w)
		return
	}
	w, r, end := a.calls.turn(w, r)
	if end == nil {
		ended().Write(w)
		return
	}
	defer end()
	if p := checkBody(w, r); p != nil {
		p.Write(w)
		return
	}
	mux.ServeHTTP(w, r)
}
