package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"legwork/internal/form"
	"legwork/tools/client"
)

// httpRequest is one request to a server that a test answers by hand.
type httpRequest struct {
	method string
	params map[string]json.RawMessage
	header nethttp.Header
}

// scripted serves the modern revision, with the tool "do" and answers to its calls.
func scripted(t *testing.T, tool string, answer func(httpRequest) string) client.Config {
	t.Helper()
	srv := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		var m struct {
			ID     json.RawMessage            `json:"id"`
			Method string                     `json:"method"`
			Params map[string]json.RawMessage `json:"params"`
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			nethttp.Error(w, err.Error(), nethttp.StatusBadRequest)
			return
		}
		var result string
		switch m.Method {
		case "server/discover":
			result = `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
		case "tools/list":
			result = `{"tools":[` + tool + `]}`
		default:
			result = answer(httpRequest{m.Method, m.Params, r.Header})
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	t.Cleanup(srv.Close)
	return client.Config{Name: "s", URL: srv.URL}
}

const (
	doTool = `{"name":"do","inputSchema":{"type":"object"}}`
	done   = `{"content":[{"type":"text","text":"done"}]}`
)

// TestBusyServer: a server that asks for patience in place of questions gets
// the call again, with its state.
func TestBusyServer(t *testing.T) {
	t.Parallel()
	calls := 0
	s := ready(t, scripted(t, doTool, func(a httpRequest) string {
		if calls++; calls > 1 && string(a.params["requestState"]) != `"later"` {
			t.Errorf("call %d: got state %s, want \"later\"", calls, a.params["requestState"])
		}
		if calls < 3 {
			return `{"resultType":"input_required","inputRequests":{},"requestState":"later"}`
		}
		return done
	}))
	wantText(t, "do", call(t, s, "do", "{}"), false, "done")
	calls = -1000
	wantText(t, "for ever", call(t, s, "do", "{}", within(700*time.Millisecond)), true, "did not answer within 700ms")
}

// TestFormThenAddress: a server that wants a form and a visit at once gets both
// answers together, though a person is asked twice.
func TestFormThenAddress(t *testing.T) {
	const want = `{"resultType":"input_required","requestState":"x","inputRequests":{` +
		`"a":{"method":"elicitation/create","params":{"mode":"url","message":"Sign in.","url":"https://example.com/in","elicitationId":"1"}},` +
		`"b":{"method":"elicitation/create","params":{"message":"Your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}},` +
		`"c":{"method":"elicitation/create","params":{"message":"What?","requestedSchema":{"type":"object","properties":{"x":{"type":"object"}}}}}}}`
	var told string
	s := ready(t, scripted(t, doTool, func(a httpRequest) string {
		if r := a.params["inputResponses"]; r != nil {
			told = string(r)
			return done
		}
		return want
	}))
	p := &person{answers: []form.Answer{accept(`{"name":"Ann"}`), {Action: form.Accept}}}
	wantText(t, "do", converse(t, s, "do", p), false, "done")
	if got, want := told, `{"a":{"action":"accept"},"b":{"action":"accept","content":{"name":"Ann"}},"c":{"action":"decline"}}`; got != want {
		t.Errorf("told %s, want %s", got, want)
	}
	if got := questionTexts(p.asked); got != "Your name? name | Sign in. https://example.com/in" {
		t.Errorf("asked %q, want the form, then the address", got)
	}

	p = &person{answers: []form.Answer{{Action: form.Decline}}}
	wantText(t, "declined", converse(t, s, "do", p), false, "done")
	if want := `{"a":{"action":"decline"},"b":{"action":"decline"},"c":{"action":"decline"}}`; told != want {
		t.Errorf("declined: told %s, want %s", told, want)
	}
}

func questionTexts(all []form.Question) string {
	var parts []string
	for _, q := range all {
		parts = append(parts, questionText(q))
	}
	return strings.Join(parts, " | ")
}

// TestParametersInHeaders: what a tool wants mirrored goes into headers, and a
// tool that wants it in a way that is not allowed is left out.
func TestParametersInHeaders(t *testing.T) {
	good := `{"name":"do","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}`
	bad := `{"name":"bad","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"A b:c"}}}}`
	var header nethttp.Header
	s := ready(t, scripted(t, good+","+bad, func(a httpRequest) string {
		header = a.header
		return done
	}))
	wantText(t, "do", call(t, s, "do", `{"region":"eu-1"}`), false, "done")
	if got := header.Get("Mcp-Param-Region"); got != "eu-1" {
		t.Errorf("got header %q in %v, want eu-1", got, header)
	}
	if s.Catalog().Tools["bad"] != nil {
		t.Error("the tool with a bad header is offered")
	}
}

// TestRetryAfter: a call that the server puts off is made again when it asks for it.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	s := ready(t, fake(t, http, "-fault", "429", "-times", "1"))
	from := time.Now()
	wantText(t, "lookup", call(t, s, "lookup", `{"key":"k"}`), false, "value of k")
	if took := time.Since(from); took < 900*time.Millisecond {
		t.Errorf("called again after %v, want a second", took)
	}
}

// TestHeadersStay: the headers of the config are sent with each request, and to
// no other host.
func TestHeadersStay(t *testing.T) {
	var mu sync.Mutex
	var elsewhere []string
	other := httptest.NewServer(nethttp.HandlerFunc(func(_ nethttp.ResponseWriter, r *nethttp.Request) {
		mu.Lock()
		defer mu.Unlock()
		elsewhere = append(elsewhere, r.Method)
	}))
	defer other.Close()
	cfg := fake(t, http, "-faults", "-token", "open-sesame", "-to", other.URL)
	cfg.Headers = map[string]string{"Authorization": "Bearer open-sesame"}
	s := ready(t, cfg)
	wantText(t, "redirect", call(t, s, "redirect", "{}"), true, "another host")
	mu.Lock()
	defer mu.Unlock()
	if len(elsewhere) > 0 {
		t.Errorf("the other host got %q, want nothing", elsewhere)
	}
}

// local is a server in this process whose tool asks a person.
func local(params mcp.ElicitationParams) *mcpserver.MCPServer {
	m := mcpserver.NewMCPServer("local", "1", mcpserver.WithToolCapabilities(true), mcpserver.WithElicitation())
	m.EnableSampling()
	m.AddTool(mcp.NewTool("ask"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, err := m.RequestElicitation(ctx, mcp.ElicitationRequest{Params: params})
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		return mcp.NewToolResultText(fmt.Sprintf("%s %v", res.Action, res.Content)), nil
	})
	m.AddTool(mcp.NewTool("wait"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-time.After(500 * time.Millisecond) // whatever its context says
		return mcp.NewToolResultText("late"), nil
	})
	return m
}

// TestLocal is about servers in this process, which ask the older way.
func TestLocal(t *testing.T) {
	t.Parallel()
	s := ready(t, client.Config{Name: "s", Protocol: "2025-11-25", Local: local(mcp.ElicitationParams{Message: "Name?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)})})
	p := &person{answers: []form.Answer{accept(`{"name":"Ann"}`)}}
	wantText(t, "ask", converse(t, s, "ask", p), false, "accept map[name:Ann]")
	wantText(t, "nobody", call(t, s, "ask", "{}"), false, "decline")
	wantText(t, "wait", call(t, s, "wait", "{}", within(50*time.Millisecond)), true, "did not answer within 50ms")
}

// TestQuestionsThatAreNone: what cannot be shown to people is refused, and the
// call goes on.
func TestQuestionsThatAreNone(t *testing.T) {
	for name, params := range map[string]mcp.ElicitationParams{
		"nested":  {Message: "?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"object"}}}`)},
		"no form": {Message: "?", RequestedSchema: json.RawMessage(`[]`)},
		"script":  {Message: "?", Mode: "url", ElicitationID: "1", URL: "javascript:alert(1)"},
		"file":    {Message: "?", Mode: "url", ElicitationID: "1", URL: "file:///etc/passwd"},
		"long":    {Message: "?", Mode: "url", ElicitationID: "1", URL: "https://x.example/" + strings.Repeat("a", 10_000)},
	} {
		t.Run(name, func(t *testing.T) {
			s := ready(t, client.Config{Name: "s", Protocol: "2025-11-25", Local: local(params)})
			p := &person{}
			if r := converse(t, s, "ask", p); !r.Failed || len(p.asked) > 0 {
				t.Errorf("got %q, asked %v; want a refusal and nobody asked", r.Text, p.asked)
			}
		})
	}
}

// TestWithdrawn: a question is taken back when the call that it was part of ends.
func TestWithdrawn(t *testing.T) {
	for _, by := range transports() {
		s := ready(t, fake(t, by, "-full", "-era", "legacy"))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		_, err := s.Call(ctx, client.Call{Tool: "ask_form", Timeout: 20 * time.Second, Keep: 1 << 20, Ask: func(ctx context.Context, _ form.Question) (form.Answer, error) {
			cancel()
			<-ctx.Done()
			ended <- ctx.Err()
			return form.Answer{}, ctx.Err()
		}})
		if err == nil || <-ended == nil {
			t.Errorf("%s: got %v, want the error of the caller", by, err)
		}
		wantText(t, by, call(t, s, "lookup", `{"key":"k"}`), false, "value of k")
	}
}
