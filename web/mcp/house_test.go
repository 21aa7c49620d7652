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
	"legwork/llm"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/tasks/engine"
	"legwork/tasks/enginetest"
	webmcp "legwork/web/mcp"
)

// house is a legwork whose tokens are named after their roles; "other" is a
// second agent.
type house struct {
	*enginetest.Kit
	t       testing.TB
	url     string
	service *api.Service
	stop    chan struct{} // closed when it stops
	refused chan string   // "TOKEN TOOL"
}

// model answers a call.
type model func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error)

func newHouse(t testing.TB) *house {
	t.Helper()
	return newHouseOf(t, enginetest.Plain("hello"))
}

func newHouseOf(t testing.TB, answer model) *house {
	t.Helper()
	kit := enginetest.NewKit(t, memory.New(time.Now))
	kit.Model.Answer = answer
	kit.Start(func(s enginetest.Setup) tasks.Engine {
		return engine.New(engine.Config{Store: s.Store, Executor: s.Executor, Log: s.Log, Now: s.Now, Concurrent: s.Concurrent})
	})
	h := &house{Kit: kit, t: t, stop: make(chan struct{}), refused: make(chan string, 1000)}
	h.service = api.New(api.Config{Store: kit.Store, Inbox: kit.Inbox, Webhooks: func() []string { return []string{"ops"} }, Now: kit.Now})
	handler := webmcp.New(webmcp.Config{Service: h.service, Version: "1.2.3", Stop: h.stop, Refused: func(_ context.Context, p api.Principal, tool string) {
		h.refused <- p.Name + " " + tool
	}})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(api.With(r.Context(), callers.Principal(strings.TrimSpace(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer"))))))
	}))
	h.url = web.URL
	t.Cleanup(func() {
		web.Close()
		kit.Stop()
	})
	return h
}

// as returns a client with a token.
func (h *house) as(token string) *client.Client {
	h.t.Helper()
	c, err := client.NewStreamableHttpClient(h.url, transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + token}))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = c.Close() })
	if err := c.Start(context.Background()); err != nil {
		h.t.Fatal(err)
	}
	if _, err := c.Initialize(context.Background(), mcp.InitializeRequest{}); err != nil {
		h.t.Fatal(err)
	}
	return c
}

// result is what a tool gave.
type result struct {
	refused string // text of an error that a model reads
	json.RawMessage
}

// call calls a tool with a token.
func (h *house) call(token, tool string, arguments any) result {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return h.read(servers.Call(ctx, h.as(token), tool, arguments, nil))
}

func (h *house) read(r *mcp.CallToolResult, err error) result {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
	if r.IsError {
		return result{refused: servers.Text(r)}
	}
	structured, err := json.Marshal(r.StructuredContent)
	if err != nil {
		h.t.Fatal(err)
	}
	var text, same any
	if json.Unmarshal([]byte(servers.Text(r)), &text) != nil || json.Unmarshal(structured, &same) != nil || !bytes.Equal(asJSON(h.t, text), asJSON(h.t, same)) {
		h.t.Errorf("the text is %s, want the structured content %s", servers.Text(r), structured)
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
func (h *house) post(method, token string, header map[string]string, body string) (*http.Response, string) {
	h.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, h.url, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range header {
		r.Header.Set(name, value)
	}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return reply, string(text)
}
