package failpoint_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"legwork/internal/failpoint"
)

func build(t *testing.T, tags string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "walk")
	if out, err := exec.Command("go", "build", "-tags", tags, "-o", bin, "./testdata/walk").CombinedOutput(); err != nil {
		t.Fatalf("building walk with tags %q: %v\n%s", tags, err, out)
	}
	return bin
}

func TestWithTag(t *testing.T) {
	bin := build(t, "failpoints")
	tests := []struct {
		name, points, args string
		out, log           string
		signal             syscall.Signal // 0: it ends by itself
		exit               int
	}{
		{name: "nothing asked", args: "a b", out: "a b", log: "a b"},
		{name: "first hit", points: "a:1", args: "a b", log: "a", signal: syscall.SIGKILL},
		{name: "second hit", points: "a:2", args: "a b a b", out: "a b", log: "a b a", signal: syscall.SIGKILL},
		{name: "never reached", points: "a:3", args: "a b a", out: "a b a", log: "a b a"},
		{name: "several", points: "c:1,b:2", args: "a b c", out: "a b", log: "a b c", signal: syscall.SIGKILL},
		{name: "name with colon", points: "commit:after:1", args: "commit commit:after", out: "commit", log: "commit commit:after", signal: syscall.SIGKILL},
		{name: "no number", points: "a", args: "a", exit: 2},
		{name: "zero", points: "a:0", args: "a", exit: 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "hits")
			walk := exec.Command(bin, strings.Fields(test.args)...)
			walk.Env = append(os.Environ(), "LEGWORK_FAILPOINT="+test.points, "LEGWORK_FAILPOINT_LOG="+log)
			out, _ := walk.Output()
			status, _ := walk.ProcessState.Sys().(syscall.WaitStatus)
			if status.Signaled() != (test.signal != 0) || status.Signaled() && status.Signal() != test.signal || status.Exited() && status.ExitStatus() != test.exit {
				t.Errorf("walk %s with %q ended with %v, want signal %d or exit %d", test.args, test.points, walk.ProcessState, test.signal, test.exit)
			}
			if got := strings.Join(strings.Fields(string(out)), " "); got != test.out {
				t.Errorf("walk %s with %q survived %q, want %q", test.args, test.points, got, test.out)
			}
			hits, _ := os.ReadFile(log)
			if got := strings.Join(strings.Fields(string(hits)), " "); got != test.log {
				t.Errorf("walk %s with %q logged %q, want %q", test.args, test.points, got, test.log)
			}
		})
	}
}

func TestWithoutTag(t *testing.T) {
	walk := exec.Command(build(t, ""), "a")
	walk.Env = append(os.Environ(), "LEGWORK_FAILPOINT=a:1")
	out, err := walk.CombinedOutput()
	if got, want := string(out), "a\n"; err != nil || got != want {
		t.Errorf("a release printed %q and ended with %v, want %q and nil", got, err, want)
	}
}

func TestCostsNothing(t *testing.T) {
	if got := testing.AllocsPerRun(100, func() { failpoint.Hit("a") }); got != 0 {
		t.Errorf("Hit allocates %v times, want 0", got)
	}
}
