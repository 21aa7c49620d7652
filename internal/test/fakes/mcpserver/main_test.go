package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"legwork/internal/test/need"
	"legwork/internal/test/servers"
	"legwork/internal/test/watch"
)

var programs need.Programs

// TestMain runs the fake instead of the tests when a test asks for it.
func TestMain(m *testing.M) {
	if os.Getenv("MCPSERVER_TEST") != "" {
		main()
		return
	}
	need.Parallel(8)
	os.Exit(programs.Run(m))
}

// place is where a fake is to be reached.
type place struct {
	url string // "" on stdio
	log string
	cmd []string

	patience time.Duration // with one request
}

// start starts a fake on a transport: stdio, http or sse. It is built without
// the race detector, so that it starts fast: most tests start one each.
func start(t *testing.T, on string, args ...string) place {
	t.Helper()
	return startProgram(t, programs.Path(t, "legwork/internal/test/fakes/mcpserver"), on, args...)
}

// startProgram starts the fake as it was built, or, as os.Args[0], with the
// race detector when the tests have it.
func startProgram(t *testing.T, program, on string, args ...string) place {
	t.Helper()
	dir := t.TempDir()
	p := place{log: filepath.Join(dir, "log.jsonl")}
	args = append([]string{"-log", p.log}, args...)
	if on == "stdio" {
		p.cmd = append([]string{program}, args...)
		return p
	}
	cmd := exec.Command(program, append(args, "-"+on, "127.0.0.1:0")...)
	cmd.Env = append(os.Environ(), "MCPSERVER_TEST=1")
	url, stop, err := servers.Listen(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	p.url = url
	return p
}

// people answers elicitations, sampling and roots as a good client does.
type people struct {
	mu    sync.Mutex
	asked []string
}

func (p *people) Elicit(_ context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r.Params.Message)
	content := map[string]any{"class": "first", "bags": 2, "email": "ann@example.com"}
	switch {
	case r.Params.URL != "":
		content = nil
	case strings.Contains(r.Params.Message, "Shall"):
		content = map[string]any{"sure": true}
	case strings.Contains(r.Params.Message, "colour"):
		content = map[string]any{"colour": "green"}
	}
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: "accept", Content: content}}, nil
}

func (p *people) CreateMessage(context.Context, mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	return &mcp.CreateMessageResult{SamplingMessage: mcp.SamplingMessage{Role: mcp.RoleAssistant, Content: mcp.NewTextContent("Bread, o bread.")}, Model: "m"}, nil
}

func (p *people) ListRoots(context.Context, mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	return &mcp.ListRootsResult{Roots: []mcp.Root{{URI: "file:///srv/shop", Name: "shop"}}}, nil
}

// connect connects a client of the library in one era.
func connect(t *testing.T, p place, on, era string, who *people) *client.Client {
	t.Helper()
	var tr transport.Interface
	var err error
	switch on {
	case "stdio":
		tr = transport.NewStdio(p.cmd[0], append(os.Environ(), "MCPSERVER_TEST=1"), p.cmd[1:]...)
	case "http":
		tr, err = transport.NewStreamableHTTP(p.url)
	case "sse":
		tr, err = transport.NewSSE(p.url)
	}
	if err != nil {
		t.Fatal(err)
	}
	o := []client.ClientOption{
		client.WithElicitationHandler(who), client.WithSamplingHandler(who), client.WithRootsHandler(who),
		client.WithClientCapabilities(mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{Form: &struct{}{}, URL: &struct{}{}}}),
		// Otherwise a server that takes 5 s to start passes for one of the legacy era.
		client.WithDiscoverTimeout(-1),
	}
	if era == "legacy" {
		o = append(o, client.WithProtocolVersion(mcp.LATEST_LEGACY_PROTOCOL_VERSION))
	}
	c := client.NewClient(tr, o...)
	ctx, cancel := context.WithTimeout(t.Context(), watch.Patience)
	t.Cleanup(cancel)
	if err := c.Start(context.Background()); err != nil {
		t.Fatalf("starting %s: %v", on, err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := c.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{ProtocolVersion: mcp.LATEST_PROTOCOL_VERSION, ClientInfo: mcp.Implementation{Name: "test", Version: "1"}}}); err != nil {
		t.Fatalf("greeting on %s: %v", on, err)
	}
	return c
}

func call(t *testing.T, c *client.Client, tool string, args map[string]any) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), watch.Patience)
	defer cancel()
	if args == nil {
		args = map[string]any{}
	}
	r, err := c.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: tool, Arguments: args}})
	if err != nil {
		return "error: " + err.Error()
	}
	b, _ := json.Marshal(r)
	return string(b)
}

// logged returns the lines of a log of one event.
func logged(t *testing.T, p place, event string) []entry {
	t.Helper()
	b, err := os.ReadFile(p.log)
	if err != nil {
		t.Fatal(err)
	}
	var list []entry
	for line := range strings.Lines(string(b)) {
		var e entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("the log line %q: %v", line, err)
		}
		if e.Event == event {
			list = append(list, e)
		}
	}
	return list
}

var everywhere = []struct{ on, server, client, version string }{
	{"stdio", "both", "modern", "2026-07-28"},
	{"stdio", "modern", "modern", "2026-07-28"},
	{"stdio", "legacy", "modern", "2025-11-25"},
	{"stdio", "both", "legacy", "2025-11-25"},
	{"http", "both", "modern", "2026-07-28"},
	{"http", "modern", "modern", "2026-07-28"},
	{"http", "legacy", "modern", "2025-11-25"},
	{"http", "both", "legacy", "2025-11-25"},
	{"sse", "both", "modern", "2025-11-25"},
	{"sse", "legacy", "legacy", "2025-11-25"},
}

// TestGood: a client of the library gets everything on every transport in
// every era without breaking the protocol.
func TestGood(t *testing.T) {
	for _, e := range everywhere {
		t.Run(fmt.Sprintf("%s/server %s/client %s", e.on, e.server, e.client), func(t *testing.T) {
			t.Parallel()
			p := startProgram(t, os.Args[0], e.on, "-full", "-era", e.server)
			c := connect(t, p, e.on, e.client, &people{})
			if got := c.ProtocolVersion(); got != e.version {
				t.Errorf("version: got %q, want %q", got, e.version)
			}
			for _, x := range []struct {
				tool string
				args map[string]any
				want string
			}{
				{"lookup", map[string]any{"key": "k"}, `"text":"value of k"`},
				{"weather", map[string]any{"place": "Rome"}, `"structuredContent":{"celsius":21.5,"sky":"clear"}`},
				{"picture", nil, `"mimeType":"image/png"`},
				{"sound", nil, `"mimeType":"audio/wav"`},
				{"document", nil, `note://tomorrow`},
				{"steps", map[string]any{"n": 2, "ms": 1}, `took 2 steps`},
				{"ask_form", nil, `ann@example.com`},
				{"ask_url", nil, `accept`},
				{"ask_twice", nil, `\"sure\":true`},
				{"ask_both", nil, `\"sure\":true`},
				{"sample", nil, `Bread, o bread.`},
				{"roots", nil, `file:///srv/shop`},
			} {
				if e.on == "sse" && slices.Contains([]string{"ask_form", "ask_url", "ask_twice", "ask_both", "sample", "roots"}, x.tool) {
					continue // the library's client hears no questions on HTTP+SSE
				}
				if got := call(t, c, x.tool, x.args); !strings.Contains(got, x.want) {
					t.Errorf("%s: got %s, want it to contain %s", x.tool, got, x.want)
				}
			}
			progress(t, c)
			offers(t, c)
			if v := logged(t, p, "violation"); len(v) != 0 {
				t.Errorf("violations: got %+v, want none", v)
			}
		})
	}
}

func offers(t *testing.T, c *client.Client) {
	t.Helper()
	var read mcp.ReadResourceRequest
	for uri, want := range map[string]string{"note://today": "Buy bread.", "note://square.png": "image/png", "note://day/monday": "on monday"} {
		read.Params.URI = uri
		r, err := c.ReadResource(t.Context(), read)
		b, _ := json.Marshal(r)
		if err != nil || !strings.Contains(string(b), want) {
			t.Errorf("reading %s: got %s and %v, want %q", uri, b, err, want)
		}
	}
	read.Params.URI = "note://huge"
	if r, err := c.ReadResource(t.Context(), read); err != nil || len(r.Contents) != 1 {
		t.Errorf("reading note://huge: got %v, want one content", err)
	}
	var get mcp.GetPromptRequest
	get.Params.Name, get.Params.Arguments = "summarize", map[string]string{"text": "War and Peace"}
	r, err := c.GetPrompt(t.Context(), get)
	b, _ := json.Marshal(r)
	if err != nil || !strings.Contains(string(b), "Summarize: War and Peace") {
		t.Errorf("prompt: got %s and %v", b, err)
	}
}

// progress makes steps with a token and counts what the server tells.
func progress(t *testing.T, c *client.Client) {
	t.Helper()
	told := make(chan string, 10)
	c.OnNotification(func(n mcp.JSONRPCNotification) {
		if n.Method == "notifications/progress" {
			told <- fmt.Sprint(n.Params.AdditionalFields["message"])
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), watch.Patience)
	defer cancel()
	_, err := c.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: "steps", Arguments: map[string]any{"n": 3, "ms": 1}, Meta: &mcp.Meta{ProgressToken: "p1"}}})
	if err != nil {
		t.Errorf("steps: %v", err)
	}
	for i := range 3 {
		select {
		case got := <-told:
			if want := fmt.Sprintf("step %d of 3", i+1); got != want {
				t.Errorf("progress: got %q, want %q", got, want)
			}
		case <-ctx.Done():
			t.Fatalf("progress: %d of 3 notifications came", i)
		}
	}
}
