package mcp_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"legwork/internal/test/need"
)

var passed = regexp.MustCompile(`Passed: (\d+)/\d+, (\d+) failed`)

// TestConformance runs the scenarios of the protocol's suite, in its latest release
// and its newest pre-release, that hold for every server. The others, and the checks
// that the suite calls not testable, need tools of a server made for the suite.
func TestConformance(t *testing.T) {
	node := need.Node22(t)
	e := newEnv(t)
	for name, scenarios := range map[string][]string{
		"@modelcontextprotocol/conformance": {"server-initialize", "ping", "tools-list", "resources-list", "server-sse-multiple-streams"},
		"conformance-next":                  {"server-initialize", "ping", "tools-list", "server-stateless", "http-header-validation", "resources-list", "server-sse-multiple-streams"},
	} {
		program := filepath.Join(need.NPMPackage(t, name), "dist", "index.js")
		for _, scenario := range scenarios {
			cmd := exec.CommandContext(t.Context(), node, program, "server", "--url", e.url, "--scenario", scenario)
			cmd.Dir = t.TempDir()
			out, err := cmd.CombinedOutput()
			result := passed.FindStringSubmatch(string(out))
			if result == nil || result[1] == "0" || result[2] != fmt.Sprint(strings.Count(string(out), "Error: Not testable:")) {
				t.Errorf("%s of %s: %v: %s", scenario, name, err, out)
			}
		}
	}
}
