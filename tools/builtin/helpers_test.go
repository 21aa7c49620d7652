package builtin_test

import (
	"context"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"legwork/tools/builtin"
)

// caller connects to a built-in server and returns a function that calls its
// tools: the text of the result, and whether it is an error.
func caller(t testing.TB, name string, now func() time.Time) func(tool string, args map[string]any) (string, bool) {
	t.Helper()
	s, err := builtin.New(name, nil, builtin.Env{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewInProcessClient(s)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := c.Initialize(ctx, mcp.InitializeRequest{}); err != nil {
		t.Fatal(err)
	}
	return func(tool string, args map[string]any) (string, bool) {
		r := mcp.CallToolRequest{}
		r.Params.Name, r.Params.Arguments = tool, args
		res, err := c.CallTool(ctx, r)
		if err != nil {
			return err.Error(), true
		}
		text := ""
		for _, part := range res.Content {
			if p, ok := part.(mcp.TextContent); ok {
				text += p.Text
			}
		}
		return text, res.IsError
	}
}
