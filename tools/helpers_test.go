package tools_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/need"
	"legwork/internal/test/watch"
	"legwork/tools"
	"legwork/tools/client"
)

var programs need.Programs

func TestMain(m *testing.M) {
	if os.Getenv("TOOLS_TEST_DAEMON") != "" {
		daemon()
		return
	}
	need.Parallel(8)
	os.Exit(programs.Run(m))
}

// fakeServer is the program that misbehaves on demand.
func fakeServer(t testing.TB) string {
	t.Helper()
	return programs.Path(t, "legwork/internal/test/fakes/mcpserver")
}

// fake is a config of the fake server.
func fake(t testing.TB, args ...string) tools.ServerConfig {
	t.Helper()
	return tools.ServerConfig{Command: fakeServer(t), Args: args}
}

// one is a config of one server "s" in a group "g" that may do everything.
func one(s tools.ServerConfig) tools.Config {
	return tools.Config{
		Servers: map[string]tools.ServerConfig{"s": s},
		Groups:  map[string]tools.GroupConfig{"g": {Servers: []string{"s"}, Approve: tools.Approve{"never"}, ToolTimeout: 20 * time.Second}},
	}
}

// run starts a manager and stops it at the end of the test.
func run(t *testing.T, cfg tools.Config, change ...func(*tools.Options)) *tools.Manager {
	t.Helper()
	o := tools.Options{Version: "test", RestartDelay: 5 * time.Millisecond, Log: slog.New(slog.NewTextHandler(&watch.Log{}, nil))}
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
		case <-time.After(watch.Patience):
			t.Error("Run did not return within 10 s after its context ended")
		}
	})
	return m
}

func withLog(l *watch.Log) func(*tools.Options) {
	return func(o *tools.Options) {
		o.Log = slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
}

// call calls a tool of server "s" in group "g".
func call(t *testing.T, m *tools.Manager, tool, args string) tools.Result {
	t.Helper()
	r, err := m.Set().Call(t.Context(), tools.Call{Group: "g", Tool: "s." + tool, Arguments: json.RawMessage(args)})
	if err != nil {
		t.Fatalf("Call(%s, %s): got error %v, want none", tool, args, err)
	}
	return r
}

// ready waits for the server "s", so that short timeouts are about calls.
func ready(t *testing.T, m *tools.Manager) {
	t.Helper()
	watch.Until(t, "the server is ready", func() bool { return m.Status()[0].State == client.Ready })
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
