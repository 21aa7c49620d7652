// Package web answers over HTTP: whether the process is alive and ready, and
// the platforms that deliver by webhooks.
package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// Bounds of a request.
const (
	headerTime = 10 * time.Second
	bodyTime   = 30 * time.Second
	replyTime  = 60 * time.Second // from the end of the header to the end of the reply
	idleTime   = 2 * time.Minute  // between two requests of a connection
	maxHeader  = 64 << 10
	maxBody    = 1 << 20
)

// stopTime is what requests under way are given after the end of Run's context.
const stopTime = 5 * time.Second

// Config says where to listen and what to serve there.
type Config struct {
	// Listen is the address of /healthz and /readyz, and of the webhooks unless
	// WebhookListen is set. Empty: none.
	Listen string
	// WebhookListen is an address for the webhooks alone. Empty: they are at
	// Listen.
	WebhookListen string
	// Health says of each part of the process what is wrong with it, nil for
	// nothing. It is called for each request of /readyz and may be called several
	// times at once; what it says is readable to whoever reaches Listen. Nil: there
	// are no parts.
	Health func() map[string]error
	// Webhooks are called with POST requests of exactly these paths. Bodies end
	// with an error after 1 MiB.
	Webhooks map[string]http.Handler
	// Log hears of panics and of what could not be served. Nil: nobody does.
	Log *slog.Logger
}

// Server listens on the addresses of its Config.
type Server struct {
	log       *slog.Logger
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
	s := &Server{log: c.Log}
	hooks, probes := webhooks(c.Webhooks), probes(c.Health)
	if c.WebhookListen == "" {
		for path, r := range hooks {
			probes[path] = r
		}
	}
	for _, l := range []struct {
		key, address string
		routes       routes
	}{{"http.listen", c.Listen, probes}, {"http.webhook_listen", c.WebhookListen, hooks}} {
		if l.address == "" {
			continue
		}
		if err := s.listen(l.key, l.address, l.routes); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

func (s *Server) listen(key, address string, to routes) error {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("listening on %s: the address is in use; stop what uses it, or set %s to another: %w", address, key, err)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("listening on %s: not permitted; set %s to a port from 1024 on: %w", address, key, err)
	case err != nil:
		return fmt.Errorf("listening on %s, which is %s: %w", address, key, err)
	}
	s.listeners = append(s.listeners, &listener{Listener: l, key: key, server: &http.Server{
		Handler:           s.guard(http.MaxBytesHandler(to, maxBody)),
		ReadHeaderTimeout: headerTime, ReadTimeout: bodyTime, WriteTimeout: replyTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
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

// Run serves until ctx ends, then lets requests under way end for at most 5 s.
// After that their connections are closed and their contexts end. It returns earlier, with an
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
