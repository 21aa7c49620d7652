// Package need lets a test say what it needs from the machine. Without it the
// test is skipped with one line that says how to run it; with
// LEGWORK_REQUIRE_ALL=1, as in make check, it fails instead, so that a green
// check means that everything was run.
package need

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// Command returns the path of a program; install is the sentence that says how
// to get it.
func Command(t testing.TB, name, install string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		miss(t, "%s is not installed: %s", name, install)
	}
	return path
}

// Tmux returns the path of tmux.
func Tmux(t testing.TB) string {
	t.Helper()
	return Command(t, "tmux", "apt-get install tmux")
}

// NPM returns the path of a program of the packages pinned in internal/test/npm,
// such as "mcp-server-everything", and makes sure that Node can run it.
func NPM(t testing.TB, name string) string {
	t.Helper()
	Command(t, "node", "apt-get install nodejs npm")
	path := filepath.Join(Root(t), "internal", "test", "npm", "node_modules", ".bin", name)
	if _, err := os.Stat(path); err != nil {
		miss(t, "%s is not installed: run npm ci --prefix internal/test/npm", name)
	}
	return path
}

// Node22 returns the path of Node 22 or later: the one pinned in internal/test/npm,
// or the machine's where no such package is for it. The packages there run on
// Node 20 too, but for the conformance suite.
func Node22(t testing.TB) string {
	t.Helper()
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	pinned := filepath.Join(Root(t), "internal", "test", "npm", "node_modules", "node-"+runtime.GOOS+"-"+cmp.Or(arch, runtime.GOARCH), "bin", "node")
	for _, name := range []string{pinned, "node"} {
		version, err := exec.CommandContext(t.Context(), name, "--version").Output()
		major, _, _ := strings.Cut(strings.TrimPrefix(string(version), "v"), ".")
		if n, _ := strconv.Atoi(major); err == nil && n >= 22 {
			return name
		}
	}
	miss(t, "Node 22 or later is not installed: run npm ci --prefix internal/test/npm")
	return ""
}

// NPMPackage makes sure that a package of internal/test/npm without a program of its
// own is there for Node to load.
func NPMPackage(t testing.TB, name string) {
	t.Helper()
	path := filepath.Join(Root(t), "internal", "test", "npm", "node_modules", name)
	if _, err := os.Stat(path); err != nil {
		miss(t, "%s is not installed: run npm ci --prefix internal/test/npm", name)
	}
}

// Root returns the folder that holds go.mod, so that a test finds the
// repository's files wherever its package moves.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			err = fmt.Errorf("finding go.mod above the test: %w", fs.ErrNotExist)
		}
		dir = up
	}
	t.Fatal(err)
	return ""
}

func miss(t testing.TB, format string, a ...any) {
	t.Helper()
	if os.Getenv("LEGWORK_REQUIRE_ALL") != "" {
		t.Fatalf(format, a...)
		return
	}
	t.Skipf(format, a...)
}
