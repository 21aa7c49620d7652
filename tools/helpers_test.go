package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"legwork/tools"
	"legwork/tools/client"
)

// fakeServer is the program that misbehaves on demand, built once.
var fakeServer string

func TestMain(m *testing.M) {
	if os.Getenv("TOOLS_TEST_DAEMON") != "" {
		daemon()
		return
	}
	dir, err := os.MkdirTemp("", "tools")
	if err == nil {
		fakeServer = filepath.Join(dir, "mcpserver")
		var out []byte
		if out, err = exec.Command("go", "build", "-o", fakeServer, "legwork/fakes/mcpserver").CombinedOutput(); err != nil {
			err = fmt.Errorf("building the fake server: %w: %s", err, out)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// fake is a config of the fake server.
func fake(args ...string) tools.ServerConfig {
	return tools.ServerConfig{Command: fakeServer, Args: args}
}

// one is a config of one server "s" in a group "g" that may do everything.
func one(s tools.ServerConfig) tools.Config {
	return tools.Config{
		Servers: map[string]tools.ServerConfig{"s": s},
		Groups:  map[string]tools.GroupConfig{"g": {Servers: []string{"s"}, Approve: tools.Approve{"never"}, ToolTimeout: 20 * time.Second}},
	}
}

// log collects what is logged.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// run starts a manager and stops it, and looks for what it left behind, at the
// end of the test.
func run(t *testing.T, cfg tools.Config, change ...func(*tools.Options)) *tools.Manager {
	t.Helper()
	t.Cleanup(func() { goleak.VerifyNone(t) })
	o := tools.Options{Version: "test", RestartDelay: 5 * time.Millisecond, Log: slog.New(slog.NewTextHandler(&log{}, nil))}
	for _, f := range change {
		f(&o)
	}
	m, err := tools.New(cfg, o)
	if err != nil {
		t.Fatalf("New(%+v): %v", cfg, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Run: got %v, want nil", err)
			}
		case <-time.After(10 * time.Second):
			t.Error("Run did not return within 10 s after its context ended")
		}
	})
	return m
}

func withLog(l *log) func(*tools.Options) {
	return func(o *tools.Options) {
		o.Log = slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
}

// call calls a tool of server "s" in group "g".
func call(t *testing.T, m *tools.Manager, tool, args string) tools.Result {
	t.Helper()
	r, err := m.Set().Call(t.Context(), "g", tools.Call{Call: client.Call{Tool: "s." + tool, Arguments: json.RawMessage(args)}})
	if err != nil {
		t.Fatalf("Call(%s, %s): got error %v, want none", tool, args, err)
	}
	return r
}

// eventually waits for a condition that another process brings about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	late := time.After(15 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("not within 15 s: %s", what)
		}
	}
}

// ready waits for the server "s", so that short timeouts are about calls.
func ready(t *testing.T, m *tools.Manager) {
	t.Helper()
	eventually(t, "the server is ready", func() bool { return m.Status()[0].State == client.Ready })
}

func wantText(t *testing.T, input string, r tools.Result, failed bool, parts ...string) {
	t.Helper()
	if r.Failed != failed {
		t.Errorf("%s: got Failed %v, want %v; text %q", input, r.Failed, failed, r.Text)
	}
	for _, p := range parts {
		if !strings.Contains(r.Text, p) {
			t.Errorf("%s: got %q, want it to contain %q", input, r.Text, p)
		}
	}
}
