// Package wire holds what the strict fakes share: the log of every request, the
// server on a loopback port, and the end of a test that used one.
package wire

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// Log is a wire log: a file with one JSON value per line. It is safe for
// concurrent use.
type Log struct {
	mu   sync.Mutex
	file *os.File // nil: nothing is kept
}

// OpenLog opens a log to be appended to. An empty path keeps nothing.
func OpenLog(path string) (*Log, error) {
	if path == "" {
		return &Log{}, nil
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening wire log: %w", err)
	}
	return &Log{file: file}, nil
}

// Add writes an entry with one write. It panics when that fails: a judge that
// reads an incomplete log would acquit.
func (l *Log) Add(entry any) {
	if l.file == nil {
		return
	}
	line, err := json.Marshal(entry)
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		_, err = l.file.Write(append(line, '\n'))
	}
	if err != nil {
		panic(fmt.Sprintf("writing wire log: %v", err))
	}
}

// Close closes the file. Add nothing after it.
func (l *Log) Close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// ReadLog reads the entries of a log. With an error come those before it.
func ReadLog[Entry any](path string) ([]Entry, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading wire log: %w", err)
	}
	defer file.Close()
	var log []Entry
	for decoder := json.NewDecoder(bufio.NewReader(file)); ; {
		var e Entry
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			return log, nil
		} else if err != nil {
			return log, fmt.Errorf("reading wire log: %w", err)
		}
		log = append(log, e)
	}
}

// Server serves one handler on one address.
type Server struct {
	URL string // "http://127.0.0.1:1234"

	http   *http.Server
	cancel context.CancelFunc
	served chan struct{}

	mu      sync.Mutex
	open    map[string]bool // addresses of the clients that are connected
	changed chan struct{}   // closed and replaced whenever open changes
}

// Serve starts to serve what handler returns, which is asked once, with the URL
// that it will have ("http://127.0.0.1:1234"). An empty address is a free port
// of the loopback; idle is how long a connection may be unused, 0 for ever. The
// contexts of requests end with Close.
func Serve(address string, idle time.Duration, handler func(url string) http.Handler) (*Server, error) {
	if address == "" {
		address = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("starting a fake: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{
		URL: "http://" + listener.Addr().String(), cancel: cancel, served: make(chan struct{}),
		open: map[string]bool{}, changed: make(chan struct{}),
	}
	s.http = &http.Server{
		Handler: handler(s.URL), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: idle,
		BaseContext: func(net.Listener) context.Context { return ctx }, ConnState: s.connected,
	}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(listener) // ends with Close
	}()
	return s, nil
}

// connected keeps who is connected. Connections that were taken over, as
// sockets are, count as ended.
func (s *Server) connected(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.open[c.RemoteAddr().String()] = true
	case http.StateHijacked, http.StateClosed:
		delete(s.open, c.RemoteAddr().String())
	default:
		return
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// Drain waits until all that clients sent before they died has been answered,
// what the system had not handed over yet included: a process that was killed
// leaves requests behind, and a busy machine comes to them late. It ends when
// no client is connected, so no client may be alive that keeps a connection.
func (s *Server) Drain(ctx context.Context) error {
	last, err := new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(s.URL, "http://")) // connections are taken in order: after this one none is left
	if err != nil {
		return fmt.Errorf("draining a fake: %w", err)
	}
	defer last.Close()
	own := last.LocalAddr().String()
	if err := s.until(ctx, func() bool { return s.open[own] }); err != nil {
		return err
	}
	if err := last.Close(); err != nil {
		return fmt.Errorf("draining a fake: %w", err)
	}
	return s.until(ctx, func() bool { return len(s.open) == 0 })
}

// until waits until something is true of open.
func (s *Server) until(ctx context.Context, ok func() bool) error {
	for {
		s.mu.Lock()
		done, changed, left := ok(), s.changed, len(s.open)
		s.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("draining a fake: %d connections are open: %w", left, ctx.Err())
		}
	}
}

// Close ends the contexts of all requests, closes their connections and stops
// listening. Handlers may still be on their way out.
func (s *Server) Close() error {
	s.cancel()
	err := s.http.Close()
	<-s.served
	return err
}

// Fake is a fake that a test ends with.
type Fake interface {
	Close() error
	Violations() []string
}

// Retire closes a fake at the end of a test, which looks at its violations
// itself, and the connections that the default client keeps to it.
func Retire(t testing.TB, f Fake) {
	t.Helper()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Guard closes a fake at the end of a test, and fails the test for each
// violation, with who complains before it.
func Guard(t testing.TB, f Fake, who string) {
	t.Helper()
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		for _, v := range f.Violations() {
			t.Errorf("%s: %s", who, v)
		}
	})
}
