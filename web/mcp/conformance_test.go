package mcp_test

import (
	"os/exec"
	"strings"
	"testing"

	"legwork/internal/test/need"
)

// TestConformance runs what the suite of the protocol asks of every server; the
// rest of it is about tools that only a server made for the suite has.
func TestConformance(t *testing.T) {
	node, program := need.Node22(t), need.NPM(t, "conformance")
	h := newHouse(t)
	for _, scenario := range []string{"server-initialize", "ping", "tools-list"} {
		cmd := exec.CommandContext(t.Context(), node, program, "server", "--url", h.url, "--scenario", scenario)
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "Passed:") || strings.Contains(string(out), "Passed: 0/") {
			t.Errorf("%s: %v: %s", scenario, err, out)
		}
	}
}
