// Package e2e_test runs the real binary over pipes and pseudo-terminals,
// against a strict fake model and a misbehaving tool server, and looks at it
// from the outside alone: what people and programs read, what the log says,
// and what goes over the wires.
package e2e_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
)

// bin is the folder of the binaries that TestMain builds.
var bin string

func TestMain(m *testing.M) {
	flag.Parse()
	// Most of these tests wait for timeouts of the binary, not for a processor.
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		if err := parallel.Value.Set("6"); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(build(m))
}

// build builds the binaries, runs the tests and removes the binaries.
func build(m *testing.M) int {
	var err error
	if bin, err = os.MkdirTemp("", "legwork-e2e-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(bin) //nolint:errcheck // a temporary folder
	command := exec.Command("go", "build", "-o", bin+string(filepath.Separator), "legwork/cmd/legwork", "legwork/fakes/mcpserver", "legwork/examples/travel")
	if out, err := command.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the binaries: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// hasty is the binary in which the platforms' time can go faster than the
// clock's: see package failpoint.
func hasty(t *testing.T) string {
	t.Helper()
	if err := hurry(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(bin, "hasty")
}

// hurry builds it when the first test needs it.
var hurry = sync.OnceValue(func() error {
	out, err := exec.Command("go", "build", "-tags", "failpoints", "-o", filepath.Join(bin, "hasty"), "legwork/cmd/legwork").CombinedOutput()
	if err != nil {
		return fmt.Errorf("building the binary with failpoints: %w\n%s", err, out)
	}
	return nil
})
