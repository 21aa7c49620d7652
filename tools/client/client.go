// Package client speaks to MCP servers: in this process, on standard input and
// output, and by HTTP. It supervises each Server in the background and bounds
// everything that a server sends. A server that is dead, hangs, floods, lies or
// changes harms only its own calls.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	mcpserver "github.com/mark3labs/mcp-go/server"

	"legwork/internal/form"
	"legwork/internal/redact"
	"legwork/llm"
)

// Config says how one server is reached: Local, Command or URL is set.
type Config struct {
	Name string // for logs and errors

	Local *mcpserver.MCPServer // in this process

	Command string            // a program on standard input and output; looked up in PATH
	Args    []string          // its arguments
	Env     map[string]string // added to the variables that it inherits (see EnvAllowed)
	Cwd     string            // its working directory; empty: that of legwork
	Sandbox *Sandbox          // what it may use of the disk; nil: all that legwork's user may

	URL     string            // of a remote server: streamable HTTP, or SSE when that is set
	Headers map[string]string // sent with each request to URL
	SSE     bool              // URL speaks HTTP+SSE of revision 2024-11-05
	Auth    Authorizer        // signs the requests to URL; nil: Headers suffice

	Protocol string   // MCP revision such as 2025-11-25; empty: found out
	Keep     int      // bytes kept of a result; 0: 1 MiB
	Roots    []string // folders that the server gets when it asks for them (roots/list)
	Sampling bool     // it may ask for calls of a model; Call.Sample decides about each
}

// Options are common to all servers. The zero value is usable.
type Options struct {
	Log          *slog.Logger  // nil: nothing is logged
	Version      string        // of legwork, sent to servers
	Guard        *ProcessGuard // ends the processes when this one dies; nil: nothing does
	RestartDelay time.Duration // before the first restart of a failed server, doubled up to a minute; 0: 500 ms
	ProbeTimeout time.Duration // how long a server may take to answer server/discover; 0: 5 s
	Health       time.Duration // between two looks at an idle server; 0: 1 minute
	OnCatalog    func()        // called after each new Catalog, by one goroutine at a time; may be nil
}

// New prepares a server; Run starts it. A local one tells at once what it offers.
func New(cfg Config, o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.RestartDelay == 0 {
		o.RestartDelay = 500 * time.Millisecond
	}
	if o.ProbeTimeout == 0 {
		o.ProbeTimeout = 5 * time.Second
	}
	if o.Health == 0 {
		o.Health = time.Minute
	}
	if o.Guard == nil {
		o.Guard = NewProcessGuard(o.Log)
	}
	if cfg.Keep == 0 {
		cfg.Keep = 1 << 20
	}
	secrets := redact.New(cfg.secrets())
	log := slog.New(redact.Handler(o.Log.Handler(), secrets)).With("server", cfg.Name)
	s := &Server{
		name: cfg.Name, delay: o.RestartDelay, log: log, revision: cfg.Protocol, sse: cfg.SSE, health: o.Health,
		state: Starting, stateChanged: make(chan struct{}), idle: make(chan struct{}), onCatalog: o.OnCatalog,
		secrets: secrets,
		dialer:  dialer{cfg: cfg, guard: o.Guard, log: log, version: o.Version, probeTimeout: o.ProbeTimeout},
	}
	if cfg.Local == nil {
		s.slots = make(chan struct{}, maxAtOnce)
		return s, nil
	}
	var err error
	s.static, err = staticCatalog(cfg.Local)
	return s, err
}

// secrets are the values of the config that errors must not repeat.
func (c Config) secrets() []string {
	all := slices.AppendSeq(slices.Collect(maps.Values(c.Env)), maps.Values(c.Headers))
	for _, v := range c.Headers {
		if _, token, ok := strings.Cut(v, " "); ok {
			all = append(all, token)
		}
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return all
	}
	for _, values := range u.Query() {
		all = append(all, values...)
	}
	if password, ok := u.User.Password(); ok {
		all = append(all, password)
	}
	return all
}

// Call is one call of a tool.
type Call struct {
	Tool       string          // the server's name of it
	Arguments  json.RawMessage // a JSON object; empty: {}
	Definition string          // Hash that the tool must still have, see ErrChanged; empty: any
	Timeout    time.Duration   // working time: it does not run while a person is asked
	Keep       int             // bytes kept of the result's text
	Meta       map[string]any  // sent along as _meta

	// Progress gets reports of progress, one at a time; nil: none are requested.
	Progress func(Progress)
	// Ask brings a question that the server asks during the call to a person,
	// which may take hours; nil: such questions are declined. Its error ends the
	// call.
	Ask func(context.Context, form.Question) (form.Answer, error)
	// AskTarget identifies the person that Ask asks. Where a server does not say to
	// which of several calls its question belongs, legwork asks only if they all
	// have the same target.
	AskTarget string
	// Sample makes a model call that the server asks for; nil: refused.
	Sample func(context.Context, Sampling) (Sampled, error)
	// Resume goes on with a call whose Result had a Question, or whose state Began got;
	// nil: a new call.
	Resume *Resume
	// Began gets the state of a call that the server does as a task of the protocol,
	// before anything else is done about it. A call with Resume goes on with the task,
	// in another process too. Its error ends the call. With Began the task is cancelled
	// only when the call takes too long or ErrWithdrawn is the cause of the end of ctx;
	// without, whenever ctx ends. May be nil.
	Began func(ctx context.Context, state json.RawMessage) error
}

// Resume answers a question that a server returned in place of a result, which the
// stateless revisions allow, or goes on with a task of the server. The answer may come
// hours or a restart later.
type Resume struct {
	State  json.RawMessage // Result.State of the call before, or what Began got
	Answer form.Answer     // zero when no question was asked
}

// Progress is how far a call is. Total is 0 where it is not known.
type Progress struct {
	Done, Total float64
	Message     string
}

// Sampling is a model call that a server asks for.
type Sampling struct {
	Server    string
	System    string
	Messages  []llm.Message // of the roles user and assistant
	MaxTokens int
}

// Sampled is the reply to a Sampling.
type Sampled struct{ Model, Text string }

// Prompt is a prompt that a server offers to people.
type Prompt struct {
	Name, Title, Description string
	Arguments                []PromptArgument
}

// PromptArgument is one argument of a Prompt.
type PromptArgument struct {
	Name, Description string
	Required          bool
}

// staticCatalog is the catalog of a server in this process that is not running: a
// planner needs it before the first connection.
func staticCatalog(b *mcpserver.MCPServer) (*Catalog, error) {
	hello := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"legwork","version":"1"}}}`
	reply, err := json.Marshal(b.HandleMessage(context.Background(), json.RawMessage(hello)))
	if err != nil {
		return nil, err
	}
	var greeting struct {
		Result struct {
			Instructions string `json:"instructions"`
		} `json:"result"`
	}
	if err := json.Unmarshal(reply, &greeting); err != nil {
		return nil, err
	}
	page := struct {
		Tools []any `json:"tools"`
	}{}
	for _, t := range b.ListTools() {
		page.Tools = append(page.Tools, t.Tool)
	}
	raw, err := json.Marshal(page)
	if err != nil {
		return nil, err
	}
	cat, left := newCatalog(greeting.Result.Instructions, [][]byte{raw}, false)
	if len(left) > 0 {
		return nil, errors.New(strings.Join(left, "; "))
	}
	return cat, nil
}
