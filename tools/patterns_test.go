package tools_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"legwork/tools"
)

// TestIdle: patterns that fit no tool are reported, but not while a server of
// the group is away.
func TestIdle(t *testing.T) {
	m, err := tools.New(tools.Config{
		Servers: map[string]tools.ServerConfig{
			"clock": {Builtin: "clock"}, "math": {Builtin: "math"},
			"gone": {Command: "/nowhere/at/all"},
		},
		Groups: map[string]tools.GroupConfig{
			"fine":  {Servers: []string{"clock"}, Tools: []string{"*", "!date_*"}, ReadOnly: []string{"clock.time_in"}, Approve: tools.Approve{"date_?iff"}},
			"words": {Servers: []string{"clock"}, Approve: tools.Approve{tools.ApproveAlways}},
			"misspelt": {
				Servers: []string{"clock", "math"}, Tools: []string{"time_*", "!dtae_*"},
				ReadOnly: []string{"math.time_in", "calculate"}, Approve: tools.Approve{"ask", "clock.date_add"},
			},
			"away": {Servers: []string{"clock", "gone"}, Tools: []string{"dtae_*"}},
		},
	}, tools.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = m.Run(ctx) })
	defer running.Wait()
	defer cancel()
	m.Probe(ctx, 10*time.Second)
	for group, want := range map[string][]tools.UnusedPattern{
		"fine": nil, "words": nil, "away": nil, "unknown": nil,
		"misspelt": {
			{Key: "tools", Index: 1, Pattern: "!dtae_*", Nearest: "date_add"},
			{Key: "read_only", Index: 0, Pattern: "math.time_in", Nearest: "clock.time_in"},
			{Key: "approve", Index: 0, Pattern: "ask"},
		},
	} {
		if diff := cmp.Diff(want, m.Set().UnusedPatterns(group)); diff != "" {
			t.Errorf("idle patterns of %q (-want +got):\n%s", group, diff)
		}
	}
}
