package llm

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"legwork/internal/retry"
	"legwork/internal/telemetry"
)

// Options are settings outside of the config. The zero value is for production.
type Options struct {
	// Log gets every attempt that failed, with the context of the call; may be nil.
	Log *slog.Logger
	// Transport carries the requests; nil: one that keeps connections alive
	// and takes its proxy from the environment.
	Transport http.RoundTripper
	// Offline carries the requests of the models that are offline; nil: there are none.
	Offline http.RoundTripper
	// Sleep waits between two attempts and returns early, with an error, when
	// ctx ends; nil: it really waits.
	Sleep func(ctx context.Context, d time.Duration) error
	// Now returns the time, which passes while Sleep waits; nil: time.Now.
	Now func() time.Time
	// Gate is asked before each attempt: while it returns an error, none is made,
	// and the call ends with the Problem Held. Nil: they are always made.
	Gate func() error
	// OnHealth is called once when a model becomes unavailable, and once when it is
	// available again. It must not block or call the models.
	OnHealth func(model string, h Health)
	// Metrics count calls and what they used; may be nil.
	Metrics *telemetry.Metrics
}

// Models are the configured models. They implement Model and are safe for
// concurrent use. Close them when no call is running any more.
type Models struct {
	config Config
	byName map[string]*endpoint
	client *http.Client
	log    *slog.Logger
	sleep  func(context.Context, time.Duration) error
	now    func() time.Time

	onHealth func(string, Health)
	gate     func() error
	metrics  *telemetry.Metrics
}

// endpoint is one configured model and what its endpoint turned out to support.
type endpoint struct {
	name       string
	config     ModelConfig
	doer       *doer
	client     *openai.Client
	tokenRatio tokenRatio
	measured   atomic.Bool // a whole reply has come
	quirks     quirks

	breaker *breaker
	paused  pauseUntil
}

// quirks are fields and sizes that an endpoint has refused; later requests leave
// them out.
type quirks struct {
	completionTokens atomic.Bool // wants max_completion_tokens
	noLimit          atomic.Bool // knows neither limit
	noStreamOptions  atomic.Bool
	noFormat         atomic.Bool  // refuses the response_format of calls other than chat
	briefTools       atomic.Bool  // takes short descriptions of tools only
	context          atomic.Int64 // holds fewer tokens than the config says; 0: not known
}

// New makes the models of a config. It does not connect. The error lists every
// mistake that cfg.Validate finds.
func New(cfg Config, opts Options) (*Models, error) {
	if err := cfg.Validate().Err(""); err != nil {
		return nil, fmt.Errorf("reading the models' config: %w", err)
	}
	opts = opts.withDefaults()
	m := &Models{
		config: cfg.WithDefaults(), byName: map[string]*endpoint{}, log: opts.Log, sleep: opts.Sleep, now: opts.Now,
		onHealth: opts.OnHealth, gate: opts.Gate, metrics: opts.Metrics,
		client: &http.Client{
			Transport:     opts.Transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	for name, config := range m.config.Models {
		client := m.client
		if config.Offline {
			if client = (&http.Client{Transport: opts.Offline}); opts.Offline == nil {
				return nil, fmt.Errorf("preparing model %q: this program has no offline model", name)
			}
		}
		e, err := newEndpoint(name, config, client, m.now)
		if err != nil {
			return nil, fmt.Errorf("preparing model %q: %w", name, err)
		}
		e.breaker = newBreaker(m.now, func(down bool) { m.healthChanged(e, down) })
		m.byName[name] = e
	}
	return m, nil
}

// withDefaults fills in what production uses.
func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Transport == nil {
		o.Transport = newTransport()
	}
	if o.Sleep == nil {
		o.Sleep = retry.Sleep
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

func newEndpoint(name string, config ModelConfig, client *http.Client, now func() time.Time) (*endpoint, error) {
	d, err := newDoer(name, config, client, now)
	if err != nil {
		return nil, err
	}
	c := openai.DefaultConfig(config.APIKey)
	c.BaseURL = config.BaseURL
	c.HTTPClient = d
	return &endpoint{name: name, config: config, doer: d, client: openai.NewClientWithConfig(c)}, nil
}

// newTransport is the standard one with room for parallel sub-tasks.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          128,
		MaxIdleConnsPerHost:   32,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   15 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}

// Close closes idle connections. Calls that run go on.
func (m *Models) Close() { m.client.CloseIdleConnections() }

// Names lists the configured models in alphabetical order.
func (m *Models) Names() []string { return m.config.Names() }

// Config is the config with every default filled in. It holds keys: do not
// print it.
func (m *Models) Config() Config { return m.config }

// find returns the model of a role or of a name; nil when there is none.
func (m *Models) find(roleOrName string) *endpoint {
	if name, ok := m.config.Roles[roleOrName]; ok {
		return m.byName[name]
	}
	return m.byName[roleOrName]
}

// choose returns the model that a request asks for.
func (m *Models) choose(r Request) (*endpoint, error) {
	if r.Model != "" {
		if e := m.byName[r.Model]; e != nil {
			return e, nil
		}
		return nil, fmt.Errorf("no model is named %q; there are: %s", r.Model, strings.Join(m.Names(), ", "))
	}
	if e := m.byName[m.config.Roles[r.Role]]; e != nil {
		return e, nil
	}
	return nil, fmt.Errorf("no model has the role %q; set roles.%s", r.Role, r.Role)
}

// chain is a model, its fallbacks, their fallbacks and so on, each once.
func (m *Models) chain(first *endpoint) (chain []*endpoint) {
	for _, name := range m.config.chain(first.name) {
		chain = append(chain, m.byName[name])
	}
	return chain
}
