package app

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"legwork/web/problem"
)

// standby answers /healthz and /readyz while another process works with the
// database. It listens only while it waits.
type standby struct {
	d      *daemon
	listen string
	server *http.Server
	waited bool
}

// wait is called when the wait begins. holder describes the other process.
func (s *standby) wait(holder string) {
	s.waited = true
	s.d.log.Info("standing by: another process works with the database", "holder", holder)
	if s.listen == "" {
		return
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", s.listen) // end closes it
	if err != nil {
		s.d.log.Error("the standby cannot listen", "cause", err)
		return
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"status":"standby","parts":{"store":"another legwork works with the database; this one takes over when that one ends"}}`+"\n")
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		problem.New(problem.Stopping, "This process stands by while another one works with the database. Send the request to that one, or again later.").Write(w)
	})
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := s.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.d.log.Error("the standby cannot serve", "cause", err)
		}
	}()
}

// end frees the address when the wait is over.
func (s *standby) end(took time.Duration, err error) error {
	if s.waited && err == nil {
		s.d.log.Info("taking over", "waited", took.Round(time.Second))
	}
	if s.server == nil {
		return err
	}
	return errors.Join(err, s.server.Close())
}

// holdDatabase ends the process when another one has taken over the database.
func (a *core) holdDatabase(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-a.store.Lost():
		return a.store.WriteFailure()
	}
}
