// Package deploy_test looks at what is in deploy, with the tools of those who
// use it.
package deploy_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestQueries runs the tests of the module that has the parsers of Prometheus.
// Without them, as on a machine that is not connected, it is skipped.
func TestQueries(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 9*time.Minute) // a slow machine fetches and builds them anew
	defer cancel()
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = filepath.Join("..", "promql")
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("vet", "."); err != nil && os.Getenv("LEGWORK_REQUIRE_ALL") == "" && strings.Contains(out, "dial tcp") {
		t.Skipf("its modules are not here: %s", out)
	} else if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := run("test", "-count=1", "."); err != nil {
		t.Errorf("%v:\n%s", err, out)
	} else if !strings.Contains(out, "ok") {
		t.Errorf("nothing was tested: %s", out)
	}
}
