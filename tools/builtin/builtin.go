// Package builtin holds the MCP servers that are part of legwork: clock, which
// knows times, time zones and dates, and math, which calculates exactly. They
// run in the process, or on standard input and output like any other server.
package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Names are the built-in servers, in order.
func Names() []string { return slices.Sorted(maps.Keys(makers())) }

func makers() map[string]func(now func() time.Time) *server.MCPServer {
	return map[string]func(func() time.Time) *server.MCPServer{
		"clock": newClock,
		"math":  func(func() time.Time) *server.MCPServer { return newMath() },
	}
}

// New makes a built-in server. now is what it takes for the present time.
// Neither clock nor math has options: any is an error.
func New(name string, options map[string]any, now func() time.Time) (*server.MCPServer, error) {
	maker, ok := makers()[name]
	if !ok {
		return nil, fmt.Errorf("there is no built-in server %q; there are %s", name, strings.Join(Names(), ", "))
	}
	if len(options) > 0 {
		keys := slices.Sorted(maps.Keys(options))
		return nil, fmt.Errorf("the built-in server %q has no options; remove %s", name, strings.Join(keys, ", "))
	}
	return maker(now), nil
}

// ServeStdio serves a built-in server over in and out until in ends or ctx is
// cancelled, which is not an error. Only one can be served in a process.
func ServeStdio(ctx context.Context, name string, in io.Reader, out io.Writer) error {
	s, err := New(name, nil, time.Now)
	if err != nil {
		return err
	}
	if err := server.NewStdioServer(s).Listen(ctx, in, out); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("serving %s: %w", name, err)
	}
	return nil
}

// newServer makes a server whose tools only read.
func newServer(name, instructions string) *server.MCPServer {
	return server.NewMCPServer("legwork-"+name, "1", server.WithToolCapabilities(false), server.WithRecovery(),
		server.WithInputSchemaValidation(), server.WithInstructions(instructions))
}

// add offers a tool. What answer returns is the result; its error is given to
// the model as a result that says what to change.
func add(s *server.MCPServer, t mcp.Tool, answer func(context.Context, mcp.CallToolRequest) (string, error)) {
	yes, no := true, false
	t.Annotations = mcp.ToolAnnotation{ReadOnlyHint: &yes, DestructiveHint: &no, IdempotentHint: &yes, OpenWorldHint: &no}
	s.AddTool(t, func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		text, err := answer(ctx, r)
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		return mcp.NewToolResultText(text), nil
	})
}
