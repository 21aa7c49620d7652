package tools_test

import (
	"context"
	"encoding/json"
	"testing"

	"legwork/tools"
	"legwork/tools/client"
)

// BenchmarkCall is the round trip of a small call, checks included.
func BenchmarkCall(b *testing.B) {
	for _, c := range []struct {
		name, tool, args string
		server           tools.ServerConfig
	}{
		{"in-process", "s.calculate", `{"expression":"17*23"}`, tools.ServerConfig{Builtin: "math"}},
		{"stdio", "s.lookup", `{"key":"k"}`, fake()},
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
				if r, err := m.Set().Call(ctx, "g", tools.Call{Call: client.Call{Tool: c.tool, Arguments: json.RawMessage(c.args)}}); err != nil || r.Failed {
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
