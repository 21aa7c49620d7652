// Package web answers over HTTP: whether the process is alive and ready, the
// platforms that deliver by webhooks, and, to those who have a token, the API.
// It knows who calls and how much they may; what they may see and do is decided
// behind it.
package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"legwork/internal/telemetry"
	"legwork/tasks/api"
)

// Bounds of a request.
const (
	headerTime = 10 * time.Second
	bodyTime   = 30 * time.Second
	replyTime  = 60 * time.Second // from the end of the header to the end of the reply; of the API, for each part of it
	idleTime   = 2 * time.Minute  // between two requests of a connection
	maxHeader  = 64 << 10
	maxBody    = 1 << 20
)

// stopTime is what requests under way are given after the end of Run's context,
// waitTime what those with a token have of it before their contexts end: some only
// wait for something.
const (
	stopTime = 5 * time.Second
	waitTime = time.Second
)

// Config says where to listen and what to serve there.
type Config struct {
	// Listen is the address of everything but the webhooks, and of those unless
	// WebhookListen is set. Empty: none. Where it is one of this machine alone, only
	// requests that name this machine or PublicURL as their host are answered, so
	// that no page can reach it under a name of its own; but /healthz and webhooks
	// are for all.
	Listen string
	// WebhookListen is an address for the webhooks alone. Empty: they are at
	// Listen.
	WebhookListen string
	// PublicURL is how others reach Listen; empty when they do not.
	PublicURL string
	// Health says of each part of the process what is wrong with it, nil for
	// nothing; see Degraded. It is called for each request of /readyz and may be
	// called several times at once; what it says is readable to whoever reaches
	// Listen. Nil: there are no parts.
	Health func() map[string]error
	// Webhooks are called with POST requests of exactly these paths. Bodies end
	// with an error after 1 MiB.
	Webhooks map[string]http.Handler
	// Docs is served at /openapi.json and /docs, to everybody. Nil: nothing is.
	Docs http.Handler

	// Access says who may use what follows; Server.Use changes it.
	Access Access
	// API is served below /v1/, MCP at /mcp, and Metrics at /metrics to all but
	// agents; nil: nothing is. Their requests come with api.Caller and the whole
	// body, at most 1 MiB (none with GET and HEAD), so that no deadline ends them while
	// they take long.
	// Their contexts end when the client is gone, the token is taken back or Run
	// ends; what a handler writes after that is lost unless Run ended.
	API, MCP, Metrics http.Handler
	// Refused hears of requests that were answered by 403; see Sparing. Nil: nobody
	// does.
	Refused func(ctx context.Context, p api.Principal, route string)
	// Served hears of every request at Listen when it is over: route is its pattern,
	// empty when there is none. Nil: nobody does.
	Served func(route, method string, status int, took time.Duration)

	// Tracer begins the span of each request at Listen that needs a token and has one, in the
	// trace that the request names. Nil: nobody does.
	Tracer *telemetry.Tracer

	// Log hears of panics, of what could not be served, of wrong tokens, and at
	// level debug of every request. Nil: nobody does.
	Log *slog.Logger

	hurry time.Duration // takes the place of bodyTime and replyTime in tests
	most  int           // takes the place of maxConns in tests
}

// Server listens on the addresses of its Config.
type Server struct {
	log       *slog.Logger
	door      *door
	listeners []*listener
}

// listener is one address and what is served there.
type listener struct {
	net.Listener
	key    string // of the config
	server *http.Server
}

// New opens the addresses, so that one in use is known before anything starts;
// its error names the address and the key of the config. What connects waits
// for Run. A server that is not run must be closed.
func New(c Config) (*Server, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	public, err := publicHost(c.PublicURL)
	if err != nil {
		return nil, err
	}
	s := &Server{log: c.Log}
	if s.door, err = newDoor(c); err != nil {
		return nil, err
	}
	main := mount{routes: probes(c.Health), hosts: hosts{public: public}, door: s.door}
	hooks := mount{routes: webhooks(c.Webhooks)}
	main.docs(c.Docs)
	if c.WebhookListen == "" {
		main.add(hooks.routes)
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
	conns := newCrowd(cmp.Or(c.most, maxConns))
	to.hosts.checked = to.door != nil && isLoopback(l.Addr())
	s.listeners = append(s.listeners, &listener{Listener: l, key: key, server: &http.Server{
		Handler:           front{next: to, log: s.log, served: c.Served, tracer: c.Tracer, knows: s.door.knows},
		ReadHeaderTimeout: headerTime, ReadTimeout: cmp.Or(c.hurry, bodyTime), WriteTimeout: cmp.Or(c.hurry, replyTime), IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeader, ConnState: conns.changed, ConnContext: conns.with,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}})
	return nil
}

// Address is where a key of the config, http.listen or http.webhook_listen, has
// led to; empty when it is not listened to. It tells the port that the system
// gave for port 0.
func (s *Server) Address(key string) string {
	for _, l := range s.listeners {
		if l.key == key {
			return l.Addr().String()
		}
	}
	return ""
}

// Use changes who may call from the next request on. Requests under way whose
// token is gone, or may do other things now, are cut off.
func (s *Server) Use(a Access) { s.door.keys.use(a) }

// Run serves until ctx ends, then lets requests under way end for at most 5 s;
// the contexts of those with a token end after 1 s of that. After that their
// connections are closed and their contexts end. It returns earlier, with an
// error, when an address cannot be served any more.
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
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	s.stop(base)
	serving.Wait()
	return err
}

// stop ends all servers side by side. Connections are closed before the contexts
// of their requests end, so that no platform takes what was cut off for done.
func (s *Server) stop(ctx context.Context) {
	s.door.keys.close()
	waits := time.AfterFunc(waitTime, s.door.keys.end)
	defer waits.Stop()
	patience, done := context.WithTimeout(ctx, stopTime)
	defer done()
	var stopping sync.WaitGroup
	for _, l := range s.listeners {
		stopping.Go(func() {
			if l.server.Shutdown(patience) == nil {
				return
			}
			s.log.Warn("requests were cut off", "address", l.Addr().String())
			_ = l.server.Close() // what is left of it is of no use
		})
	}
	stopping.Wait()
}

// Close closes the addresses of a server that is not run.
func (s *Server) Close() error {
	var err error
	for _, l := range s.listeners {
		err = errors.Join(err, l.Close())
	}
	return err
}
