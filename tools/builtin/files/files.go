// Package files is the built-in MCP server that reads and, when allowed,
// writes the files of a folder that each chat or person has for itself.
// Nothing leaves that folder: everything goes through os.Root.
package files

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"legwork/tools/builtin/caller"
)

// Options are what the config says about a server. The zero value is valid.
type Options struct {
	Root          string `json:"root"`            // the folder; {chat} and {person} stand for a name made of the caller's; empty: workspace/{chat}
	Write         bool   `json:"write"`           // offer the tools that change files
	MaxFileBytes  int64  `json:"max_file_bytes"`  // of a file that is written; 0: 10 MiB
	MaxTotalBytes int64  `json:"max_total_bytes"` // of all files in the folder, so that nothing more is written; 0: 200 MiB
	MaxFiles      int    `json:"max_files"`       // files and folders in the folder, likewise; 0: 10000
}

// withDefaults fills in what is left out and refuses what makes no sense.
func (o Options) withDefaults() (Options, error) {
	if o.MaxFileBytes < 0 || o.MaxTotalBytes < 0 || o.MaxFiles < 0 {
		return o, errors.New("max_file_bytes, max_total_bytes and max_files must not be negative; leave them out for the default")
	}
	if o.MaxTotalBytes == 0 {
		o.MaxTotalBytes = max(200<<20, o.MaxFileBytes)
	}
	if o.MaxFileBytes == 0 {
		o.MaxFileBytes = min(10<<20, o.MaxTotalBytes)
	}
	if o.MaxFileBytes > o.MaxTotalBytes {
		return o, fmt.Errorf("max_file_bytes is %d, more than the %d of max_total_bytes; lower the first or raise the second", o.MaxFileBytes, o.MaxTotalBytes)
	}
	if o.MaxFiles == 0 {
		o.MaxFiles = 10000
	}
	return o, nil
}

// files serves the tools.
type files struct {
	o     Options
	root  rootPattern
	seed  maphash.Seed
	locks [64]sync.Mutex // of folders, by their hash: one change at a time
}

// New makes the server. A relative root is seen from base. Folders are opened
// with each call, and made by the first one that writes.
func New(o Options, base string) (*server.MCPServer, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	p, err := newRootPattern(o.Root, base)
	if err != nil {
		return nil, err
	}
	instructions := "Reads the files of a workspace. "
	if o.Write {
		instructions = "Reads and writes the files of a workspace. "
	}
	s := server.NewMCPServer("legwork-files", "1", server.WithToolCapabilities(false), server.WithRecovery(),
		server.WithInputSchemaValidation(), server.WithInstructions(instructions+`Paths are relative to it, such as "notes/plan.md".`))
	f := &files{o: o, root: p, seed: maphash.MakeSeed()}
	f.addReaders(s)
	if o.Write {
		f.addWriters(s)
	}
	return s, nil
}

// workspace is the folder of one caller during one call.
type workspace struct {
	*tree
	o Options
}

// answer is what a tool does in a workspace. Its error is given to the model.
type answer func(ctx context.Context, w *workspace, r mcp.CallToolRequest) (*mcp.CallToolResult, error)

func (f *files) read(do answer) server.ToolHandlerFunc {
	return func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		t, err := f.root.open(caller.From(r), false)
		return f.run(ctx, t, err, do, r)
	}
}

// write has the folder to itself, as far as this server goes, so that quotas
// hold and no edit is lost.
func (f *files) write(do answer) server.ToolHandlerFunc {
	return func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		who := caller.From(r)
		lock := &f.locks[maphash.String(f.seed, f.root.path(who))%uint64(len(f.locks))]
		lock.Lock()
		defer lock.Unlock()
		t, err := f.root.open(who, true)
		return f.run(ctx, t, err, do, r)
	}
}

func (f *files) run(ctx context.Context, t *tree, err error, do answer, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if err != nil {
		return mcp.NewToolResultError(workspaceError(err).Error()), nil
	}
	defer t.close()
	result, err := do(ctx, &workspace{t, f.o}, r)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	return result, nil
}

// textResult is a result in words.
func textResult(format string, a ...any) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText(fmt.Sprintf(format, a...)), nil
}

// hints are the annotations of a tool. None of them reaches beyond the
// workspace.
func hints(reads, destroys, repeats bool) mcp.ToolOption {
	return func(t *mcp.Tool) {
		no := false
		t.Annotations.ReadOnlyHint, t.Annotations.DestructiveHint = &reads, &destroys
		t.Annotations.IdempotentHint, t.Annotations.OpenWorldHint = &repeats, &no
	}
}
