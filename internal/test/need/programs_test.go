package need_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"legwork/internal/test/need"
)

var programs need.Programs

func TestMain(m *testing.M) { os.Exit(programs.Run(m)) }

func TestProgramsAreBuiltOnce(t *testing.T) {
	const server = "legwork/internal/test/fakes/mcpserver"
	path := programs.Path(t, server)
	if filepath.Base(path) != "mcpserver" {
		t.Errorf("the path of %s is %s, want it to end in mcpserver", server, path)
	}
	if out, err := exec.CommandContext(t.Context(), path, "-h").CombinedOutput(); !strings.Contains(string(out), "-fault") {
		t.Errorf("%s -h: got %q and %v, want its flags", path, out, err)
	}
	if again := programs.Path(t, server); again != path {
		t.Errorf("asked twice: got %s and %s, want the same", path, again)
	}
	if other := programs.WithFaults(t, server); other == path {
		t.Errorf("with faults: got %s too, want another program", other)
	}
}

func TestProgramsNeedRun(t *testing.T) {
	w := &witness{TB: t}
	new(need.Programs).Path(w, "legwork/internal/test/fakes/mcpserver")
	if want := "TestMain has to call Run"; !strings.Contains(w.end, want) {
		t.Errorf("without Run: the test ended with %q, want it to fail with %q", w.end, want)
	}
}
