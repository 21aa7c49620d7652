package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/need"
	"legwork/internal/test/servers"
	"legwork/internal/test/watch"
	"legwork/tools/client"
)

var programs need.Programs

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == client.SandboxCommand { // as legwork does
		fmt.Fprintln(os.Stderr, client.RunSandboxed(os.Args[2:]))
		os.Exit(1)
	}
	need.Parallel(8)
	os.Exit(programs.Run(m))
}

// fakeServer is the program that misbehaves on demand.
func fakeServer(t testing.TB) string {
	t.Helper()
	return programs.Path(t, "legwork/internal/test/fakes/mcpserver")
}

// The ways in which the fake server is reached.
const (
	stdio = "stdio"
	http  = "http"
	sse   = "sse"
)

func transports() []string { return []string{stdio, http, sse} }

// fake is the config of a fake server, which runs until the end of the test
// where it is a remote one.
func fake(t testing.TB, by string, args ...string) client.Config {
	t.Helper()
	if by == stdio {
		return client.Config{Name: "s", Command: fakeServer(t), Args: args}
	}
	r := serve(t, by, "127.0.0.1:0", args...)
	return client.Config{Name: "s", URL: r.url, SSE: by == sse}
}

// remote is a fake server in a process of its own.
type remote struct {
	url string
	end func() // kills it; more than once is fine
}

func serve(t testing.TB, by, address string, args ...string) *remote {
	t.Helper()
	url, end, err := servers.Listen(exec.Command(fakeServer(t), append([]string{"-" + by, address}, args...)...))
	if err != nil {
		t.Fatal(err)
	}
	r := &remote{url, end}
	t.Cleanup(r.end)
	return r
}

// start starts a server and stops it at the end of the test.
func start(t testing.TB, cfg client.Config, change ...func(*client.Options)) *client.Server {
	t.Helper()
	guard := client.NewProcessGuard(slog.New(slog.DiscardHandler))
	o := client.Options{Version: "test", RestartDelay: 5 * time.Millisecond, Guard: guard}
	for _, f := range change {
		f(&o)
	}
	s, err := client.New(cfg, o)
	if err != nil {
		t.Fatalf("New(%+v): %v", cfg, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case <-done:
		case <-time.After(watch.Patience):
			t.Error("Run did not return after its context ended")
		}
		guard.Close()
	})
	return s
}

func withLog(l *watch.Log) func(*client.Options) {
	return func(o *client.Options) {
		o.Log = slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
}

// ready runs a server and waits until it can be called.
func ready(t testing.TB, cfg client.Config, change ...func(*client.Options)) *client.Server {
	t.Helper()
	return waitReady(t, start(t, cfg, change...))
}

func waitReady(t testing.TB, s *client.Server) *client.Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), watch.Patience)
	defer cancel()
	if err := s.WaitReady(ctx); err != nil {
		t.Fatalf("the server is not ready: %v", err)
	}
	return s
}

// call calls a tool and waits for its result.
func call(t testing.TB, s *client.Server, tool, args string, change ...func(*client.Call)) client.Result {
	t.Helper()
	r, err := try(t, s, tool, args, change...)
	if err != nil && r.Text == "" {
		t.Fatalf("Call(%s, %s): got error %v, want none", tool, args, err)
	}
	return r
}

func try(t testing.TB, s *client.Server, tool, args string, change ...func(*client.Call)) (client.Result, error) {
	t.Helper()
	c := client.Call{Tool: tool, Arguments: json.RawMessage(args), Timeout: watch.Patience, Keep: 1 << 20}
	for _, f := range change {
		f(&c)
	}
	return s.Call(context.Background(), c)
}

func within(d time.Duration) func(*client.Call) { return func(c *client.Call) { c.Timeout = d } }

func wantText(t testing.TB, input string, r client.Result, failed bool, parts ...string) {
	t.Helper()
	if r.Failed != failed {
		t.Errorf("%s: got Failed %v, want %v; text %q", input, r.Failed, failed, r.Text)
	}
	for _, p := range parts {
		if !strings.Contains(r.Text, p) {
			t.Errorf("%s: got %.2000q, want it to contain %q", input, r.Text, p)
		}
	}
}

func read(path string) string { b, _ := os.ReadFile(path); return string(b) }
