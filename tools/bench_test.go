package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"legwork/tools"
)

// BenchmarkCall is the round trip of a small call, checks included.
func BenchmarkCall(b *testing.B) {
	for _, c := range []struct {
		name, tool, args string
		server           tools.ServerConfig
	}{
		{"in-process", "s.calculate", `{"expression":"17*23"}`, tools.ServerConfig{Builtin: "math"}},
		{"stdio", "s.lookup", `{"key":"k"}`, fake(b)},
	} {
		b.Run(c.name, func(b *testing.B) {
			m, err := tools.New(one(c.server), tools.Options{})
			if err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithCancel(b.Context())
			done := make(chan error, 1)
			go func() { done <- m.Run(ctx) }()
			b.ReportAllocs()
			for b.Loop() {
				if r, err := m.Set().Call(ctx, tools.Call{Group: "g", Tool: c.tool, Arguments: json.RawMessage(c.args)}); err != nil || r.Failed {
					b.Fatalf("got %+v, %v", r, err)
				}
			}
			cancel()
			if err := <-done; err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkVerdict is what the rules cost for each call: 60 tools, groups with
// patterns of every kind. The limit is 10 us.
func BenchmarkVerdict(b *testing.B) {
	s := newEnv(b)
	for i := range 60 {
		s.addTool(fmt.Sprintf("do_thing_%d", i), "Does a thing.")
	}
	cfg := s.config()
	cfg.Groups["g"] = tools.GroupConfig{
		Servers: []string{"s"}, Tools: []string{"*", "!x*", "!s.y?"}, ReadOnly: []string{"get_*", "list_*", "s.see_*", "do_*_59"}, Approve: tools.Approve{"do_*", "pay_*", "!do_thing_7"},
	}
	m, _ := start(b, cfg, tools.Options{})
	if list, err := m.Set().Tools(b.Context(), "g", ""); err != nil || len(list) != 60 {
		b.Fatalf("Tools: got %d, %v; want 60", len(list), err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if v := m.Set().ToolVerdict(b.Context(), "g", "s.do_thing_33"); v.Refusal != "" || !v.Ask {
			b.Fatalf("Verdict: got %+v", v)
		}
	}
}
