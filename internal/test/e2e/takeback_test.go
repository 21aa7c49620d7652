package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"legwork/conf"
)

// TestTokenGoesAtOnce: a token that is taken back is of no use any more while the
// same change still waits for a server that does not come up.
func TestTokenGoesAtOnce(t *testing.T) {
	t.Parallel()
	o := newAPIEnv(t, options{})
	if got := o.calls(goneToken, "GET", "/v1/me", ""); got.status != http.StatusOK {
		t.Fatalf("before: got %d %s", got.status, got.body)
	}
	var kept strings.Builder
	for line := range strings.Lines(o.config) {
		if !strings.Contains(line, conf.HashToken(goneToken)) {
			kept.WriteString(line)
		}
		if strings.HasPrefix(line, "servers:") {
			kept.WriteString("  hung: {command: sleep, args: [\"600\"]}\n")
		}
	}
	o.configure(kept.String())
	var log string
	o.until("that the token is of no use", func() bool {
		got := o.calls(goneToken, "GET", "/v1/me", "")
		log = o.err.String()
		return got.status == http.StatusUnauthorized
	})
	if strings.Contains(log, "config reloaded") {
		t.Error("it was of use until everything else was reloaded")
	}
	if got := o.calls(adminToken, "GET", "/v1/me", ""); got.status != http.StatusOK {
		t.Errorf("a token that stays: got %d %s", got.status, got.body)
	}
}
