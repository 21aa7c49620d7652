package tools_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"

	"legwork/internal/test/watch"
	"legwork/tools"
)

// TestFind: tools are found by what they are called, what they say and what
// they take.
func TestFind(t *testing.T) {
	s := newEnv(t)
	for i := range 30 {
		s.addTool(fmt.Sprintf("thing_%d", i), fmt.Sprintf("Does the thing number %d.", i))
	}
	s.addTool("get_issue_comments", "Lists what people wrote.")
	s.addTool("pay", "Settles an invoice.", mcp.WithString("currency"))
	s.addTool("x1", "Unhelpful.", mcp.WithTitleAnnotation("Translate a letter"))
	cfg := s.config()
	cfg.Groups["few"] = tools.GroupConfig{Servers: []string{"s"}, Tools: []string{"thing_*"}, ToolTimeout: 10 * time.Second}
	m, _ := start(t, cfg, tools.Options{})
	find := func(group, query string) []string {
		t.Helper()
		found, err := m.Set().Find(t.Context(), group, "", query)
		if err != nil {
			t.Fatalf("Find(%s, %s): %v", group, query, err)
		}
		return found
	}
	for _, c := range []struct{ query, want string }{
		{"issue comment", "s.get_issue_comments"},
		{"settle invoices", "s.pay"},
		{"currency", "s.pay"},
		{"translate", "s.x1"},
		{"thing 17", "s.thing_17"},
	} {
		if found := find("g", c.query); len(found) == 0 || found[0] != c.want {
			t.Errorf("Find(%q): got %v, want %s first", c.query, found, c.want)
		}
	}
	if found := find("g", "thing"); len(found) != 8 {
		t.Errorf("Find(thing): got %d tools, want 8", len(found))
	}
	if found := find("g", "zebra"); len(found) != 0 {
		t.Errorf("Find(zebra): got %v, want none", found)
	}
	if found := find("few", "invoice"); len(found) != 0 {
		t.Errorf("Find in a group without it: got %v, want none", found)
	}
	if _, err := m.Set().Find(t.Context(), "none", "", "x"); err == nil {
		t.Error("Find in no group: got nil, want an error")
	}
	s.change(t, "zebra", "Paints stripes.", "what is new is found", func() bool {
		return slices.Contains(find("g", "stripes"), "s.zebra")
	})
}

// TestProbe: each server says for itself what is wrong with it, in time.
func TestProbe(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	s.addTool("pay", "Pays a bill.")
	s.addTool("list", "Lists bills.")
	cfg := s.config()
	cfg.Groups["g"] = tools.GroupConfig{Servers: []string{"s"}, ReadOnly: []string{"list"}}
	cfg.Servers["clock"] = tools.ServerConfig{Builtin: "clock"}
	cfg.Servers["mute"] = tools.ServerConfig{Command: "sleep", Args: []string{"60"}}
	cfg.Servers["none"] = tools.ServerConfig{Command: "/there/is/no/such/program"}
	m, _ := start(t, cfg, tools.Options{})
	from := time.Now()
	type brief struct {
		Name, Problem string
		Tools         int
		Asks          []string
	}
	got := map[string]brief{}
	for _, p := range m.Probe(t.Context(), 2*time.Second) {
		got[p.Name] = brief{p.Name, p.Problem, p.Tools, p.Asks}
	}
	if took := time.Since(from); took > watch.Patience {
		t.Errorf("Probe took %v, want about 2 s", took)
	}
	if got["none"].Problem == "" {
		t.Error("a program that does not exist: got no problem")
	}
	delete(got, "none")
	want := map[string]brief{
		"clock": {Name: "clock", Tools: got["clock"].Tools},
		"mute":  {Name: "mute", Problem: "not ready after 2s: it does not answer, or needs longer to start"},
		"s":     {Name: "s", Tools: 2, Asks: []string{"pay"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Probe (-want +got):\n%s", diff)
	}
}
