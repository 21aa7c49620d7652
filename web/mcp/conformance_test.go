package mcp_test

import (
	"os/exec"
	"strings"
	"testing"

	"legwork/internal/test/need"
)

// TestConformance runs the scenarios of the protocol's suite that hold for every
// server. The others need tools of a server made for the suite.
func TestConformance(t *testing.T) {
	node, program := need.Node22(t), need.NPM(t, "conformance")
	e := newEnv(t)
	for _, scenario := range []string{"server-initialize", "ping", "tools-list"} {
		cmd := exec.CommandContext(t.Context(), node, program, "server", "--url", e.url, "--scenario", scenario)
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "Passed:") || strings.Contains(string(out), "Passed: 0/") {
			t.Errorf("%s: %v: %s", scenario, err, out)
		}
	}
}
