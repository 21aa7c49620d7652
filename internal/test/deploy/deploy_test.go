// Package deploy_test looks at what is in deploy, with the tools of those who
// use it.
package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"legwork/internal/test/need"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestQueries runs the tests of the module that has the parsers of Prometheus.
func TestQueries(t *testing.T) {
	need.Check(t) // a slow machine fetches and builds them anew for minutes
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = filepath.Join("..", "promql")
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("vet", "."); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := run("test", "-count=1", "."); err != nil {
		t.Errorf("%v:\n%s", err, out)
	} else if !strings.Contains(out, "ok") {
		t.Errorf("nothing was tested: %s", out)
	}
}
