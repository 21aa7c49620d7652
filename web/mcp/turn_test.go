package mcp_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"legwork/tasks/api"
)

// TestManyWait: calls that wait take no other's turn.
func TestManyWait(t *testing.T) {
	h := newHouse(t)
	id := h.external("agent", "Write something")
	var waiting sync.WaitGroup
	for range 20 {
		waiting.Go(func() {
			_, got := h.post(http.MethodPost, "agent", nil, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_task","arguments":{"task_id":%q,"wait_seconds":60}}}`, id))
			if !strings.Contains(got, `"state":"stopped"`) {
				t.Errorf("got %s, want the task stopped", got)
			}
		})
	}
	for range 20 {
		h.call("viewer", "list_tasks", nil)
	}
	into[api.Task](t, h.call("agent", "cancel_task", map[string]any{"task_id": id}))
	waiting.Wait()
}
