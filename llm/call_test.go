package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"legwork/llm"
)

func TestReplies(t *testing.T) {
	t.Parallel()
	usage := llm.Usage{Input: 10, CachedInput: 3, Output: 2}
	estimated := llm.Usage{Input: 3, Output: 2, Estimated: true}
	hello := llm.Reply{Text: "Hello there", Usage: usage, Model: "main"}
	guess := func(r llm.Reply, output int) llm.Reply {
		r.Usage = llm.Usage{Input: estimated.Input, Output: output, Estimated: true}
		return r
	}
	call := func(id, name, args string) llm.ToolCall { return llm.ToolCall{ID: id, Name: name, Arguments: args} }
	tests := []struct {
		name string
		body string
		want llm.Reply
	}{
		{"plain", whole(), hello},
		{"CRLF", strings.ReplaceAll(whole(), "\n", "\r\n"), hello},
		{"CR", strings.ReplaceAll(whole(), "\n", "\r"), hello},
		{"no blank lines", strings.ReplaceAll(whole(), "\n\n", "\n"), hello},
		{"no space after the colon", strings.ReplaceAll(whole(), "data: ", "data:"), hello},
		{"byte-order mark", "\xef\xbb\xbf" + whole(), hello},
		{"last line without newline", strings.TrimSpace(whole()), hello},
		{"keep-alive comments", strings.Repeat(": keep-alive\n\n", 1000) + whole(), hello},
		{"event and id lines", strings.ReplaceAll(whole(), "data: {", "event: chunk\nid: 7\nretry: 10\ndata: {"), hello},
		{"an event over two data lines", strings.ReplaceAll(whole(), `,"finish_reason"`, "\ndata: ,\"finish_reason\""), hello},
		{"finish reason without [DONE]", says("Hello") + says(" there") + counts(10, 2) + ends("stop"), hello},
		{"[DONE] without finish reason", says("Hello") + says(" there") + counts(10, 2) + done, hello},
		{"usage in every event", strings.ReplaceAll(whole(), `"finish_reason":null}]`, `"finish_reason":null}],"usage":{"prompt_tokens":1,"completion_tokens":1}`), hello},
		{"usage is null or strange", says("Hello there") + ends("stop") + `data: {"choices":[],"usage":"lots"}` + "\n\n" + done, guess(hello, 3)},
		{"not streamed", `{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello there"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":3}}}`, hello},
		{
			"not streamed, over many lines",
			"{\n \"choices\": [\n  {\"message\": {\"content\": \"a \\\"}{ b\"},\n   \"finish_reason\": \"stop\"}\n ]\n}\n",
			guess(llm.Reply{Text: `a "}{ b`, Model: "main"}, 2),
		},
		{"other choices", `data: {"choices":[{"index":1,"delta":{"content":"no"}}]}` + "\n\n" + whole(), hello},
		{
			"content in parts", delta(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"Hi"}]`) + ends("stop"),
			guess(llm.Reply{Text: "Hi", Thinking: "hm", Model: "main"}, 1),
		},
		{
			"reasoning_content", delta(`"reasoning_content":"hm"`) + delta(`"content":"Hi"`) + ends("stop"),
			guess(llm.Reply{Text: "Hi", Thinking: "hm", Model: "main"}, 1),
		},
		{
			"reasoning", delta(`"content":"","reasoning":"hm"`) + delta(`"content":"Hi","reasoning":null`) + ends("stop"),
			guess(llm.Reply{Text: "Hi", Thinking: "hm", Model: "main"}, 1),
		},
		{
			"thinking in the text", says("\n<th") + says("ink>h") + says("m</thi") + says("nk>\n\n") + says("Hi <think>") + ends("stop"),
			guess(llm.Reply{Text: "Hi <think>", Thinking: "hm", Model: "main"}, 3),
		},
		{
			"tool call in parts",
			delta(`"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"time_in","arguments":""}}]`) +
				delta(`"tool_calls":[{"index":0,"function":{"arguments":"{\"place\":"}}]`) +
				delta(`"tool_calls":[{"index":0,"function":{"arguments":"\"Tokyo\"}"}}]`) +
				delta(`"tool_calls":[{"index":1,"id":"c2","function":{"name":"now","arguments":""}}]`) + ends("tool_calls") + counts(10, 2) + done,
			llm.Reply{ToolCalls: []llm.ToolCall{call("c1", "time_in", `{"place":"Tokyo"}`), call("c2", "now", "{}")}, Usage: usage, Model: "main"},
		},
		{
			"tool calls without index, ids repeated or missing",
			delta(`"tool_calls":[{"id":"x","function":{"name":"a","arguments":"{}"}},{"function":{"name":"b","arguments":"{\"n\":"}}]`) +
				delta(`"tool_calls":[{"function":{"arguments":"1}"}},{"id":"y","function":{"name":"c","arguments":"{}"}}]`) + counts(10, 2) + ends("tool_calls"),
			llm.Reply{ToolCalls: []llm.ToolCall{call("x", "a", "{}"), call("call_2", "b", `{"n":1}`), call("y", "c", "{}")}, Usage: usage, Model: "main"},
		},
		{
			"all tool calls at index 0, arguments as objects",
			delta(`"tool_calls":[{"index":0,"id":"x","function":{"name":"a","arguments":{"n": 1}}}]`) +
				delta(`"tool_calls":[{"index":0,"id":"y","function":{"name":"b","arguments":null}}]`) + counts(10, 2) + ends("tool_calls"),
			llm.Reply{ToolCalls: []llm.ToolCall{call("x", "a", `{"n":1}`), call("y", "b", "{}")}, Usage: usage, Model: "main"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, sse(tt.body))
			m, _ := open(t, f.config())
			var h hear
			got, err := m.Call(t.Context(), ask(), h.take)
			if err != nil {
				t.Fatalf("Call: %v\ninput:\n%s", err, tt.body)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(llm.Reply{}, "Elapsed")); diff != "" {
				t.Errorf("reply (-want +got):\n%s\ninput:\n%s", diff, tt.body)
			}
			if got.Elapsed <= 0 {
				t.Errorf("Elapsed = %v, want more than 0", got.Elapsed)
			}
			if want := (hear{text: got.Text, thinking: got.Thinking}); h != want {
				t.Errorf("streamed %+v, want %+v", h, want)
			}
		})
	}
}

// A reply must not depend on how the network cuts it.
func TestEveryChunking(t *testing.T) {
	t.Parallel()
	body := ": hi\r\n\r\n" + delta(`"reasoning_content":"é"`) + says("Größe 🙂") +
		delta(`"tool_calls":[{"index":0,"id":"c1","function":{"name":"a","arguments":"{\"k\":\"v\\\"}\"}"}}]`) + ends("tool_calls") + counts(10, 2) + done
	f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		var size int
		_, _ = fmt.Sscan(r.Header.Get("Chunk-Size"), &size)
		for rest := body; rest != ""; {
			n := min(size, len(rest))
			_, _ = io.WriteString(w, rest[:n])
			w.(http.Flusher).Flush()
			rest = rest[n:]
		}
	})
	for size := 1; size <= len(body); size = size*3/2 + 1 {
		m, err := llm.New(f.config(), llm.Options{Transport: withHeader{"Chunk-Size", fmt.Sprint(size)}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.Call(t.Context(), ask(), nil)
		if err != nil {
			t.Fatalf("chunks of %d bytes: %v", size, err)
		}
		want := llm.Reply{
			Text: "Größe 🙂", Thinking: "é", Model: "main", Elapsed: got.Elapsed,
			ToolCalls: []llm.ToolCall{{ID: "c1", Name: "a", Arguments: `{"k":"v\"}"}`}},
			Usage:     llm.Usage{Input: 10, CachedInput: 3, Output: 2},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("chunks of %d bytes (-want +got):\n%s", size, diff)
		}
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

type withHeader [2]string

func (h withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(h[0], h[1])
	return http.DefaultTransport.RoundTrip(r)
}

// A stream that ends early, at any byte, is never a success.
func TestEveryTruncation(t *testing.T) {
	t.Parallel()
	body := says("Hello") + delta(`"tool_calls":[{"index":0,"id":"c1","function":{"name":"a","arguments":"{}"}}]`) + ends("tool_calls") + done
	complete := strings.Index(body, `"finish_reason":"tool_calls"}]}`) + len(`"finish_reason":"tool_calls"}]}`)
	var cut int
	f := newFake(t, func(w http.ResponseWriter, r *http.Request) { sse(body[:cut])(w, r) })
	for cut = 0; cut <= len(body); cut++ {
		m, _ := open(t, f.config())
		got, err := m.Call(t.Context(), ask(), nil)
		var e *llm.Error
		switch {
		case cut >= complete && err != nil:
			t.Errorf("cut at %d of %d: %v, want a reply; input:\n%s", cut, len(body), err, body[:cut])
		case cut < complete && !errors.As(err, &e):
			t.Errorf("cut at %d of %d: reply %+v, error %v, want an *Error; input:\n%s", cut, len(body), got, err, body[:cut])
		case cut < complete && cut > len(says("Hello")) && e.Partial != "Hello":
			t.Errorf("cut at %d: Partial = %q, want Hello", cut, e.Partial)
		}
		m.Close()
	}
}

func TestRequestOnTheWire(t *testing.T) {
	t.Parallel()
	f := newFake(t, sse(whole()))
	model := f.model()
	model.MaxOutputTokens, model.ReasoningEffort = 500, "low"
	model.ExtraBody = map[string]any{"temperature": 0, "stream_options": nil, "provider": map[string]any{"order": []any{"a"}}}
	m, _ := open(t, llm.Config{Models: map[string]llm.ModelConfig{"main": model}})
	r := llm.Request{Role: llm.RoleWork, Messages: []llm.Message{
		{Role: llm.System},
		{Role: llm.System, Content: "Work."},
		{Role: llm.User, Content: "<Go>"},
		{Role: llm.Assistant, ToolCalls: []llm.ToolCall{
			{ID: "1", Name: "look", Arguments: `{"a": 1}`}, {ID: "2", Name: "no such tool!", Arguments: `{'a': 2,}`},
		}},
		{Role: llm.ToolRole, ToolCallID: "2", Content: "unknown"},
		{Role: llm.ToolRole, ToolCallID: "1"},
		{Role: llm.Assistant, Content: "Again.", ToolCalls: []llm.ToolCall{{ID: "1", Name: "look", Arguments: `{"a":`}}},
		{Role: llm.ToolRole, ToolCallID: "1", Content: "fine"},
	}, Tools: []llm.Tool{{Name: "look", Description: "Looks."}, {Name: "see", Schema: json.RawMessage(`{"type":"object","properties":{"b":{}}}`)}}}
	if _, err := m.Call(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	want := `{"model":"test-model","messages":[
		{"role":"system","content":"Work."},
		{"role":"user","content":"<Go>"},
		{"role":"assistant","tool_calls":[
			{"id":"1","type":"function","function":{"name":"look","arguments":"{\"a\": 1}"}},
			{"id":"2","type":"function","function":{"name":"no_such_tool_","arguments":"{\"a\":2}"}}]},
		{"role":"tool","content":"unknown","tool_call_id":"2"},
		{"role":"tool","content":"(no output)","tool_call_id":"1"},
		{"role":"assistant","content":"Again.","tool_calls":[{"id":"1_2","type":"function","function":{"name":"look","arguments":"{}"}}]},
		{"role":"tool","content":"fine","tool_call_id":"1_2"}],
		"max_tokens":500,"stream":true,"reasoning_effort":"low","temperature":0,"provider":{"order":["a"]},
		"tools":[
			{"type":"function","function":{"name":"look","description":"Looks.","parameters":{"type":"object","properties":{}}}},
			{"type":"function","function":{"name":"see","parameters":{"type":"object","properties":{"b":{}}}}}]}`
	sameJSON(t, f.requests()[0], want)
	if got := f.headers[0].Get("Authorization"); got != "Bearer sk-secret" {
		t.Errorf("Authorization = %q, want the configured key", got)
	}
}

// TestImagesOnTheWire: images go as parts after the text, by models with and
// without tool calling.
func TestImagesOnTheWire(t *testing.T) {
	t.Parallel()
	for _, calls := range []string{llm.ToolCallsNative, llm.ToolCallsText} {
		f := newFake(t, sse(whole()))
		model := f.model()
		model.ToolCalls = calls
		m, _ := open(t, llm.Config{Models: map[string]llm.ModelConfig{"main": model, "eyes": model}, Roles: map[string]string{llm.RoleVision: "eyes"}})
		reply, err := m.Call(t.Context(), llm.Request{Role: llm.RoleVision, Messages: []llm.Message{
			{Role: llm.User, Content: "What is it?", Images: []llm.Image{{Type: "image/png", Data: []byte("abc")}, {Type: "image/jpeg", Data: []byte("de")}}},
		}}, nil)
		if err != nil || reply.Model != "eyes" {
			t.Fatalf("%s: answered by %q, %v; want the model of the role vision", calls, reply.Model, err)
		}
		var sent struct{ Messages []json.RawMessage }
		if err := json.Unmarshal([]byte(f.requests()[0]), &sent); err != nil {
			t.Fatal(err)
		}
		sameJSON(t, string(sent.Messages[0]), `{"role":"user","content":[{"type":"text","text":"What is it?"},
			{"type":"image_url","image_url":{"url":"data:image/png;base64,YWJj","detail":"auto"}},
			{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,ZGU=","detail":"auto"}}]}`)
	}
}

// TestSchemasOnTheWire: a schema goes as it is, with what endpoints insist on.
func TestSchemasOnTheWire(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type":"object"}`: `{"type":"object","properties":{}}`,
		`{}`:                `{"type":"object","properties":{}}`,
		` {"oneOf":[{"required":["a"]}],"$defs":{"x":{}},"properties":{"a":{"default":1}}}`: `{"type":"object","oneOf":[{"required":["a"]}],"$defs":{"x":{}},"properties":{"a":{"default":1}}}`,
	} {
		f := newFake(t, sse(whole()))
		m, _ := open(t, llm.Config{Models: map[string]llm.ModelConfig{"main": f.model()}})
		if _, err := m.Call(t.Context(), llm.Request{
			Role: llm.RoleWork, Messages: []llm.Message{{Role: llm.User, Content: "go"}}, Tools: []llm.Tool{{Name: "t", Schema: json.RawMessage(schema)}},
		}, nil); err != nil {
			t.Fatal(err)
		}
		var sent struct {
			Tools []struct {
				Function struct{ Parameters json.RawMessage }
			}
		}
		if err := json.Unmarshal([]byte(f.requests()[0]), &sent); err != nil {
			t.Fatal(err)
		}
		sameJSON(t, string(sent.Tools[0].Function.Parameters), want)
	}
}

func sameJSON(t *testing.T, got, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, got)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("JSON (-want +got):\n%s\ngot: %s", diff, got)
	}
}

func TestLimitOfTokensByName(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]string{
		"gpt-5-mini": "max_completion_tokens", "o3": "max_completion_tokens", "gpt-4o": "max_tokens", "qwen3": "max_tokens",
	} {
		f := newFake(t, sse(whole()))
		c := f.model()
		c.Model = model
		m, _ := open(t, llm.Config{Models: map[string]llm.ModelConfig{"main": c}})
		if _, err := m.Call(t.Context(), ask(), nil); err != nil {
			t.Errorf("%s: %v", model, err)
		}
		if got := f.requests()[0]; !strings.Contains(got, `"`+want+`":8000`) || strings.Count(got, "_tokens\"") != 1 {
			t.Errorf("%s: want only %s in %s", model, want, got)
		}
	}
}

// An endpoint that refuses a field is spared from it, then and later.
func TestRefusedFields(t *testing.T) {
	t.Parallel()
	refuse := func(field string) http.HandlerFunc {
		return status(400, `{"error":{"message":"Unsupported parameter: `+field+` is not supported"}}`)
	}
	f := newFake(t, refuse("stream_options"), refuse("'max_tokens', use 'max_completion_tokens'"), refuse("max_completion_tokens"), sse(whole()))
	m, w := open(t, f.config())
	for range 2 {
		if _, err := m.Call(t.Context(), ask(), nil); err != nil {
			t.Fatal(err)
		}
	}
	got := f.requests()
	if len(got) != 5 || len(w.list) != 0 {
		t.Fatalf("%d requests and waits of %v, want 4 and 1 requests without waiting", len(got), w.list)
	}
	for _, field := range []string{"stream_options", "max_tokens", "max_completion_tokens"} {
		if !strings.Contains(strings.Join(got[:3], ""), `"`+field+`"`) || strings.Contains(got[4], `"`+field+`"`) {
			t.Errorf("field %s: want it in the first three of\n%s\nand not in the last", field, strings.Join(got, "\n"))
		}
	}
}

func TestConnectionIsUsedAgain(t *testing.T) {
	t.Parallel()
	f := newFake(t, sse(whole()))
	m, _ := open(t, f.config())
	for range 5 {
		if _, err := m.Call(t.Context(), ask(), nil); err != nil {
			t.Fatal(err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.conns != 1 {
		t.Errorf("%d connections for 5 calls, want 1", f.conns)
	}
}

func TestCancelInMidStream(t *testing.T) {
	t.Parallel()
	f := newFake(t, hang(says("Hello")))
	m, _ := open(t, f.config())
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	got, err := m.Call(ctx, ask(), func(llm.Delta) { cancel(errors.New("the person said stop")) })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want context.Canceled", err)
	}
	if want := (llm.Usage{Input: 3, Output: 2, Estimated: true}); got.Usage != want || got.Model != "main" {
		t.Errorf("reply = %+v, want usage %+v of main", got, want)
	}
	if n := len(f.requests()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

func TestParallelCalls(t *testing.T) {
	t.Parallel()
	f := newFake(t, sse(whole()))
	m, _ := open(t, f.config())
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			var h hear
			got, err := m.Call(t.Context(), ask(), h.take)
			if err != nil || got.Text != "Hello there" || h.text != got.Text {
				t.Errorf("reply %+v, streamed %q, error %v", got, h.text, err)
			}
			_ = m.Tokens(llm.RolePlan, 100)
		})
	}
	wg.Wait()
}
