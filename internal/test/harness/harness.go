package harness

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"

	"legwork/internal/test/faults"
)

// Harness holds the binaries that runs use.
type Harness struct {
	Legwork string // built with the tag failpoints and all planted faults
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
	h := &Harness{Legwork: filepath.Join(dir, "legwork"), Server: filepath.Join(dir, "mcpserver"), Dir: dir}
	if err := faults.Build(ctx, h.Legwork, main); err != nil {
		return nil, err
	}
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", h.Server, "legwork/internal/test/fakes/mcpserver").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the tool server: %w\n%s", err, out)
	}
	return h, nil
}
