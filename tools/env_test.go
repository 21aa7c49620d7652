package tools_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"legwork/internal/test/watch"
	"legwork/tools"
)

// env is an MCP server by HTTP whose tools can be changed while it runs.
type env struct {
	*server.MCPServer
	url string

	mu       sync.Mutex
	received []mcp.CallToolRequest
}

func newEnv(t testing.TB) *env {
	t.Helper()
	s := &env{MCPServer: server.NewMCPServer("shop", "1", server.WithToolCapabilities(true), server.WithPromptCapabilities(true),
		server.WithInstructions("Sells things.\nBuy with care."))}
	h := httptest.NewServer(server.NewStreamableHTTPServer(s.MCPServer))
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	s.url = h.URL + "/mcp"
	return s
}

// addTool offers a tool, or takes the place of one of that name.
func (e *env) addTool(name, description string, more ...mcp.ToolOption) {
	e.AddTool(mcp.NewTool(name, append([]mcp.ToolOption{mcp.WithDescription(description)}, more...)...),
		func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.received = append(e.received, r)
			return mcp.NewToolResultText("sold"), nil
		})
}

// change changes a tool and waits until ok. A server reports changes only to
// clients that listen, so change repeats it now and then.
func (e *env) change(t *testing.T, name, description, what string, ok func() bool) {
	t.Helper()
	var last time.Time
	watch.Until(t, what, func() bool {
		if time.Since(last) > 500*time.Millisecond {
			e.addTool(name, description)
			last = time.Now()
		}
		return ok()
	})
}

// calls are the calls that the server received.
func (e *env) calls() []mcp.CallToolRequest {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.received
}

// config has the env as the server "s" in the group "g".
func (e *env) config() tools.Config { return one(tools.ServerConfig{URL: e.url}) }

// names are the tools of the group "g".
func names(t *testing.T, m *tools.Manager) []string {
	t.Helper()
	list, err := m.Set().Tools(t.Context(), "g", "")
	if err != nil {
		t.Fatalf("Tools: %v", err)
	}
	got := []string{}
	for _, x := range list {
		got = append(got, x.Name)
	}
	return got
}

// failingKnown is a tools.Known that outlives a manager.
type failingKnown struct {
	mu         sync.Mutex
	saved      map[string][]byte
	load, save error
}

func (k *failingKnown) Load(_ context.Context, server string) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.saved[server], k.load
}

func (k *failingKnown) Save(_ context.Context, server string, data []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.save != nil {
		return k.save
	}
	if k.saved == nil {
		k.saved = map[string][]byte{}
	}
	k.saved[server] = data
	return nil
}

// fail makes loading and saving fail with an error; nil: work again.
func (k *failingKnown) fail(load, save error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.load, k.save = load, save
}

// run runs a manager of the env until the returned function is called.
func (e *env) run(t *testing.T, o tools.Options) (m *tools.Manager, stop func()) {
	t.Helper()
	return start(t, e.config(), o)
}

// start runs a manager until the returned function is called, at the latest to
// the end of the test.
func start(t testing.TB, cfg tools.Config, o tools.Options) (m *tools.Manager, stop func()) {
	t.Helper()
	o.RestartDelay = 5 * time.Millisecond
	m, err := tools.New(cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	stop = sync.OnceFunc(func() {
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
	t.Cleanup(stop)
	return m, stop
}
