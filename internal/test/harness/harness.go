package harness

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Harness holds the binaries that runs use.
type Harness struct {
	Legwork string // built with the tag failpoints
	Server  string // the tool server
	Dir     string // runs get folders in it
}

// Build builds the binaries into dir, from the module that holds the working
// directory. main is the package of the one to be killed, such as
// "./cmd/legwork".
func Build(ctx context.Context, dir, main string) (*Harness, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	mod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return nil, fmt.Errorf("finding go.mod: %w", err)
	}
	h := &Harness{Legwork: filepath.Join(dir, "legwork"), Server: filepath.Join(dir, "mcpserver"), Dir: dir}
	for bin, pkg := range map[string]string{h.Legwork: main, h.Server: "./internal/test/fakes/mcpserver"} {
		build := exec.CommandContext(ctx, "go", "build", "-tags", "failpoints", "-o", bin, pkg)
		build.Dir = filepath.Dir(strings.TrimSpace(string(mod)))
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("building %s: %w\n%s", pkg, err, out)
		}
	}
	return h, nil
}
