// Package api is the HTTP API: the operations under /v1, their OpenAPI document, and
// a page that shows the document to people. It is a thin layer over tasks/api.
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
	"legwork/tasks/policy"
)

// Config is the configuration of an API. Only Service and Operations are needed.
type Config struct {
	// Service does the work. The context of a request says who calls: see api.Caller.
	Service *api.Service
	// Operations does the work of the calls about servers, models, people, schedules and
	// the process.
	Operations *api.Operations
	// ConfigFile is the config file, for admins. Nil: there is none.
	ConfigFile ConfigFile
	// Models builds prompts again and sums tasks up; nil: neither is there.
	Models api.Models
	// Version of the program, for the document. Empty: "dev".
	Version string
	// Public is the address of the API for programs, for the document. Empty: the
	// address that the document was fetched from.
	Public string
	// Stop is closed when the process begins to stop; then streams and long polls
	// end. Nil: they end with their requests.
	Stop <-chan struct{}
	// Heartbeat is the time between two signs of life in a stream without messages.
	// 0: 15 s.
	Heartbeat time.Duration
	// WriteTimeout limits one write to a client. 0: 30 s.
	WriteTimeout time.Duration
	// Metrics counts the streams; may be nil.
	Metrics *telemetry.Metrics
	// Log gets internal errors; may be nil.
	Log *slog.Logger
}

// API serves the operations of a Config.
type API struct {
	calls calls
	// routes is made by the first request, so that an unused API keeps no schemas in
	// memory.
	routes func() routes
	// Both files are made once, since anybody may fetch them as often as they like.
	openAPI func() (file, error)
	docs    func() file
}

type routes struct {
	mux      *http.ServeMux
	document *huma.OpenAPI
}

// calls are the handlers of the operations on tasks and files, and what all handlers share.
type calls struct {
	Config
	ops      map[string]policy.Op // by patterns of the mux; decide which roles may call
	lists    map[string]bool      // query parameters that are lists
	decoders chan struct{}        // holds a value for each body that is being decoded
}

// New makes an API.
func New(c Config) *API {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Version = cmp.Or(c.Version, "dev")
	c.Heartbeat = cmp.Or(c.Heartbeat, 15*time.Second)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 30*time.Second)
	a := &API{calls: calls{c, map[string]policy.Op{}, map[string]bool{}, make(chan struct{}, maxDecoding)}}
	a.routes = sync.OnceValue(a.build)
	a.docs = sync.OnceValue(func() file { return newFile("text/html; charset=utf-8", docsPage) })
	a.openAPI = sync.OnceValues(func() (file, error) {
		raw, err := json.Marshal(a.routes().document)
		return newFile("application/json", raw), err
	})
	return a
}

// build registers all operations.
func (a *API) build() routes {
	mux := http.NewServeMux()
	h := humago.New(mux, huma.Config{
		OpenAPI:                      a.calls.document(),
		Formats:                      map[string]huma.Format{"application/json": format(), "json": format()},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{a.calls.transformError},
	})
	c := &a.calls
	c.registerTasks(h)
	stepCalls{c, &api.Inspector{Service: c.Service, Models: c.Models}}.register(h)
	c.registerContext(h)
	c.registerState(h)
	c.registerStreams(h)
	c.registerApprovals(h)
	reportCalls{c}.register(h)
	c.registerFiles(h)
	operatorCalls{c}.register(h)
	connectionCalls{c}.register(h)
	configCalls{c}.register(h)
	complete(h.OpenAPI())
	return routes{mux, h.OpenAPI()}
}

// format is how JSON is written and read. checkBody has checked the JSON before.
func format() huma.Format {
	return huma.Format{Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: json.Unmarshal}
}

// OpenAPI returns the document as JSON.
func (a *API) OpenAPI() ([]byte, error) {
	p, err := a.openAPI()
	return p.body, err
}

// Handler serves every path under /v1/, unknown ones too. The server around it
// limits the size of bodies and the time in which they arrive.
func (a *API) Handler() http.Handler { return http.HandlerFunc(a.serve) }
