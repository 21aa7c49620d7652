// Package need lets a test say what it needs from the machine, and which tests
// are too slow for go test ./... . There a test without what it needs is skipped
// with one line that says how to run it, and slow tests are skipped or try
// less. With LEGWORK_REQUIRE_ALL=1, as in make check, everything runs, and a test
// without what it needs fails, so that a green check means that everything was
// run.
package need

import (
	"cmp"
	"flag"
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

// All reports that every test is to run in full, as in make check.
func All() bool { return os.Getenv("LEGWORK_REQUIRE_ALL") != "" }

// Check skips a test that takes too long for go test ./..., unless -run names it.
func Check(t testing.TB) {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	if run := flag.Lookup("test.run"); !All() && !strings.Contains(run.Value.String(), name) {
		t.Skipf("runs in make check only; here: go test -run '^%s$'", name)
	}
}

// Times returns how often a test tries something: full in make check, quick
// elsewhere.
func Times(quick, full int) int {
	if All() {
		return full
	}
	return quick
}

// Checks sets how often rapid tries a property outside make check, where it is as
// often as rapid does by itself. TestMain calls it.
func Checks(quick int) {
	flag.Parse()
	if !All() {
		_ = flag.Set("rapid.checks", strconv.Itoa(quick)) // a flag that holds any number
	}
}

// Quick leaves only the tests whose names match a pattern to go test ./..., where
// the rest of the package takes too long. make check runs all of them, and -run
// any. TestMain calls it.
func Quick(pattern string) {
	flag.Parse()
	if run := flag.Lookup("test.run"); run.Value.String() == "" && !All() {
		fmt.Println("runs only", pattern, "here; make check runs all tests of this package")
		_ = run.Value.Set(pattern) // a flag that holds any text
	}
}

// Parallel lets so many tests of a package that call t.Parallel run beside each
// other where -parallel does not say how many: tests that wait need no core.
// TestMain calls it.
func Parallel(n int) {
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = parallel.Value.Set(strconv.Itoa(n)) // a flag that holds any number
	}
}

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

// Tmux returns the path of tmux, in make check.
func Tmux(t testing.TB) string {
	t.Helper()
	Check(t)
	return Command(t, "tmux", "apt-get install tmux")
}

// NPM returns the path of a program of the packages pinned in internal/test/npm,
// such as "mcp-server-everything", and makes sure that Node can run it. It does so
// in make check.
func NPM(t testing.TB, name string) string {
	t.Helper()
	Check(t)
	Command(t, "node", "apt-get install nodejs npm")
	path := filepath.Join(Root(t), "internal", "test", "npm", "node_modules", ".bin", name)
	if _, err := os.Stat(path); err != nil {
		miss(t, "%s is not installed: run npm ci --prefix internal/test/npm", name)
	}
	return path
}

// Node22 returns the path of Node 22 or later: the one pinned in internal/test/npm,
// or the machine's where no such package is for it. The packages there run on
// Node 20 too, but for the conformance suite. It does so in make check.
func Node22(t testing.TB) string {
	t.Helper()
	Check(t)
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

// NPMPackage returns the folder of a package of internal/test/npm, and makes sure
// that it is there for Node to load.
func NPMPackage(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(Root(t), "internal", "test", "npm", "node_modules", name)
	if _, err := os.Stat(path); err != nil {
		miss(t, "%s is not installed: run npm ci --prefix internal/test/npm", name)
	}
	return path
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
	if All() {
		t.Fatalf(format, a...)
		return
	}
	t.Skipf(format, a...)
}

// PDFs skips a test that reads PDFs where the race detector is on: compiling the PDF
// library takes minutes then.
func PDFs(t testing.TB) {
	t.Helper()
	if underRace {
		t.Skip("reading PDFs takes too long under the race detector")
	}
}
