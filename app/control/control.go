// Package control connects a second process to the one that owns a data directory:
// HTTP over a Unix socket in that directory, for the directory's owner only. The
// handler of the owning process defines the calls.
package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"time"
)

// SocketName is the socket's name in the data directory.
const SocketName = "control.sock"

// stopTime is how long running calls may take after ctx has ended.
const stopTime = 3 * time.Second

// Server answers on the control socket of a data directory.
type Server struct {
	listener net.Listener
	path     string
	http     *http.Server
}

// Listen opens the control socket of a data directory and removes a stale one. The
// caller must own the directory. handler gets every call but those of processes that
// this one has started, such as tool servers. It needs no authorization, because only
// the directory's owner can connect. The caller must call Serve.
func Listen(dir string, handler http.Handler) (*Server, error) {
	path := socketPath(dir)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("removing stale control socket: %w", err)
	}
	s := &Server{path: path, http: &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Context().Value(ownChild{}).(bool) {
				http.Error(w, "legwork started this process, which may not control it", http.StatusForbidden)
				return
			}
			handler.ServeHTTP(w, r)
		}),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, ownChild{}, descends(c))
		},
		ReadHeaderTimeout: 10 * time.Second,
	}}
	err := reach(dir, func(short string) error {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: short})
		if err != nil {
			return err
		}
		l.SetUnlinkOnClose(false) // its name may be gone by then; Serve removes it
		s.listener = l
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("opening control socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("protecting control socket: %w", err), s.listener.Close())
	}
	return s, nil
}

// ownChild is the key of whether a connection comes from a process that this one has
// started.
type ownChild struct{}

// Serve answers until ctx ends, gives running calls a few seconds, and removes the
// socket. It returns nil when ctx has ended.
func (s *Server) Serve(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- s.http.Serve(s.listener) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer cancel()
		if s.http.Shutdown(stop) != nil {
			err = s.http.Close()
		}
		if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
	}
	err = errors.Join(err, os.Remove(s.path))
	if err != nil {
		return fmt.Errorf("serving control socket: %w", err)
	}
	return nil
}

// Status is the reply to GET /status.
type Status struct {
	PID     int       `json:"pid"`
	Command string    `json:"command"`
	Version string    `json:"version"`
	Since   time.Time `json:"since"`
	Live    int       `json:"live_tasks"`
	Paused  string    `json:"paused,omitempty"` // by whom and since when; empty when not paused

	Chats bool `json:"chats,omitempty"` // "legwork chat" can attach to the process

	Goroutines int `json:"goroutines"` // of the process
}

// HandleStatus answers GET /status with the result of status.
func HandleStatus(mux *http.ServeMux, status func(context.Context) (Status, error)) {
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) {
		s, err := status(r.Context())
		Reply(w, s, err)
	})
}

// Handle answers POST calls at path with the result of do for the decoded body.
func Handle[In, Out any](mux *http.ServeMux, path string, do func(context.Context, In) (Out, error)) {
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		var in In
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, fmt.Sprintf("reading the call: %v", err), http.StatusBadRequest)
			return
		}
		out, err := do(r.Context(), in)
		Reply(w, out, err)
	})
}

// Reply writes the outcome of a call: v as JSON, or err as a 500 with its text.
func Reply(w http.ResponseWriter, v any, err error) {
	var body []byte
	if err == nil {
		body, err = json.Marshal(v)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(body, '\n')) // the caller may be gone
}
