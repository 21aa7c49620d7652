package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"legwork/internal/telemetry"
	"legwork/tools/builtin"
	"legwork/tools/client"
	"legwork/tools/oauth"
)

// Options are what a Manager needs beside its Config. The zero value is usable.
type Options struct {
	Log          *slog.Logger       // nil: nothing is logged
	Version      string             // of legwork, sent to servers
	Now          func() time.Time   // the clock of the built-in servers; nil: time.Now
	RestartDelay time.Duration      // before the first restart of a failed server, doubled up to a minute; 0: 500 ms
	ProbeTimeout time.Duration      // how long a server may take to answer server/discover; 0: 5 s
	Base         string             // folder that relative paths in options of built-in servers are seen from; empty: the working directory
	Data         string             // folder for the files of built-in servers; empty: the working directory
	Authorizers  Authorizers        // sign in where people have to do so; nil: such servers stay down
	Known        Known              // stores the accepted definitions of tools; nil: in memory
	Metrics      *telemetry.Metrics // count calls; may be nil
	OnChange     func(Change)       // called for each newly quarantined tool, one at a time; nil: the Manager only logs it
}

// Authorizers sign requests with the sign-ins of people.
type Authorizers interface {
	// Authorizer signs the requests of a person to a server at which people sign in;
	// empty: those of the shared sign-in.
	Authorizer(server, person string, cfg ServerConfig) client.Authorizer
}

// Manager runs the servers of a Config and hands out snapshots of it. Its
// methods are safe for concurrent use.
type Manager struct {
	o           Options
	set         atomic.Pointer[Set]
	guard       *client.ProcessGuard
	definitions *definitionLog
	prompts     *promptTexts
	people      *people
	failures    failures

	catalogChanged chan struct{}                   // holds one token when a catalog is new
	lastReported   map[string]map[string]time.Time // of quarantined tools, by server and tool; only reportChanges uses it

	reload sync.Mutex // held by the one Reload that is under way

	mu      sync.Mutex
	life    context.Context //nolint:containedctx // of Run; nil before it
	stop    map[*client.Server]context.CancelFunc
	running sync.WaitGroup
}

// reloadWait is how long a reload waits for new servers before it swaps.
const reloadWait = 10 * time.Second

// ErrStopped is returned by Reload when Run has ended.
var ErrStopped = errors.New("the servers are stopped")

// New prepares the servers of a valid Config; Run starts them. An invalid
// Config is an error that lists every Issue.
func New(cfg Config, o Options) (*Manager, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	m := &Manager{
		o: o, guard: client.NewProcessGuard(o.Log), definitions: newDefinitionLog(o.Known, o.Log), prompts: newPromptTexts(),
		catalogChanged: make(chan struct{}, 1), lastReported: map[string]map[string]time.Time{}, stop: map[*client.Server]context.CancelFunc{},
	}
	m.people = &people{open: m.newServer, start: m.start, servers: map[personServer]*personal{}}
	set, _, err := m.build(cfg, nil)
	if err != nil {
		return nil, err
	}
	m.set.Store(set)
	return m, nil
}

// SignedIn starts the connections at once that a sign-in opens or a sign-out closes:
// those of a person, or of everybody without one.
func (m *Manager) SignedIn(server, person string) {
	s := m.people.get(server, person)
	if member := m.Set().servers[server]; person == "" && member != nil {
		s = member.Server
	}
	if s != nil {
		s.RetryNow()
	}
}

// SignsIn reports whether people sign in at a server of the newest snapshot.
func (m *Manager) SignsIn(server string) bool {
	s := m.Set().servers[server]
	return s != nil && s.auth.Asks()
}

// Set is the newest snapshot.
func (m *Manager) Set() *Set { return m.set.Load() }

// Groups is Set.Groups of the newest snapshot.
func (m *Manager) Groups() []Group { return m.Set().Groups() }

// Tools is Set.Tools of the newest snapshot.
func (m *Manager) Tools(ctx context.Context, group, person string) ([]Tool, error) {
	return m.Set().Tools(ctx, group, person)
}

// Find is Set.Find of the newest snapshot.
func (m *Manager) Find(ctx context.Context, group, person, query string) ([]string, error) {
	return m.Set().Find(ctx, group, person, query)
}

// SignIns is Set.SignIns of the newest snapshot.
func (m *Manager) SignIns(group, person string) []SignIn { return m.Set().SignIns(group, person) }

// Verdict is Set.Verdict of the newest snapshot.
func (m *Manager) Verdict(ctx context.Context, group, person, tool string, arguments json.RawMessage) Verdict {
	return m.Set().Verdict(ctx, group, person, tool, arguments)
}

// Call is Set.Call of the newest snapshot.
func (m *Manager) Call(ctx context.Context, c Call) (Result, error) { return m.Set().Call(ctx, c) }

// Prompts is Set.Prompts of the newest snapshot.
func (m *Manager) Prompts(ctx context.Context, group string) ([]Prompt, error) {
	return m.Set().Prompts(ctx, group)
}

// Prompt is Set.Prompt of the newest snapshot.
func (m *Manager) Prompt(ctx context.Context, group, name string, arguments map[string]string) (string, error) {
	return m.Set().Prompt(ctx, group, name, arguments)
}

// Run starts all servers in the background and supervises them until ctx ends.
// It returns nil after every process and goroutine it started has ended. It is
// called once.
func (m *Manager) Run(ctx context.Context) error {
	defer m.guard.Close()
	defer m.running.Wait()
	life, cancel := context.WithCancel(ctx)
	defer func() {
		m.mu.Lock() // a server is started before this, or never
		defer m.mu.Unlock()
		cancel()
	}()
	m.startAll(life)
	m.running.Go(func() { m.watchCatalogs(life) })
	sweep := time.NewTicker(personIdle / 10)
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-sweep.C:
			m.retire(m.people.idle(now))
		}
	}
}

// startAll starts the servers that were made before Run.
func (m *Manager) startAll(life context.Context) {
	m.reload.Lock() // no server is retired before it is started
	defer m.reload.Unlock()
	m.mu.Lock()
	m.life = life
	m.mu.Unlock()
	for _, s := range m.Set().servers {
		_ = m.start(s.Server) // fails only when life has ended
	}
	m.people.startAll()
}

// start runs a server that does not run yet. Before Run it does nothing: Run starts all
// servers. After Run it returns ErrStopped.
func (m *Manager) start(s *client.Server) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.life == nil || m.stop[s] != nil:
		return nil
	case m.life.Err() != nil:
		return ErrStopped
	}
	life, cancel := context.WithCancel(m.life)
	m.stop[s] = cancel
	m.running.Go(func() { s.Run(life) })
	return nil
}

// retire stops servers when their last call has returned.
func (m *Manager) retire(servers []*client.Server) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.life.Err() != nil {
		return // they stop now
	}
	for _, s := range servers {
		stop, idle := m.stop[s], s.Retire()
		delete(m.stop, s)
		m.running.Go(func() {
			select {
			case <-idle:
			case <-m.life.Done():
			}
			stop()
		})
	}
}

// watchCatalogs reads prompts and reports changes after each new catalog, until ctx
// ends.
func (m *Manager) watchCatalogs(ctx context.Context) {
	for {
		m.readPrompts(ctx, m.Set(), &m.running)
		m.reportChanges(ctx)
		select {
		case <-ctx.Done():
			return
		case <-m.catalogChanged:
		}
	}
}

// onCatalog wakes watchCatalogs.
func (m *Manager) onCatalog() {
	select {
	case m.catalogChanged <- struct{}{}:
	default: // it is awake already
	}
}

// Reload replaces the config: it connects new servers, swaps the snapshot, and
// closes each removed server when its last call has returned. Servers with the
// same settings keep running. On error nothing has changed. Reload waits ten
// seconds for new servers, or until ctx ends, and then swaps in also those that
// are not ready.
func (m *Manager) Reload(ctx context.Context, cfg Config) error {
	m.reload.Lock()
	defer m.reload.Unlock()
	old := m.Set()
	set, fresh, err := m.build(cfg, old)
	if err != nil {
		return err
	}
	m.mu.Lock()
	if m.life == nil { // Run will start the newest set
		m.set.Store(set)
		m.mu.Unlock()
		return nil
	}
	m.mu.Unlock()
	for _, s := range fresh {
		if err := m.start(s); err != nil {
			return err
		}
	}
	short, cancel := context.WithTimeout(ctx, reloadWait)
	defer cancel()
	for _, s := range fresh {
		if err := s.WaitReady(short); errors.Is(err, context.DeadlineExceeded) { // the server logs other errors itself
			m.o.Log.Warn("new server not ready", "server", s.Name(), "cause", err)
		}
	}
	var reading sync.WaitGroup
	m.readPrompts(short, set, &reading)
	reading.Wait()
	m.set.Store(set)
	m.onCatalog()
	var gone []*client.Server
	for name, s := range old.servers {
		if next := set.servers[name]; next == nil || next.Server != s.Server {
			gone = append(gone, s.Server)
			gone = append(gone, m.people.take(func(of personServer, _ *personal) bool { return of.server == name })...)
		}
	}
	m.retire(gone)
	return nil
}

// build makes the snapshot of cfg. It keeps the servers of old whose settings are
// the same; fresh are the others.
func (m *Manager) build(cfg Config, old *Set) (set *Set, fresh []*client.Server, err error) {
	if err := cfg.Validate().Err(""); err != nil {
		return nil, nil, err
	}
	set = &Set{servers: map[string]*member{}, built: map[string]built{}, groups: map[string]*group{}, prompts: m.prompts, people: m.people, failures: &m.failures, now: m.o.Now, log: m.o.Log, metrics: m.o.Metrics}
	for name, sc := range cfg.Servers {
		s := &member{builtin: sc.Builtin, remote: sc.URL != "", trustAnnotations: sc.TrustAnnotations, public: sc.isPublic(), openWorld: sc.OpenWorld, askSecrets: sc.AskSecrets, auth: sc.Auth, last: &atomic.Pointer[view]{}, holdNew: sc.HoldNewTools, definitions: m.definitions}
		sc.TrustAnnotations, sc.Public, sc.OpenWorld, sc.AskSecrets = false, false, nil, false // no reason to restart the server
		now := built{sc, cfg.maxResultBytes(name)}
		set.servers[name], set.built[name] = s, now
		if old != nil && old.servers[name] != nil && reflect.DeepEqual(old.built[name], now) {
			s.Server = old.servers[name].Server
			continue
		}
		if s.Server, err = m.newServer(name, "", now); err != nil {
			return nil, nil, err
		}
		fresh = append(fresh, s.Server)
	}
	for name, g := range cfg.allGroups() {
		members := make([]*member, len(g.Servers))
		for i, s := range g.Servers {
			members[i] = set.servers[s]
		}
		set.groups[name] = &group{
			name: name, cfg: g, servers: members,
			tools: compile(g.Tools), readOnly: compile(g.ReadOnly), approve: compile(g.Approve),
		}
	}
	return set, fresh, nil
}

// newServer makes the connection to a server: of a person, where each person signs in.
func (m *Manager) newServer(name, person string, of built) (*client.Server, error) {
	cfg := of.cfg
	c := client.Config{
		Name: name, Command: cfg.Command, Args: cfg.Args, Env: cfg.Env, Cwd: cfg.Cwd,
		URL: cfg.URL, Headers: cfg.Headers, SSE: cfg.Type == "sse", Protocol: cfg.Protocol, Keep: of.keep,
		Roots: cfg.Roots, Sampling: cfg.Sampling, Sandbox: cfg.Sandbox,
	}
	switch {
	case cfg.Auth.Asks() && m.o.Authorizers != nil:
		c.Auth = m.o.Authorizers.Authorizer(name, person, cfg)
	case cfg.Auth != nil: // of a server at which people sign in, this one says so
		c.Auth = oauth.NewSession(cfg.OAuth(), &oauth.Memory{})
	}
	if cfg.Builtin != "" {
		b, err := builtin.New(cfg.Builtin, cfg.Options, builtin.Env{Now: m.o.Now, Base: m.o.Base, Data: m.o.Data})
		if err != nil {
			return nil, fmt.Errorf("making server %q: %w", name, err)
		}
		c.Local = b
	}
	s, err := client.New(c, client.Options{
		Log: m.o.Log, Version: m.o.Version, Guard: m.guard, RestartDelay: m.o.RestartDelay, ProbeTimeout: m.o.ProbeTimeout, OnCatalog: m.onCatalog,
	})
	if err != nil {
		return nil, fmt.Errorf("making server %q: %w", name, err)
	}
	return s, nil
}
