package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"legwork/internal/test/callers"
	"legwork/internal/test/servers"
	"legwork/internal/test/watch"
	"legwork/llm"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/tasks/engine"
	"legwork/tasks/enginetest"
	webmcp "legwork/web/mcp"
)

// env is a running MCP endpoint. Its tokens are named after their roles; "other" is a
// second agent.
type env struct {
	*enginetest.Env
	t       testing.TB
	url     string
	service *api.Service
	stop    chan struct{} // closed when it stops
	refused chan string   // "TOKEN TOOL"
}

// model answers the calls of a model.
type model func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error)

func newEnv(t testing.TB) *env {
	t.Helper()
	return newEnvWith(t, enginetest.Plain("hello"))
}

func newEnvWith(t testing.TB, answer model) *env {
	t.Helper()
	kit := enginetest.NewEnv(t, memory.New(time.Now))
	kit.Model.Answer = answer
	kit.Start(func(s enginetest.Setup) tasks.Engine {
		return engine.New(engine.Config{Store: s.Store, Executor: s.Executor, Presenters: s.Presenters, Log: s.Log, Now: s.Now, Concurrent: s.Concurrent})
	})
	e := &env{Env: kit, t: t, stop: make(chan struct{}), refused: make(chan string, 1000)}
	e.service = api.New(api.Config{Store: kit.Store, Inbox: kit.Inbox, Webhooks: func() []string { return []string{"ops"} }, Now: kit.Now})
	handler := webmcp.New(webmcp.Config{Service: e.service, Version: "1.2.3", Stop: e.stop, Refused: func(_ context.Context, p api.Principal, tool string) {
		e.refused <- p.Name + " " + tool
	}})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(api.With(r.Context(), callers.Principal(strings.TrimSpace(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer"))))))
	}))
	e.url = web.URL
	t.Cleanup(func() {
		web.Close()
		kit.Stop()
	})
	return e
}

// as returns a client with a token.
func (e *env) as(token string) *client.Client {
	e.t.Helper()
	c, err := client.NewStreamableHttpClient(e.url, transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + token}))
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { _ = c.Close() })
	if err := c.Start(context.Background()); err != nil {
		e.t.Fatal(err)
	}
	if _, err := c.Initialize(context.Background(), mcp.InitializeRequest{}); err != nil {
		e.t.Fatal(err)
	}
	return c
}

// result is what a tool gave.
type result struct {
	refused string // text of an error that a model reads
	json.RawMessage
}

// call calls a tool with a token.
func (e *env) call(token, tool string, arguments any) result {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), watch.Patience)
	defer cancel()
	return e.read(servers.Call(ctx, e.as(token), tool, arguments, nil))
}

func (e *env) read(r *mcp.CallToolResult, err error) result {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
	if r.IsError {
		return result{refused: servers.Text(r)}
	}
	structured, err := json.Marshal(r.StructuredContent)
	if err != nil {
		e.t.Fatal(err)
	}
	var text, same any
	if json.Unmarshal([]byte(servers.Text(r)), &text) != nil || json.Unmarshal(structured, &same) != nil || !bytes.Equal(asJSON(e.t, text), asJSON(e.t, same)) {
		e.t.Errorf("the text is %s, want the structured content %s", servers.Text(r), structured)
	}
	return result{RawMessage: structured}
}

// into reads what a tool gave, which must be no refusal.
func into[T any](t testing.TB, r result) T {
	t.Helper()
	if r.refused != "" {
		t.Fatalf("the tool refused: %s", r.refused)
	}
	var v T
	if err := json.Unmarshal(r.RawMessage, &v); err != nil {
		t.Fatalf("reading %s: %v", r.RawMessage, err)
	}
	return v
}

func asJSON(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// post sends a request with a body as it is.
func (e *env) post(method, token string, header map[string]string, body string) (*http.Response, string) {
	e.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, e.url, strings.NewReader(body))
	if err != nil {
		e.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range header {
		r.Header.Set(name, value)
	}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		e.t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		e.t.Fatal(err)
	}
	return reply, string(text)
}
