package main

import (
	"context"
	"time"
)

// bulletin is what admins are to know of the config file as it is now.
type bulletin struct {
	problem string // why it is not in use; empty when it is
	late    string // keys whose change takes effect only after a restart; empty for none
}

// news tells the admins how the config stands, each state once, and seldom when
// it changes all the time: an editor that saves while somebody types must not
// fill their chats. The zero value of what is not exported is ready.
type news struct {
	tell   func(ctx context.Context, key string, data any)
	config string // its name

	told bulletin
	at   time.Time
	gap  time.Duration // between the last telling and the next one
}

// The shortest and the longest gap. It doubles with each telling, and begins
// anew when nothing was told for twice as long as the longest.
const (
	shortestGap = time.Second
	longestGap  = time.Minute
)

// report tells what has changed since the last telling. When that was just now,
// nothing is told and report is to be called again after the time it returns.
func (n *news) report(ctx context.Context, now time.Time, b bulletin) (wait time.Duration) {
	if b == n.told {
		return 0
	}
	if wait := n.gap - now.Sub(n.at); wait > 0 {
		return wait
	}
	switch {
	case b.problem != "":
		n.tell(ctx, "admin.reload_failed", map[string]any{"Config": n.config, "Problem": b.problem})
	case n.told.problem != "":
		n.tell(ctx, "admin.reload_fixed", map[string]any{"Config": n.config})
	}
	if b.problem != "" {
		b.late = n.told.late // of a config that is not in use nothing else is known
	} else if b.late != "" && b.late != n.told.late {
		n.tell(ctx, "admin.reload_restart", map[string]any{"Keys": b.late})
	}
	if now.Sub(n.at) > 2*longestGap {
		n.gap = 0
	}
	n.gap = min(max(2*n.gap, shortestGap), longestGap)
	n.told, n.at = b, now
	return 0
}
