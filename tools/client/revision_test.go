package client_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/watch"
	"legwork/tools/client"
)

// TestRevisionRefused: a request whose revision a server refuses is sent again with
// one that the server lists, and works.
func TestRevisionRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		by, era, on, supported string
		want                   string // the revision in the end
		restarts               int
	}{
		{stdio, "both", "server/discover", "", "2026-07-28", 0},
		{http, "both", "server/discover", "", "2026-07-28", 0},
		{http, "both", "server/discover", "2027-01-01,2025-11-25", "2025-11-25", 0},
		{stdio, "both", "server/discover", "2027-01-01", "2025-11-25", 0}, // it takes initialize all the same
		{http, "both", "tools/list", "", "2026-07-28", 0},
		{stdio, "both", "tools/call", "", "2026-07-28", 0},
		{http, "both", "tools/call", "", "2026-07-28", 0},
		{stdio, "legacy", "initialize", "", "2025-11-25", 0},
		{http, "legacy", "initialize", "2025-06-18,2025-03-26", "2025-06-18", 0},
		{sse, "legacy", "initialize", "2025-03-26", "2025-03-26", 0},
		{http, "legacy", "tools/list", "", "2025-11-25", 0},
		{sse, "legacy", "tools/call", "", "2025-11-25", 0},
		{stdio, "both", "tools/list", "2025-06-18", "2025-06-18", 1},
		{http, "both", "tools/call", "2025-11-25,1999-01-01", "2025-11-25", 1},
		{stdio, "legacy", "tools/call", "2025-06-18", "2025-06-18", 1},
	} {
		t.Run(strings.Join([]string{c.by, c.era, c.on, c.supported}, " "), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			args := []string{"-era", c.era, "-log", path, "-fault", "unsupported", "-on", c.on, "-times", "1", "-supported", c.supported}
			s := ready(t, fake(t, c.by, args...))
			wantText(t, "book", call(t, s, "book", `{"item":"seat"}`), false, "booked seat")
			if st := s.Status(); st.Protocol != c.want || st.Restarts != c.restarts {
				t.Errorf("got revision %s after %d restarts, want %s after %d", st.Protocol, st.Restarts, c.want, c.restarts)
			}
			log := read(path)
			if n := strings.Count(log, `"done"`); n != 1 || !strings.Contains(log, `"fault"`) || strings.Contains(log, `"violation"`) {
				t.Errorf("got %d bookings, want 1 after a refusal and without a violation; log: %s", n, log)
			}
		})
	}
}

// TestServerUpdated: when a server of another era takes the place of one, legwork
// changes the revision with it.
func TestServerUpdated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ by, from, to, want string }{
		{http, "legacy", "modern", "2026-07-28"},
		{http, "modern", "legacy", "2025-11-25"},
		{stdio, "legacy", "modern", "2026-07-28"},
		{stdio, "modern", "legacy", "2025-11-25"},
	} {
		t.Run(fmt.Sprintf("%s %s to %s", c.by, c.from, c.to), func(t *testing.T) {
			cfg, update := updated(t, c.by, c.from, c.to)
			s := ready(t, cfg, func(o *client.Options) { o.Health = 20 * time.Millisecond })
			wantText(t, "before", call(t, s, "lookup", `{"key":"k"}`), false, "value of k")
			update(s)
			watch.Until(t, "a call succeeds", func() bool {
				res, _ := try(t, s, "lookup", `{"key":"k"}`, within(2*time.Second))
				return res.Text == "value of k" && s.Status().Protocol == c.want
			})
		})
	}
}

// updated is a server of one era, which update replaces by one of another.
func updated(t *testing.T, by, from, to string) (cfg client.Config, update func(*client.Server)) {
	t.Helper()
	if by == http {
		r := serve(t, by, "127.0.0.1:0", "-era", from)
		return client.Config{Name: "s", URL: r.url}, func(*client.Server) {
			r.end()
			serve(t, by, strings.TrimSuffix(strings.TrimPrefix(r.url, "http://"), "/mcp"), "-era", to)
		}
	}
	mark := filepath.Join(t.TempDir(), "updated")
	script := fmt.Sprintf("[ -e %s ] && exec %s -era %s; exec %[2]s -era %[4]s -faults", mark, fakeServer(t), to, from)
	return client.Config{Name: "s", Command: "/bin/sh", Args: []string{"-c", script}}, func(s *client.Server) {
		if err := os.WriteFile(mark, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		call(t, s, "die", "{}")
	}
}

// TestNoCommonRevision: a server that supports no revision of legwork's is down, and
// the reason names the revisions of both.
func TestNoCommonRevision(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		by, protocol, on, want string
	}{
		{stdio, "", "*", "it supports the protocol revisions 2027-01-01, 2027-06-30, but legwork supports only 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05; update the older of the two"},
		{http, "", "*", "it supports the protocol revisions 2027-01-01, 2027-06-30, but legwork supports only 2026-07-28, 2025-11-25,"},
		{http, "2026-07-28", "*", "but with protocol 2026-07-28 in the config legwork uses only 2026-07-28; change or remove protocol"},
		{sse, "2025-06-18", "initialize", "but with protocol 2025-06-18 in the config legwork uses only 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05; change or remove protocol"},
	} {
		t.Run(strings.Join([]string{c.by, c.protocol, c.on}, " "), func(t *testing.T) {
			cfg := fake(t, c.by, "-fault", "unsupported", "-on", c.on, "-supported", "2027-01-01,2027-06-30")
			cfg.Protocol = c.protocol
			s := start(t, cfg)
			watch.Until(t, "down", func() bool { return s.Status().State == client.Down })
			if got := s.Status().Err; !strings.Contains(got, c.want) {
				t.Errorf("got %q, want it to contain %q", got, c.want)
			}
		})
	}
	t.Run("during a call", func(t *testing.T) {
		s := ready(t, fake(t, http, "-fault", "unsupported", "-on", "tools/call", "-supported", "2027-01-01"))
		r := call(t, s, "book", `{"item":"seat"}`)
		if wantText(t, "book", r, true, "The tool s.book was not carried out: it supports the protocol revisions 2027-01-01, but legwork supports only 2026-07-28,"); r.Unknown {
			t.Error("the outcome is unknown, want it known: the server did nothing")
		}
	})
}
