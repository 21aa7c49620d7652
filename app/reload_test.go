package app

import (
	"context"
	"slices"
	"testing"
	"time"
)

// TestReloadNotices: admins get one notice for each state of the config, and few
// when it changes all the time.
func TestReloadNotices(t *testing.T) {
	var told []string
	n := reloadNotices{config: "config.yaml", tell: func(_ context.Context, key string, _ any) { told = append(told, key) }}
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	bad, good := reloadResult{problem: "no"}, reloadResult{}
	for _, step := range []struct {
		what  string
		after time.Duration
		state reloadResult
		wait  bool
		want  []string
	}{
		{"all is well", 0, good, false, nil},
		{"a mistake", 0, bad, false, []string{"admin.reload_failed"}},
		{"the same mistake", time.Hour, bad, false, nil},
		{"mended", time.Second, good, false, []string{"admin.reload_fixed"}},
		{"needs a restart", time.Hour, reloadResult{late: "telegram"}, false, []string{"admin.reload_restart"}},
		{"another reload", time.Hour, reloadResult{late: "telegram"}, false, nil},
		{"a mistake above it", time.Hour, bad, false, []string{"admin.reload_failed"}},
		{"another at once", 0, reloadResult{problem: "nor this"}, true, nil},
		{"mended after a while", time.Second, reloadResult{late: "telegram"}, false, []string{"admin.reload_fixed"}},
	} {
		told, now = nil, now.Add(step.after)
		wait := n.report(t.Context(), now, step.state)
		if !slices.Equal(told, step.want) || wait > 0 != step.wait {
			t.Errorf("%s: told %q, to be called after %v; want %q, called again %v", step.what, told, wait, step.want, step.wait)
		}
	}

	told = nil
	for i := range 600 { // ten minutes of an editor that saves every second
		now = now.Add(time.Second)
		n.report(t.Context(), now, []reloadResult{bad, good}[i%2])
	}
	if len(told) < 10 || len(told) > 20 {
		t.Errorf("of a config that changes all the time the admins read %d messages in ten minutes, want 10 to 20", len(told))
	}
}
