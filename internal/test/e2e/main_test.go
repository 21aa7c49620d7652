// Package e2e_test runs the real binary over pipes and pseudo-terminals,
// against a strict fake model and a misbehaving tool server, and looks at it
// from the outside alone: what people and programs read, what the log says,
// and what goes over the wires.
package e2e_test

import (
	"os"
	"testing"

	"legwork/internal/test/need"
)

// programs are the binaries that are looked at, and those around them.
var programs need.Programs

func TestMain(m *testing.M) {
	need.Quick("^(TestText|TestGuidance|TestKillInMidTask|TestApproveInTerminal|TestTelegramPrivate|TestSlackDirect|TestMCPNeedsAToken)$")
	need.Parallel(6) // most of these tests wait for timeouts of the binary, not for a processor
	os.Exit(programs.Run(m))
}

// legwork returns the path of the binary.
func legwork(t *testing.T) string {
	t.Helper()
	return programs.Path(t, "legwork/cmd/legwork")
}

// hasty is the binary in which the platforms' time can go faster than the
// clock's: see package faults.
func hasty(t *testing.T) string {
	t.Helper()
	return programs.WithFaults(t, "legwork/cmd/legwork")
}

// toolServer returns the path of the tool server that misbehaves on demand.
func toolServer(t *testing.T) string {
	t.Helper()
	return programs.Path(t, "legwork/internal/test/fakes/mcpserver")
}
