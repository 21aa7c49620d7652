// Package web is the HTTP server: probes, the webhooks of platforms, and for clients
// with a token the API, the MCP endpoint and the metrics. It checks who calls and
// limits how much they may call; the handlers decide what a caller may see and do.
package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"legwork/internal/telemetry"
	"legwork/tasks/api"
)

// Limits of a request.
const (
	headerTime = 10 * time.Second
	bodyTime   = 30 * time.Second
	streamTime = 30 * time.Minute // for a body that the handler reads as it arrives
	replyTime  = 60 * time.Second // from the end of the header to the end of the reply; for requests with a token, for each write
	idleTime   = 2 * time.Minute  // between two requests of a connection
	maxHeader  = 64 << 10
	maxBody    = 1 << 20
)

// After the end of Run's context, running requests have stopTime to end. Those with
// a token are canceled after cancelTime of that, since some only wait for something.
const (
	stopTime   = 5 * time.Second
	cancelTime = time.Second
)

// Config says where to listen and what to serve there.
type Config struct {
	// Listen is the address of everything except the webhooks, and of these too
	// unless WebhookListen is set. Empty: none. On a loopback address, requests must
	// name this machine or PublicURL as their host, so that no web page can reach
	// legwork under another name; /healthz and webhooks answer under every name.
	Listen string
	// WebhookListen is an address for the webhooks alone. Empty: they are at
	// Listen.
	WebhookListen string
	// PublicURL is the address under which others reach Listen; may be empty.
	PublicURL string
	// Health returns the problem of each part of the process, nil for a part that
	// works; see Degraded. Each request of /readyz calls it, several at once too, and
	// everybody who can connect to Listen can read the problems. Nil: no parts.
	Health func() map[string]error
	// Webhooks are called with POST requests of exactly these paths. Reading more
	// than 1 MiB of a body is an error.
	Webhooks map[string]http.Handler
	// Docs is served at /openapi.json and /docs, without a token; may be nil.
	Docs http.Handler
	// Open are pages by their paths that need neither token nor session, for GET.
	Open map[string]http.Handler
	// Forms take what people enter in pages of Open, by their paths, for POST.
	Forms map[string]http.Handler
	// Console is the page in the browser, served below /console/ without a token; may be
	// nil. A browser at / is sent there.
	Console http.Handler

	// Access says who may use the following handlers; Server.Use changes it.
	Access Access
	// SignIn lets people sign in; their sessions are as good as tokens. Nil: there are
	// no sessions.
	SignIn *SignIn
	// API is served below /v1/, MCP at /mcp, and Metrics at /metrics, there not to
	// agents; each may be nil. Their requests have api.Caller in the context and the
	// whole body in memory, at most 1 MiB (none with GET and HEAD), so that they may
	// take long. The context of a request ends when the client disconnects, when its
	// token is revoked, and when Run ends; only in the last case the client still
	// gets what the handler writes after that.
	API, MCP, Metrics http.Handler
	// Streams reports requests to them whose handlers read the body as it arrives. Their
	// bodies are neither kept in memory nor limited here. Nil: none.
	Streams func(*http.Request) bool
	// Refused is called for each request that was answered with 403; see
	// OncePerMinute. May be nil.
	Refused func(ctx context.Context, p api.Principal, route string)
	// Served is called after every request at Listen; route is its pattern, which may
	// be empty. May be nil.
	Served func(route, method string, status int, took time.Duration)

	// Tracer starts a span for each request to the API and to /mcp, in the trace
	// that the request names; may be nil.
	Tracer *telemetry.Tracer

	// Log gets panics, failures of listeners, wrong tokens, and at level debug every
	// request; may be nil.
	Log *slog.Logger

	requestTime time.Duration    // in tests: in place of bodyTime and replyTime
	connLimit   int              // in tests: in place of maxConns
	now         func() time.Time // in tests: the clock of the limits on requests, in place of time.Now
}

// Server listens on the addresses of its Config.
type Server struct {
	log       *slog.Logger
	auth      *auth
	listeners []*listener
}

// listener is one address with its server.
type listener struct {
	net.Listener
	key    string // in the config
	server *http.Server
}

// New opens the addresses, so that an address in use is an error before anything
// starts; the error names the address and the key of the config. Connections wait
// until Run. A server that does not run must be closed.
func New(c Config) (*Server, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.now == nil {
		c.now = time.Now
	}
	public, err := publicHost(c.PublicURL)
	if err != nil {
		return nil, err
	}
	s := &Server{log: c.Log}
	if s.auth, err = newAuth(c); err != nil {
		return nil, err
	}
	main := mount{routes: publicRoutes(c.Health, c.Docs, c.Open, c.Forms), hostCheck: hostCheck{public: public}, auth: s.auth, console: c.Console}
	hooks := mount{routes: webhookRoutes(c.Webhooks)}
	if c.WebhookListen == "" {
		maps.Copy(main.routes, hooks.routes)
	}
	for _, l := range []struct {
		key, address string
		mount        mount
	}{{"http.listen", c.Listen, main}, {"http.webhook_listen", c.WebhookListen, hooks}} {
		if l.address == "" {
			continue
		}
		if err := s.listen(l.key, l.address, l.mount, c); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

func (s *Server) listen(key, address string, to mount, c Config) error {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("listening on %s: the address is in use; stop what uses it, or set %s to another: %w", address, key, err)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("listening on %s: not permitted; set %s to a port from 1024 on: %w", address, key, err)
	case err != nil:
		return fmt.Errorf("listening on %s, which is %s: %w", address, key, err)
	}
	conns := newConnLimiter(cmp.Or(c.connLimit, maxConns))
	to.hostCheck.checked = to.auth != nil && isLoopback(l.Addr())
	s.listeners = append(s.listeners, &listener{Listener: l, key: key, server: &http.Server{
		Handler:           middleware{next: to, log: s.log, served: c.Served, tracer: c.Tracer, hasToken: s.auth.hasToken},
		ReadHeaderTimeout: headerTime, ReadTimeout: cmp.Or(c.requestTime, bodyTime), WriteTimeout: cmp.Or(c.requestTime, replyTime), IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeader, ConnState: conns.onState, ConnContext: conns.connContext,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}})
	return nil
}

// Address is the address that the server listens on for a key of the config,
// http.listen or http.webhook_listen; empty when there is none. Port 0 is replaced
// by the port that the system chose.
func (s *Server) Address(key string) string {
	for _, l := range s.listeners {
		if l.key == key {
			return l.Addr().String()
		}
	}
	return ""
}

// Use changes who may call, from the next request on. It cuts off running requests
// whose token was removed or changed, and soon those of people who lost a right.
func (s *Server) Use(a Access) {
	s.auth.use(a)
}

// Run serves until ctx ends, then gives running requests at most 5 s; it cancels
// those with a token after 1 s. Then it closes their connections and cancels all.
// It returns earlier, with an error, when an address cannot be served any more.
func (s *Server) Run(ctx context.Context) error {
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	failed := make(chan error, len(s.listeners))
	var serving sync.WaitGroup
	for _, l := range s.listeners {
		l.server.BaseContext = func(net.Listener) context.Context { return base }
		s.log.InfoContext(ctx, "listening", "address", l.Addr().String(), "for", l.key)
		serving.Go(func() {
			if err := l.server.Serve(l.Listener); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serving %s: %w", l.key, err)
			}
		})
	}
	checking, end := context.WithCancel(base)
	serving.Go(func() { s.auth.checkSessions(checking) })
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	end()
	s.stop(base)
	serving.Wait()
	return err
}

// stop stops all servers side by side. It closes connections before the contexts of
// their requests end, so that no platform takes an interrupted delivery for done.
func (s *Server) stop(ctx context.Context) {
	s.auth.tokens.stop()
	cancel := time.AfterFunc(cancelTime, s.auth.tokens.cancelAll)
	defer cancel.Stop()
	ctx, done := context.WithTimeout(ctx, stopTime)
	defer done()
	var stopping sync.WaitGroup
	for _, l := range s.listeners {
		stopping.Go(func() {
			if l.server.Shutdown(ctx) == nil {
				return
			}
			s.log.WarnContext(ctx, "requests cut off at shutdown", "address", l.Addr().String())
			_ = l.server.Close() // its error changes nothing
		})
	}
	stopping.Wait()
}

// Close closes the addresses of a server that does not run.
func (s *Server) Close() error {
	var err error
	for _, l := range s.listeners {
		err = errors.Join(err, l.Close())
	}
	return err
}
