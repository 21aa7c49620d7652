// Package servers connects tests and measurements to MCP servers: those of this
// process, and programs that listen on a socket.
package servers

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Connect returns a client of a server in this process, ready for calls. It is
// closed at the end of the test.
func Connect(t testing.TB, s *server.MCPServer) *client.Client {
	t.Helper()
	c, err := client.NewInProcessClient(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	ctx := context.Background() // the server's, until it is closed
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Initialize(ctx, mcp.InitializeRequest{}); err != nil {
		t.Fatal(err)
	}
	return c
}

// Call calls a tool, with _meta when there is some.
func Call(ctx context.Context, c *client.Client, tool string, arguments any, meta map[string]any) (*mcp.CallToolResult, error) {
	r := mcp.CallToolRequest{}
	r.Params.Name, r.Params.Arguments = tool, arguments
	if meta != nil {
		r.Params.Meta = &mcp.Meta{AdditionalFields: meta}
	}
	return c.CallTool(ctx, r)
}

// Text returns the texts of a result, a line each.
func Text(r *mcp.CallToolResult) string {
	var parts []string
	for _, part := range r.Content {
		if p, ok := part.(mcp.TextContent); ok {
			parts = append(parts, p.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// Listen starts a program that writes the address at which it listens in the
// first line of its standard error. stop kills it and waits for its end; it may
// be called again.
func Listen(cmd *exec.Cmd) (url string, stop func(), err error) {
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return "", nil, fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	lines := bufio.NewReader(stderr)
	drained := make(chan struct{})
	stop = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		<-drained
		_ = cmd.Wait() // killed
	})
	url, err = lines.ReadString('\n')
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, lines)
	}()
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("reading the address of %s: %w", cmd.Path, err)
	}
	return strings.TrimSpace(url), stop, nil
}
