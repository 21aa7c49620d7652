package tools_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"

	"legwork/tools"
)

// TestBuiltinVerdicts: whose results are believed, and whose addresses may be
// visited.
func TestBuiltinVerdicts(t *testing.T) {
	cfg := tools.Config{Servers: map[string]tools.ServerConfig{
		"hours": {Builtin: "clock"}, "sums": {Builtin: "math"}, "web": {Builtin: "web"}, "notes": {Builtin: "memory"},
		"finder": {Builtin: "search", Options: map[string]any{"url": "https://searx.example.com/search"}},
		"files":  {Builtin: "files", Options: map[string]any{"write": true}},
		"math":   fake(t),
	}}
	m, _ := start(t, cfg, tools.Options{Base: t.TempDir(), Data: t.TempDir()})
	type verdict struct{ Ask, AskTainted, Remembers, Trusted, Sources bool }
	got := map[string]verdict{}
	for _, tool := range []string{"hours.time_in", "sums.calculate", "web.fetch", "notes.recall", "notes.remember", "notes.forget", "finder.search", "files.read", "files.write", "math.lookup"} {
		group, _, _ := strings.Cut(tool, ".")
		v := m.Set().ToolVerdict(t.Context(), group, tool)
		if v.Refusal != "" {
			t.Errorf("%s: got refusal %q, want none", tool, v.Refusal)
		}
		got[tool] = verdict{v.Ask, v.AskTainted, v.Remembers, v.Trusted, v.Sources}
	}
	want := map[string]verdict{
		"hours.time_in": {Trusted: true}, "sums.calculate": {Trusted: true}, "web.fetch": {}, "notes.recall": {}, "notes.forget": {Ask: true},
		"notes.remember": {Ask: true, AskTainted: true, Remembers: true, Trusted: true},
		"finder.search":  {Sources: true}, "files.read": {}, "files.write": {Ask: true}, "math.lookup": {Ask: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
}

// TestOwnDefinitions: reading a server's resources raises no question, whether
// or not the server is trusted, and its tools are held to nothing.
func TestOwnDefinitions(t *testing.T) {
	s := newEnv(t)
	s.addTool("pay", "Pays a bill.")
	s.AddResource(mcp.NewResource("shop://prices", "prices"), func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: "shop://prices", Text: "milk: 2"}}, nil
	})
	cfg := s.config()
	cfg.Groups["g"] = tools.GroupConfig{Servers: []string{"s"}}
	m, _ := start(t, cfg, tools.Options{})
	if diff := cmp.Diff([]string{"s.list_resources", "s.pay", "s.read_resource"}, names(t, m)); diff != "" {
		t.Fatalf("tools (-want +got):\n%s", diff)
	}
	for tool, ask := range map[string]bool{"s.pay": true, "s.read_resource": false, "s.list_resources": false} {
		if v := m.Set().ToolVerdict(t.Context(), "g", tool); v.Ask != ask || v.ReadOnly == ask || v.Repeatable == ask || v.Trusted {
			t.Errorf("%s: got %+v, want Ask %v and the rest to fit", tool, v, ask)
		}
	}
	r, err := m.Set().Call(t.Context(), tools.Call{Group: "g", Tool: "s.read_resource", Arguments: json.RawMessage(`{"uri":"shop://prices"}`)})
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, "read_resource", r, false, "milk: 2")
}

// TestCopies: copies of one server, and servers with a tool of one name, stay
// apart: the one that was meant is called.
func TestCopies(t *testing.T) {
	a, b := newEnv(t), newEnv(t)
	a.addTool("pay", "Pays a bill.")
	b.addTool("pay", "Pays a bill.")
	cfg := tools.Config{
		Servers: map[string]tools.ServerConfig{"a": {URL: a.url}, "a-copy": {URL: a.url}, "b": {URL: b.url}},
		Groups:  map[string]tools.GroupConfig{"g": {Servers: []string{"a", "a-copy", "b"}, Approve: tools.Approve{"a-copy.*"}}},
	}
	m, _ := start(t, cfg, tools.Options{})
	list, err := m.Set().Tools(t.Context(), "g", "")
	var exposed []string
	for _, x := range list {
		exposed = append(exposed, x.Exposed)
		if v := m.Set().ToolVerdict(t.Context(), "g", x.Name); v.Ask != (x.Name == "a-copy.pay") {
			t.Errorf("%s: got %+v, want an approval for that of a-copy alone", x.Name, v)
		}
	}
	if diff := cmp.Diff([]string{"a-copy__pay", "a__pay", "b__pay"}, exposed); diff != "" || err != nil {
		t.Fatalf("exposed names (-want +got):\n%s%v", diff, err)
	}
	if r, err := m.Set().Call(t.Context(), tools.Call{Group: "g", Tool: "b.pay"}); err != nil || r.Failed {
		t.Fatalf("Call: got %+v, %v", r, err)
	}
	if len(a.calls()) != 0 || len(b.calls()) != 1 {
		t.Errorf("calls: got %d of a and %d of b, want 0 and 1", len(a.calls()), len(b.calls()))
	}
	for _, tool := range []string{"pay", "c.pay", "b.py"} {
		v := m.Set().ToolVerdict(t.Context(), "g", tool)
		if !strings.Contains(v.Refusal, "There is no tool") || !slices.ContainsFunc([]string{"a.pay", "b.pay"}, func(s string) bool { return strings.Contains(v.Refusal, s) }) {
			t.Errorf("Verdict of %q: got %+v, want a refusal that lists the tools", tool, v)
		}
	}
}
