package mcp_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"legwork/internal/test/servers"
	"legwork/internal/test/watch"
	"legwork/tasks/api"
)

// TestTextIsPlain: the text of results contains code and links unescaped.
func TestTextIsPlain(t *testing.T) {
	e := newEnv(t)
	const code = "<a href=\"x?y&z\"> => \u2028"
	id := e.external("agent", code)
	into[api.State](t, e.call("agent", "update_state", map[string]any{"task_id": id, "values": map[string]any{"code": code}}))
	ctx, cancel := context.WithTimeout(t.Context(), watch.Patience)
	defer cancel()
	for tool, want := range map[string]string{"get_task": `\"x?y&z\"> =>`, "get_state": `<a href=\"x?y&z\">`, "get_context": `<a href=`} {
		r, err := servers.Call(ctx, e.as("agent"), tool, map[string]any{"task_id": id}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if text := servers.Text(r); !strings.Contains(text, want) || strings.Contains(text, `\u003c`) || strings.Contains(text, `\u0026`) {
			t.Errorf("%s says %s, want %s", tool, text, want)
		}
	}
}

// TestPagesAreForModels: a page of long messages is short.
func TestPagesAreForModels(t *testing.T) {
	e := newEnv(t)
	id := e.external("agent", "Write something")
	for range 10 {
		into[api.Message](t, e.call("agent", "add_message", map[string]any{"task_id": id, "type": "observation", "content": strings.Repeat("x", 15<<10)}))
	}
	r := e.call("agent", "get_context", map[string]any{"task_id": id, "limit": 200})
	page := into[struct {
		Messages []json.RawMessage `json:"messages"`
		Next     *int              `json:"next_after"`
	}](t, r)
	if len(r.RawMessage) > 100<<10 || page.Next == nil || *page.Next != len(page.Messages) {
		t.Errorf("a page has %d bytes and %d messages, and goes on after %v", len(r.RawMessage), len(page.Messages), page.Next)
	}
}
