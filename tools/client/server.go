package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"legwork/internal/redact"
	"legwork/internal/retry"
)

// State is what a server is doing.
type State string

// The states of a server.
const (
	Starting State = "starting" // calls wait for it
	Ready    State = "ready"
	Down     State = "down"                 // it failed, or it is not run; it is started again after a delay
	Personal State = "each person signs in" // it has connections of people only
)

const (
	startTimeout       = 2 * time.Minute  // until the tools are listed; package runners download first
	remoteStartTimeout = 30 * time.Second // the same for a remote server
	healthyAfter       = 10 * time.Second // a server that lived this long has no failures behind it
	maxRestart         = time.Minute
	maxRetryAfter      = 10 * time.Minute // for a server that sends Retry-After
)

// Server supervises one MCP server: it keeps a connection, and makes a new one
// when it dies. Its methods are safe for concurrent use.
type Server struct {
	name   string
	dialer dialer
	static *Catalog // of a server in this process, known before it runs
	delay  time.Duration
	health time.Duration
	log    *slog.Logger

	mu           sync.Mutex
	state        State
	stateChanged chan struct{} // closed at the next change of state
	conn         *connection   // when ready
	cat          *Catalog      // the last that was listed
	problem      error
	restarts     int
	endPause     context.CancelFunc // ends the pause before the next start; nil before the first
	roundTrip    time.Duration
	revision     string // to ask for; empty: the newest
	sse          bool   // HTTP+SSE, by the config or because the server knows nothing else
	protocol     string // of the last connection
	inflight     int
	retired      bool
	idle         chan struct{}    // closed when retired and the last call returned
	onCatalog    func()           // called after each new catalog; may be nil
	slots        chan struct{}    // holds one token for each call in flight; nil: any number
	reported     atomic.Int64     // calls whose progress is reported: numbers their tokens
	secrets      *redact.Redactor // of the config
}

// Run supervises the server until ctx ends. Then it closes everything and waits for
// the calls in flight. It is called once.
func (s *Server) Run(ctx context.Context) {
	pauses := newPauses(s.delay)
	failures := 0     // in a row, each soon after the last
	logged := ""      // the last cause in the log since it was ready
	switched := false // the session before this one ended because the server wants another revision
	for first := true; ctx.Err() == nil; first = false {
		if !first {
			s.mu.Lock()
			s.restarts++
			s.mu.Unlock()
		}
		s.setState(Starting, nil, nil)
		ready, err := s.session(ctx)
		if ctx.Err() != nil {
			break
		}
		if switched = !switched && s.switchRevision(err); switched {
			s.log.Info("protocol revision changed", "cause", s.redacted(err))
			continue
		}
		if cause := s.redacted(err).Error(); !ready.IsZero() || cause != logged {
			s.log.Warn("server is down", "cause", cause)
			logged = cause
		}
		if !ready.IsZero() && time.Since(ready) > healthyAfter {
			failures = 0
			pauses.Reset()
		}
		if failures++; failures == 1 && !ready.IsZero() {
			continue // it worked before: waiting calls get a new process at once
		}
		if !errors.Is(err, transport.ErrSessionTerminated) { // else calls wait for the new session
			s.setState(Down, nil, err)
		}
		s.pause(ctx, max(min(pauses.Next(), maxRestart), retryAfterOf(err)))
	}
	s.setState(Down, nil, errors.New("legwork is stopping"))
	<-s.Retire()
}

// pause waits before the next start, at most until RetryNow is called.
func (s *Server) pause(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	s.endPause = cancel
	s.mu.Unlock()
	_ = retry.Sleep(ctx, d)
}

// RetryNow starts a server at once that is down, for example after a person has signed
// in. It does nothing to a server that is up.
func (s *Server) RetryNow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == Down && s.endPause != nil {
		s.state = Starting // calls wait for it
		s.endPause()
	}
}

// switchRevision notes the revision that a server wants in place of the one that the
// last session had. It returns false when err is something else.
func (s *Server) switchRevision(err error) bool {
	next := commonRevision(err)
	if next != "" && s.dialer.cfg.Protocol == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.revision = next
	}
	return next != ""
}

// retryAfterOf is the pause that the server asked for. One that requires a sign-in is
// asked again when RetryNow says that there is one.
func retryAfterOf(err error) time.Duration {
	if _, needs := errors.AsType[*SignInError](err); needs {
		return maxRetryAfter
	}
	var status *statusError
	if errors.As(err, &status) {
		return min(status.after, maxRetryAfter)
	}
	return 0
}

// session is the life of one connection. It returns when it was ready, zero
// for never, and why it ended.
func (s *Server) session(ctx context.Context) (ready time.Time, err error) {
	begin, cancel := context.WithTimeout(ctx, s.dialer.readyTimeout())
	defer cancel()
	c, err := s.connect(begin)
	if err != nil {
		return time.Time{}, err
	}
	defer func() {
		s.setState(Starting, nil, nil) // no new calls while it is closed
		c.close(c.isDead())
	}()
	if err := s.refresh(begin, c); err != nil {
		return time.Time{}, err
	}
	s.setState(Ready, c, nil)
	if status := s.Status(); status.Restarts > 0 {
		s.log.Info("server is ready", "restarts", status.Restarts)
	}
	ready = time.Now()
	return ready, s.follow(ctx, c)
}

// connect dials, and remembers what works: it starts a server that dies at
// server/discover again with initialize, and reaches a server that does not take
// streamable HTTP by the older HTTP+SSE.
func (s *Server) connect(ctx context.Context) (*connection, error) {
	s.mu.Lock()
	revision, sse := s.revision, s.sse
	s.mu.Unlock()
	c, err := s.dialer.dial(ctx, revision, sse)
	switch {
	case err == nil || ctx.Err() != nil:
	case revision == "" && errors.Is(err, errEndedAtStart) && s.dialer.cfg.Command != "":
		s.log.Debug("retrying with the older protocol", "cause", err)
		revision = oldProtocol
		c, err = s.dialer.dial(ctx, revision, sse)
	case !sse && errors.Is(err, transport.ErrLegacySSEServer):
		var also error
		if c, also = s.dialer.dial(ctx, revision, true); also == nil {
			sse, err = true, nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fixed := s.dialer.cfg.Protocol != ""
	if err != nil {
		if !fixed {
			s.revision = "" // the server may have changed
		}
		s.sse = s.dialer.cfg.SSE
		return nil, err
	}
	s.protocol, s.sse = c.client.ProtocolVersion(), sse
	if !fixed && !c.modern() && (revision == "" || mcp.IsModernProtocol(revision)) {
		s.revision = oldProtocol // saves the probe next time
	}
	return c, nil
}

// setState changes the state and wakes the callers of WaitReady.
func (s *Server) setState(state State, c *connection, problem error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state, s.conn, s.problem = state, c, s.redacted(problem)
	close(s.stateChanged)
	s.stateChanged = make(chan struct{})
}

// redacted is err without the secrets of the config.
func (s *Server) redacted(err error) error {
	if err == nil {
		return nil
	}
	if text := s.secrets.String(err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}

// WaitReady waits until the server is ready. It returns an error when the server
// is down, was retired, or when ctx ends.
func (s *Server) WaitReady(ctx context.Context) error {
	for {
		s.mu.Lock()
		state, moved, problem, retired := s.state, s.stateChanged, s.problem, s.retired
		if state == Ready && s.conn.isDead() {
			state = Starting // the supervisor has not seen it yet
		}
		s.mu.Unlock()
		switch {
		case retired:
			return fmt.Errorf("server %q is closed", s.name)
		case state == Ready:
			return nil
		case state == Down:
			return fmt.Errorf("server %q is down: %w", s.name, problem)
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("server %q is still starting: %w", s.name, ctx.Err())
		}
	}
}

// acquire waits for the server and keeps it open: the caller calls release once
// after the call. A retired server is an error.
func (s *Server) acquire(ctx context.Context) (c *connection, cat *Catalog, release func(), err error) {
	for {
		if err := s.WaitReady(ctx); err != nil {
			return nil, nil, nil, err
		}
		s.mu.Lock()
		if s.state == Ready && !s.retired {
			s.inflight++
			c, cat = s.conn, s.cat
			s.mu.Unlock()
			return c, cat, s.release, nil
		}
		s.mu.Unlock()
	}
}

func (s *Server) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inflight--
	if s.retired && s.inflight == 0 {
		close(s.idle)
	}
}

// Retire refuses new calls; the returned channel is closed when the last one
// has returned.
func (s *Server) Retire() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.retired && s.inflight == 0 {
		close(s.idle)
	}
	s.retired = true
	return s.idle
}

// Catalog is the newest list of what the server offers, nil before there was
// one. It must not be changed.
func (s *Server) Catalog() *Catalog {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cat == nil {
		return s.static
	}
	return s.cat
}

// Status is the health of one server.
type Status struct {
	Name      string
	Kind      string // "builtin", "stdio", "http" or "sse"
	State     State
	Protocol  string // the MCP revision of the last connection; empty before it
	Tools     int    // that the server last listed
	Err       string // why it is down
	SignIn    bool   // it is down until a person has signed in
	Restarts  int
	RoundTrip time.Duration // of the last listing of tools
}

// Problem is why the server is down; nil when it is not.
func (s *Server) Problem() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != Down {
		return nil
	}
	return s.problem
}

// Status tells how the server is.
func (s *Server) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{Name: s.name, Kind: s.dialer.cfg.kind(), State: s.state, Protocol: s.protocol, Restarts: s.restarts, RoundTrip: s.roundTrip}
	if s.cat != nil {
		for _, d := range s.cat.Tools {
			if !d.Reads() {
				st.Tools++
			}
		}
	}
	if s.problem != nil {
		st.Err = s.problem.Error()
		_, st.SignIn = errors.AsType[*SignInError](s.problem)
	}
	return st
}

func (c Config) kind() string {
	switch {
	case c.Local != nil:
		return "builtin"
	case c.SSE:
		return "sse"
	case c.URL != "":
		return "http"
	}
	return "stdio"
}

// Name is that of the Config.
func (s *Server) Name() string { return s.name }

// Local tells that the server is part of this process.
func (s *Server) Local() bool { return s.dialer.cfg.Local != nil }

// Busy tells whether a call is under way.
func (s *Server) Busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inflight > 0
}
