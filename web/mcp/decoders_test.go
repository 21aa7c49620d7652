package mcp_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"legwork/tasks/api"
)

// TestWaitingCallsReleaseDecoders: waiting calls hold no decoder.
func TestWaitingCallsReleaseDecoders(t *testing.T) {
	e := newEnv(t)
	id := e.external("agent", "Write something")
	var waiting sync.WaitGroup
	for range 20 {
		waiting.Go(func() {
			_, got := e.post(http.MethodPost, "agent", nil, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_task","arguments":{"task_id":%q,"wait_seconds":60}}}`, id))
			if !strings.Contains(got, `"state":"stopped"`) {
				t.Errorf("got %s, want the task stopped", got)
			}
		})
	}
	for range 20 {
		e.call("viewer", "list_tasks", nil)
	}
	into[api.Task](t, e.call("agent", "cancel_task", map[string]any{"task_id": id}))
	waiting.Wait()
}
