package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"legwork/internal/test/watch"
)

const begins = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// connected is the session of a client of older protocol revisions.
func (e *env) connected(token string) string {
	e.t.Helper()
	reply, body := e.post(http.MethodPost, token, nil, begins)
	session := reply.Header.Get("Mcp-Session-Id")
	if session == "" {
		e.t.Fatalf("initialize gave %d without a session: %s", reply.StatusCode, body)
	}
	return session
}

// TestWaitIsCancelled: a client of older protocol revisions cancels a call by a
// notification. Those of other clients with the same request ids cancel nothing.
func TestWaitIsCancelled(t *testing.T) {
	e := newEnv(t)
	id := e.external("agent", "Write something")
	mine, twin, foreign := e.connected("agent"), e.connected("agent"), e.connected("other")
	if mine == twin {
		t.Fatalf("two clients have the session %s", mine)
	}
	ctx, cancel := context.WithTimeout(t.Context(), watch.Patience)
	defer cancel()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_task","arguments":{"task_id":%q,"wait_seconds":300},"_meta":{"progressToken":"p"}}}`, id)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Authorization": "Bearer agent", "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Session-Id": mine} {
		r.Header.Set(name, value)
	}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	stream := bufio.NewScanner(reply.Body)
	next := func() (method string) {
		t.Helper()
		for stream.Scan() {
			if data, ok := strings.CutPrefix(stream.Text(), "data: "); ok {
				var message struct{ Method string }
				if err := json.Unmarshal([]byte(data), &message); err != nil {
					t.Fatal(err)
				}
				return message.Method
			}
		}
		t.Fatalf("the stream ended: %v", stream.Err())
		return ""
	}
	const progress = "notifications/progress"
	if got := next(); got != progress {
		t.Fatalf("the wait began with %q, want %s", got, progress)
	}
	cancels := func(token, session string) {
		t.Helper()
		reply, text := e.post(http.MethodPost, token, map[string]string{"Mcp-Session-Id": session}, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
		if reply.StatusCode != http.StatusAccepted {
			t.Errorf("the cancellation gave %d %s", reply.StatusCode, text)
		}
	}
	cancels("other", mine)
	cancels("other", foreign)
	cancels("viewer", "")
	cancels("agent", twin)
	cancels("agent", "")
	e.call("agent", "add_message", map[string]any{"task_id": id, "type": "thought", "content": "still waited for"})
	if got := next(); got != progress {
		t.Fatalf("what others cancelled ended the wait: got %q, want %s", got, progress)
	}
	cancels("agent", mine)
	if got := next(); got != "" {
		t.Errorf("after the cancellation came %q, want the end of the call", got)
	}
}
