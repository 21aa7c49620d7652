package need

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

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

// Run runs the tests and returns the code to exit with.
func (p *Programs) Run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "legwork-programs-")
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	p.mu.Lock()
	p.dir = dir
	p.mu.Unlock()
	return leaks.Runner{Tests: m}.Run()
}

// Path returns the path of the program whose package is given, such as
// "legwork/internal/test/fakes/mcpserver", built with those build tags.
func (p *Programs) Path(t testing.TB, pkg string, tags ...string) string {
	t.Helper()
	path, err := p.once(pkg, strings.Join(tags, ","))()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func (p *Programs) once(pkg, tags string) func() (string, error) {
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
	dir, id := filepath.Join(p.dir, fmt.Sprint(len(p.built))), pkg+" "+tags
	if p.built[id] == nil {
		p.built[id] = sync.OnceValues(func() (string, error) { return build(dir, pkg, tags) })
	}
	return p.built[id]
}

// build builds a program into a folder, and returns its path there.
func build(dir, pkg, tags string) (string, error) {
	path := filepath.Join(dir, filepath.Base(pkg))
	out, err := exec.Command("go", "build", "-tags", tags, "-o", path, pkg).CombinedOutput() //nolint:gosec // tests name the package
	if err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	return path, nil
}
