// Package harness kills the real legwork with SIGKILL, at every boundary of its
// journal and at random moments, and starts it again. Package judge then looks
// for broken promises in what people and services saw. It reads the wires: stdin
// and stdout, the messages in chats, the buttons that people pressed, the
// requests to the model endpoint and to the tool servers. Of legwork's store it
// reads the ledger alone, after the run, and compares it with the model's wire.
//
// Everything follows from a seed: the questions, the moments of the kills, the
// deliveries that are repeated. A violation prints its seed.
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
