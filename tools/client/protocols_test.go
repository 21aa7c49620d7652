package client_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/watch"
	"legwork/tools/client"
)

// TestEras agrees on a revision with servers of every kind, without breaking
// the protocol once.
func TestEras(t *testing.T) {
	for _, c := range []struct{ by, era, protocol, want string }{
		{stdio, "both", "", "2026-07-28"},
		{stdio, "modern", "", "2026-07-28"},
		{stdio, "legacy", "", "2025-11-25"},
		{stdio, "both", "2025-06-18", "2025-06-18"},
		{http, "both", "", "2026-07-28"},
		{http, "modern", "", "2026-07-28"},
		{http, "legacy", "", "2025-11-25"},
		{http, "both", "2025-11-25", "2025-11-25"},
		{http, "legacy", "2025-03-26", "2025-03-26"},
		{sse, "legacy", "", "2025-11-25"},
		{sse, "both", "2024-11-05", "2024-11-05"},
	} {
		t.Run(strings.Join([]string{c.by, c.era, c.protocol}, " "), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			cfg := fake(t, c.by, "-era", c.era, "-log", path)
			cfg.Protocol = c.protocol
			s := ready(t, cfg)
			wantText(t, "lookup", call(t, s, "lookup", `{"key":"k"}`), false, "value of k")
			st := s.Status()
			if st.Protocol != c.want || st.Kind != c.by || st.Restarts != 0 || st.Tools != 3 {
				t.Errorf("status: got %+v, want protocol %s by %s, 3 tools and no restart", st, c.want, c.by)
			}
			if strings.Contains(read(path), `"violation"`) {
				t.Errorf("the server complained: %s", read(path))
			}
		})
	}
}

// TestProtocolFixed: a server that does not speak the revision of the config is
// not used with another.
func TestProtocolFixed(t *testing.T) {
	for _, by := range []string{stdio, http} {
		cfg := fake(t, by, "-era", "legacy")
		cfg.Protocol = "2026-07-28"
		s := start(t, cfg)
		watch.Until(t, by+": down", func() bool { return s.Status().State == client.Down })
		if got, want := s.Status().Err, "protocol in the config is 2026-07-28"; !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want it to contain %q", by, got, want)
		}
	}
}

// TestOlderTransport: an address that takes no streamable HTTP is tried by
// HTTP+SSE.
func TestOlderTransport(t *testing.T) {
	cfg := fake(t, sse)
	cfg.SSE = false
	s := ready(t, cfg)
	wantText(t, "lookup", call(t, s, "lookup", `{"key":"k"}`, within(5*time.Second)), false, "value of k")
}
