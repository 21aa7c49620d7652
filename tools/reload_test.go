package tools_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/internal/test/need"
	"legwork/tools"
)

// TestReloadKeys: each key of a group and of a server takes effect with the
// next call, and only a change of how the server starts starts it anew.
func TestReloadKeys(t *testing.T) {
	base := func() (tools.ServerConfig, tools.GroupConfig) {
		return fake(t, "-faults"), tools.GroupConfig{Servers: []string{"s"}, Approve: tools.Approve{"never"}, ToolTimeout: 10 * time.Second}
	}
	s, g := base()
	m := run(t, tools.Config{Servers: map[string]tools.ServerConfig{"s": s}, Groups: map[string]tools.GroupConfig{"g": g}})
	pid := func() string {
		t.Helper()
		r, err := m.Set().Call(t.Context(), tools.Call{Group: "g", Tool: "s.pid"})
		if err != nil {
			t.Fatal(err)
		}
		return r.Text
	}
	group := func() tools.Group { return m.Set().Groups()[0] }
	verdict := func() tools.Verdict { return m.Set().ToolVerdict(t.Context(), "g", "s.lookup") }
	first := pid()
	for _, c := range []struct {
		key    string
		change func(*tools.ServerConfig, *tools.GroupConfig)
		seen   func() bool
		anew   bool
	}{
		{"description", func(_ *tools.ServerConfig, g *tools.GroupConfig) { g.Description = "New." }, func() bool { return group().Description == "New." }, false},
		{"instructions", func(_ *tools.ServerConfig, g *tools.GroupConfig) { g.Instructions = "New." }, func() bool { return group().Instructions == "New." }, false},
		{"model", func(_ *tools.ServerConfig, g *tools.GroupConfig) { g.Model = "new" }, func() bool { return group().Model == "new" }, false},
		{"allow", func(_ *tools.ServerConfig, g *tools.GroupConfig) { g.Allow = []string{"slack:C1"} }, func() bool { return len(group().Allow) == 1 }, false},
		{"tools", func(_ *tools.ServerConfig, g *tools.GroupConfig) { g.Tools = []string{"pid"} }, func() bool { return verdict().Refusal != "" }, false},
		{"approve", func(_ *tools.ServerConfig, g *tools.GroupConfig) { g.Approve = tools.Approve{"always"} }, func() bool { return verdict().Ask }, false},
		{"read_only", func(_ *tools.ServerConfig, g *tools.GroupConfig) { g.ReadOnly = []string{"*"} }, func() bool { return verdict().ReadOnly && group().ReadOnly }, false},
		{"trust_annotations", func(s *tools.ServerConfig, _ *tools.GroupConfig) { s.TrustAnnotations = true }, func() bool { return verdict().ReadOnly }, false},
		{"ask_secrets", func(s *tools.ServerConfig, _ *tools.GroupConfig) { s.AskSecrets = true }, func() bool { return verdict().AskSecrets }, false},
		{"tool_timeout", func(_ *tools.ServerConfig, g *tools.GroupConfig) { g.ToolTimeout = 50 * time.Millisecond }, func() bool {
			return strings.Contains(call(t, m, "slow", `{"ms":2000}`).Text, "within 50ms")
		}, false},
		{"show_result_bytes", func(_ *tools.ServerConfig, g *tools.GroupConfig) { g.ShowResultBytes = 2 }, func() bool { return call(t, m, "pid", `{}`).Show == 2 }, false},
		{"env", func(s *tools.ServerConfig, _ *tools.GroupConfig) { s.Env = map[string]string{"A": "b"} }, func() bool { return true }, true},
		{"roots", func(s *tools.ServerConfig, _ *tools.GroupConfig) { s.Roots = []string{"/"} }, func() bool { return true }, true},
		{"sampling", func(s *tools.ServerConfig, _ *tools.GroupConfig) { s.Sampling = true }, func() bool { return true }, true},
	} {
		s, g := base()
		c.change(&s, &g)
		if err := m.Reload(t.Context(), tools.Config{Servers: map[string]tools.ServerConfig{"s": s}, Groups: map[string]tools.GroupConfig{"g": g}}); err != nil {
			t.Fatalf("%s: %v", c.key, err)
		}
		if !c.seen() {
			t.Errorf("%s: the next call does not go by it", c.key)
		}
		if anew := pid() != first; anew != c.anew {
			t.Errorf("%s: the server was started anew: %v, want %v", c.key, anew, c.anew)
		}
		s, g = base()
		if err := m.Reload(t.Context(), tools.Config{Servers: map[string]tools.ServerConfig{"s": s}, Groups: map[string]tools.GroupConfig{"g": g}}); err != nil {
			t.Fatal(err)
		}
		first = pid()
	}
}

// TestChangeUnderLoad: while a tool changes to and fro, no call that was judged
// by one definition is answered by the other.
func TestChangeUnderLoad(t *testing.T) {
	need.Check(t)
	s := newEnv(t)
	s.addTool("pay", "Version 0")
	s.addTool("look", "Looks.")
	m, _ := s.run(t, tools.Options{})
	agreed := m.Set().ToolVerdict(t.Context(), "g", "s.pay").Definition
	stop := make(chan struct{})
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				v := m.Set().ToolVerdict(t.Context(), "g", "s.pay")
				if v.Refusal == "" && v.Definition != agreed {
					t.Errorf("Verdict: got the definition %s, which nobody agreed to", v.Definition)
				}
				list, err := m.Set().Tools(t.Context(), "g", "")
				for _, x := range list {
					if x.Name == "s.pay" && x.Description != "Version 0" {
						t.Errorf("Tools: got %q, which nobody agreed to", x.Description)
					}
				}
				r, err2 := m.Set().Call(t.Context(), tools.Call{Group: "g", Tool: "s.pay", Definition: v.Definition, Arguments: json.RawMessage(`{}`)})
				if err != nil || err2 != nil || r.Failed && !strings.Contains(r.Text, "quarantined") && !strings.Contains(r.Text, "was not called") {
					t.Errorf("Call: got %+v, %v, %v; want a result or a refusal", r, err, err2)
				}
			}
		})
	}
	for i := 1; i <= 3; i++ {
		s.change(t, "pay", fmt.Sprintf("Version %d", i), "it is quarantined", func() bool { return len(m.Changes(t.Context())) == 1 })
		s.change(t, "pay", "Version 0", "it is free again", func() bool { return len(m.Changes(t.Context())) == 0 })
	}
	close(stop)
	callers.Wait()
}
