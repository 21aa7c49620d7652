package caller_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"legwork/internal/test/servers"
	"legwork/tools/builtin/caller"
)

// TestOverTheWire calls a tool through a real client and server.
func TestOverTheWire(t *testing.T) {
	tests := []struct {
		name string
		meta map[string]any // nil: none is sent
		want caller.Caller
	}{
		{"nothing said", nil, caller.Caller{Chat: "local", Person: "local"}},
		{"a group", caller.Caller{Chat: "telegram:-100987", Person: "telegram:12345"}.Meta(), caller.Caller{Chat: "telegram:-100987", Person: "telegram:12345"}},
		{"a private chat", caller.Caller{Chat: "slack:D1", Person: "slack:U1", Private: true}.Meta(), caller.Caller{Chat: "slack:D1", Person: "slack:U1", Private: true}},
		{"local", caller.Caller{Chat: "local", Person: "local"}.Meta(), caller.Caller{Chat: "local", Person: "local"}},
		{"only a chat", map[string]any{"legwork/chat": "slack:C1", "legwork/private": true}, caller.Caller{Chat: "slack:C1", Person: "local"}},
		{"only a person", map[string]any{"legwork/person": "slack:U1"}, caller.Caller{Chat: "local", Person: "slack:U1"}},
		{"other types", map[string]any{"legwork/chat": 1, "legwork/person": []string{"x"}, "legwork/private": "yes"}, caller.Caller{Chat: "local", Person: "local"}},
		{"other keys", map[string]any{"chat": "slack:C1", "progress": 1}, caller.Caller{Chat: "local", Person: "local"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got caller.Caller
			s := server.NewMCPServer("who", "1")
			s.AddTool(mcp.NewTool("who"), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				got = caller.From(r)
				return mcp.NewToolResultText("ok"), nil
			})
			if _, err := servers.Call(t.Context(), servers.Connect(t, s), "who", nil, test.meta); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("read from %v (-want +got):\n%s", test.meta, diff)
			}
		})
	}
}
