// Package builtin makes the MCP servers that are part of legwork. Two of them
// are in it: clock, which knows times, time zones and dates, and math, which
// calculates exactly. All run in the process, or on standard input and output
// like any other server.
package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"legwork/tools/builtin/files"
	"legwork/tools/builtin/memory"
	"legwork/tools/builtin/search"
	"legwork/tools/builtin/web"
)

// Env is what built-in servers take from their surroundings. The zero value is
// usable.
type Env struct {
	Now  func() time.Time // the present time; nil: time.Now
	Base string           // folder that relative paths in options are seen from; empty: the working directory
	Data string           // folder for what servers keep; empty: the working directory
}

// maker makes one kind of server of options as they stand in a config.
type maker func(o options, env Env) (*server.MCPServer, error)

// Names are the built-in servers, in order.
func Names() []string { return slices.Sorted(maps.Keys(makers())) }

func makers() map[string]maker {
	return map[string]maker{
		"clock": func(o options, env Env) (*server.MCPServer, error) {
			return newClock(env.Now), o.none()
		},
		"files": func(o options, env Env) (*server.MCPServer, error) {
			return build(o, func(f files.Options) (*server.MCPServer, error) { return files.New(f, env.Base) })
		},
		"math": func(o options, _ Env) (*server.MCPServer, error) {
			return newMath(), o.none()
		},
		"memory": func(o options, env Env) (*server.MCPServer, error) {
			return build(o, func(m memory.Options) (*server.MCPServer, error) { return memory.New(m, env.Data, env.Now) })
		},
		"search": func(o options, _ Env) (*server.MCPServer, error) { return build(o, search.New) },
		"web": func(o options, env Env) (*server.MCPServer, error) {
			return build(o, func(w web.Options) (*server.MCPServer, error) {
				w.PDFs.Cache = filepath.Join(env.Data, "cache")
				return web.New(w)
			})
		},
	}
}

// New makes a built-in server. Making one has no effects: nothing is opened or
// written before its first call. An error is a mistake in the options, where it
// is one of a single option an *OptionError.
func New(name string, values map[string]any, env Env) (*server.MCPServer, error) {
	makeServer, ok := makers()[name]
	if !ok {
		return nil, fmt.Errorf("there is no built-in server %q; there are %s", name, strings.Join(Names(), ", "))
	}
	if env.Now == nil {
		env.Now = time.Now
	}
	s, err := makeServer(options{name, values}, env)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// ServeStdio serves a built-in server over in and out until in ends or ctx is
// cancelled, which is not an error. Only one can be served in a process.
func ServeStdio(ctx context.Context, name string, values map[string]any, env Env, in io.Reader, out io.Writer) error {
	s, err := New(name, values, env)
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
