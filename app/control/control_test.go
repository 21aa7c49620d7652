package control_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"legwork/app/control"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve answers on dir until the test ends or stop is called.
func serve(t *testing.T, dir string, mux *http.ServeMux) (stop func()) {
	t.Helper()
	s, err := control.Listen(dir, mux)
	if err != nil {
		t.Fatalf("Listen(%s): %v", dir, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

func client(t *testing.T, dir string) *control.Client {
	t.Helper()
	c := control.NewClient(dir)
	t.Cleanup(c.Close)
	return c
}

func TestStatus(t *testing.T) {
	want := control.Status{PID: 7, Command: "legwork chat", Version: "1.2", Since: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), Live: 3}
	short := t.TempDir()
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 50))
	if err := os.MkdirAll(long, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{short, long} {
		mux := http.NewServeMux()
		control.HandleStatus(mux, func(context.Context) (control.Status, error) { return want, nil })
		stop := serve(t, dir, mux)
		got, err := client(t, dir).Status(t.Context())
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("status in %s: %v (-want +got):\n%s", dir, err, diff)
		}
		path := filepath.Join(dir, control.SocketName)
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("socket: got %v, %v, want permissions 0600", info, err)
		}
		stop()
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("socket after the end: got %v, want it gone", err)
		}
	}
}

// TestOwnVerbs: an owner adds its own calls, with bodies and errors.
func TestOwnVerbs(t *testing.T) {
	dir, mux := t.TempDir(), http.NewServeMux()
	mux.HandleFunc("POST /pause", func(w http.ResponseWriter, r *http.Request) {
		buf := make([]byte, 100)
		n, _ := r.Body.Read(buf)
		control.Reply(w, map[string]string{"heard": string(buf[:n])}, nil)
	})
	mux.HandleFunc("POST /fail", func(w http.ResponseWriter, _ *http.Request) {
		control.Reply(w, nil, errors.New("the disk is full"))
	})
	serve(t, dir, mux)
	c := client(t, dir)
	var out map[string]string
	if err := c.Call(t.Context(), "POST", "/pause", map[string]int{"n": 1}, &out); err != nil || out["heard"] != `{"n":1}` {
		t.Fatalf("POST /pause: got %v, %v, want the body back", out, err)
	}
	for path, want := range map[string]string{"/fail": "the disk is full", "/nothing": "404"} {
		if err := c.Call(t.Context(), "POST", path, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("POST %s: got %v, want an error with %q", path, err, want)
		}
	}
}

// TestNobody: no socket, one that a killed process left, one of a process that
// has ended.
func TestNobody(t *testing.T) {
	dir := t.TempDir()
	asked := func() error { _, err := client(t, dir).Status(t.Context()); return err }
	if err := asked(); !errors.Is(err, control.ErrNoProcess) {
		t.Fatalf("no socket: got %v, want ErrNobody", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: filepath.Join(dir, control.SocketName)})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	if err := asked(); !errors.Is(err, control.ErrNoProcess) {
		t.Fatalf("a stale socket: got %v, want ErrNobody", err)
	}
	mux := http.NewServeMux()
	control.HandleStatus(mux, func(context.Context) (control.Status, error) { return control.Status{PID: 1}, nil })
	stop := serve(t, dir, mux)
	if err := asked(); err != nil {
		t.Fatalf("over a stale socket: %v", err)
	}
	stop()
	if err := asked(); !errors.Is(err, control.ErrNoProcess) {
		t.Fatalf("after the end: got %v, want ErrNobody", err)
	}
}

// TestLongCall: the longest lines of a chat, in JSON, are a call.
func TestLongCall(t *testing.T) {
	dir, mux := t.TempDir(), http.NewServeMux()
	control.Handle(mux, "/size", func(_ context.Context, text string) (int, error) { return len(text), nil })
	serve(t, dir, mux)
	size := 0
	if err := client(t, dir).Call(t.Context(), "POST", "/size", strings.Repeat("<", 4<<20), &size); err != nil || size != 4<<20 {
		t.Fatalf("a call of 4 MiB: got %d bytes, %v", size, err)
	}
}

// TestStopUnderWay: a call that is under way gets its reply.
func TestStopUnderWay(t *testing.T) {
	dir, mux := t.TempDir(), http.NewServeMux()
	entered, leave := make(chan struct{}), make(chan struct{})
	mux.HandleFunc("GET /slow", func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-leave
		control.Reply(w, "done", nil)
	})
	stop := serve(t, dir, mux)
	replied := make(chan error, 1)
	var out string
	c := client(t, dir)
	go func() { replied <- c.Call(t.Context(), "GET", "/slow", nil, &out) }()
	<-entered
	go close(leave)
	stop()
	if err := <-replied; err != nil || out != "done" {
		t.Fatalf("the call under way: got %q, %v, want done", out, err)
	}
}
