package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"legwork/internal/test/servers"
	"legwork/internal/test/watch"
)

// listening is an open subscriptions/listen stream.
type listening struct {
	t      *testing.T
	lines  *bufio.Scanner
	cancel context.CancelFunc
}

func (e *env) listen(t *testing.T, id string) *listening {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), watch.Patience)
	t.Cleanup(cancel)
	body := `{"jsonrpc":"2.0","id":` + id + `,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{
		"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer agent", "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen",
	} {
		r.Header.Set(name, value)
	}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reply.Body.Close() })
	if kind := reply.Header.Get("Content-Type"); reply.StatusCode != http.StatusOK || kind != "text/event-stream" {
		t.Fatalf("subscriptions/listen gave %d %s, want a stream", reply.StatusCode, kind)
	}
	return &listening{t, bufio.NewScanner(reply.Body), cancel}
}

// next reads the next message; empty at the end of the stream.
func (l *listening) next() string {
	l.t.Helper()
	for l.lines.Scan() {
		if data, ok := strings.CutPrefix(l.lines.Text(), "data: "); ok {
			var message any
			if err := json.Unmarshal([]byte(data), &message); err != nil {
				l.t.Fatal(err)
			}
			return string(asJSON(l.t, message))
		}
	}
	return ""
}

// TestListen: the stream for changes is acknowledged and stays open until legwork
// stops.
func TestListen(t *testing.T) {
	e := newEnv(t)
	one, other := e.listen(t, `7`), e.listen(t, `"x"`)
	acknowledged := func(id string) string {
		return `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `},"notifications":{}}}`
	}
	for id, l := range map[string]*listening{`7`: one, `"x"`: other} {
		if got := l.next(); got != acknowledged(id) {
			t.Errorf("stream %s begins with %s, want %s", id, got, acknowledged(id))
		}
	}
	ended := make(chan string, 1)
	go func() { ended <- one.next() }()
	e.call("agent", "list_tasks", nil) // other requests are answered meanwhile
	select {
	case got := <-ended:
		t.Fatalf("the stream went on with %q while legwork runs, want nothing", got)
	default:
	}
	other.cancel()
	if got := other.next(); got != "" {
		t.Errorf("after the client left came %s, want the end of the stream", got)
	}
	close(e.stop)
	want := `{"id":7,"jsonrpc":"2.0","result":{"_meta":{"io.modelcontextprotocol/subscriptionId":7},"resultType":"complete"}}`
	if got := <-ended; got != want {
		t.Errorf("at the stop came %s, want %s", got, want)
	}
	if got := one.next(); got != "" {
		t.Errorf("after the result came %s, want the end of the stream", got)
	}
}

// TestUnknownTool: a call of a tool that does not exist is refused with one sentence.
func TestUnknownTool(t *testing.T) {
	e := newEnv(t)
	const want = `There is no tool "frob"; tools/list names those that you may use.`
	ctx, cancel := context.WithTimeout(t.Context(), watch.Patience)
	defer cancel()
	if _, err := servers.Call(ctx, e.as("agent"), "frob", nil, nil); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("by the current revision: got %v, want %s", err, want)
	}
	reply, body := e.post(http.MethodPost, "agent", nil, `{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"frob"}}`)
	var got struct {
		ID    string
		Error struct{ Message string }
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || reply.StatusCode != http.StatusOK || got.ID != "x" || got.Error.Message != want {
		t.Errorf("by an older revision: got %d %s, want %s", reply.StatusCode, body, want)
	}
}

// TestListenByLibrary: the client of the library takes the stream for what it is.
func TestListenByLibrary(t *testing.T) {
	e := newEnv(t)
	c := e.as("agent")
	acknowledged := make(chan struct{}, 1)
	c.OnNotification(func(n mcp.JSONRPCNotification) {
		if n.Method == mcp.MethodNotificationSubscriptionsAcknowledged {
			acknowledged <- struct{}{}
		}
	})
	done := make(chan error, 1)
	go func() { done <- c.Listen(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true}) }()
	<-acknowledged
	close(e.stop)
	if err := <-done; err != nil {
		t.Errorf("Listen returned %v, want nil at the stop", err)
	}
}

// TestListenOfOtherRevisions: older revisions have no such request, and a header that
// contradicts the message is refused.
func TestListenOfOtherRevisions(t *testing.T) {
	e := newEnv(t)
	reply, body := e.post(http.MethodPost, "agent", nil, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{}}}`)
	if !strings.Contains(body, `"error"`) {
		t.Errorf("without a revision: got %d %s, want an error", reply.StatusCode, body)
	}
	reply, body = e.post(http.MethodPost, "agent", map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"},
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
	if reply.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"error"`) {
		t.Errorf("with another method in the header: got %d %s, want an error with status 400", reply.StatusCode, body)
	}
}
