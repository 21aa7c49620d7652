//go:build unix

package bolt_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"legwork/internal/test/need"
	"legwork/store/bolt"
	"legwork/tasks"
)

// withFailpoints builds this test with failpoints, to be run as a child.
func withFailpoints(t *testing.T) func(point, task string, args ...string) *exec.Cmd {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "bolt.test")
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-tags", "failpoints", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("building: %v: %s", err, out)
	}
	return func(point, task string, args ...string) *exec.Cmd {
		c := exec.CommandContext(t.Context(), binary, args...)
		c.Env = append(os.Environ(), childTask+"="+task, "LEGWORK_FAILPOINT="+point)
		return c
	}
}

// killed fails unless a child was killed.
func killed(t *testing.T, c *exec.Cmd, err error) {
	t.Helper()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("the child ended with %v, want a kill", err)
	}
	if status, ok := c.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Fatalf("the child ended with %v, want a kill", c.ProcessState)
	}
}

// TestKilledCompacting kills a process that compacts and writes, at each moment
// that counts: there is one file, whole, with all that was acknowledged.
func TestKilledCompacting(t *testing.T) {
	need.Check(t) // it builds a binary
	build := withFailpoints(t)
	for _, point := range []string{"compact.before.copy:2", "compact.before.rename:1", "compact.before.rename:3", "compact.after.rename:1", "compact.after.rename:3"} {
		t.Run(point, func(t *testing.T) {
			dir := t.TempDir()
			c := build(point, "compact", dir)
			acknowledged := map[tasks.ID]int{}
			acknowledgements(t, c, acknowledged, func() {})
			killed(t, c, c.Wait())
			if len(acknowledged) < 5 {
				t.Fatalf("only %d tasks were acknowledged", len(acknowledged))
			}
			if err := bolt.Verify(damageFile(dir)); err != nil {
				t.Fatal(err)
			}
			s := open(t, dir, bolt.Options{})
			checkAcknowledged(t, s, acknowledged)
			if left, err := filepath.Glob(damageFile(dir) + ".*"); err != nil || len(left) > 0 {
				t.Errorf("left beside the file: %v, %v", left, err)
			}
		})
	}
}

// TestKilledRestoring kills a process that restores a file: the next one finds
// the damaged file or the restored one, and never none.
func TestKilledRestoring(t *testing.T) {
	need.Check(t) // it builds a binary
	build := withFailpoints(t)
	source, backup := aged(t)
	broken := read(t, damageFile(source))
	broken = broken[:len(broken)/2]
	for _, point := range []string{"restore.before.aside:1", "restore.before.rename:1", "restore.after.rename:1"} {
		dir := damaged(t, broken)
		c := build(point, "restore", dir, backup)
		killed(t, c, c.Run())
		if !restored(t, point, dir, backup) && point != "restore.after.rename:1" {
			t.Errorf("%s: the damaged file was used", point)
		}
	}
}
