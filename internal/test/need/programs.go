package need

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"legwork/internal/test/faults"
	"legwork/internal/test/leaks"
)

// Programs are programs of this repository that the tests of a package run.
// Each is built when the first test asks for it. Run, called by TestMain,
// removes them. The zero value is ready for use.
type Programs struct {
	mu    sync.Mutex
	dir   string
	built map[string]func() (string, error)
}

// Tests is a testing.M, or what does something before and after one.
type Tests interface{ Run() int }

// Run runs the tests and returns the code to exit with.
func (p *Programs) Run(m Tests) int {
	dir, err := os.MkdirTemp("", "legwork-programs-")
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	p.mu.Lock()
	p.dir = dir
	p.mu.Unlock()
	return leaks.Runner{Tests: m, Patience: time.Minute}.Run() // a busy machine ends connections late
}

// Path returns the path of the program whose package is given, such as
// "legwork/internal/test/fakes/mcpserver".
func (p *Programs) Path(t testing.TB, pkg string) string {
	t.Helper()
	return p.path(t, pkg, pkg, func(path string) error {
		if out, err := exec.Command("go", "build", "-o", path, pkg).CombinedOutput(); err != nil { //nolint:gosec // tests name the package
			return fmt.Errorf("building %s: %w\n%s", pkg, err, out)
		}
		return nil
	})
}

// WithFaults returns the path of a program that package faults builds: a test
// can kill it at its failpoints, plant faults and make its clocks go faster.
func (p *Programs) WithFaults(t testing.TB, pkg string) string {
	t.Helper()
	return p.path(t, pkg, pkg+" with faults", func(path string) error { return faults.Build(context.Background(), path, pkg) })
}

func (p *Programs) path(t testing.TB, pkg, id string, build func(path string) error) string {
	t.Helper()
	path, err := p.once(pkg, id, build)()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// once returns a function that builds a program the first time.
func (p *Programs) once(pkg, id string, build func(path string) error) func() (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dir == "" {
		return func() (string, error) {
			return "", errors.New("building " + pkg + ": TestMain has to call Run of the programs")
		}
	}
	if p.built == nil {
		p.built = map[string]func() (string, error){}
	}
	if p.built[id] == nil {
		path := filepath.Join(p.dir, fmt.Sprint(len(p.built)), filepath.Base(pkg))
		p.built[id] = sync.OnceValues(func() (string, error) { return path, build(path) })
	}
	return p.built[id]
}
