package llm

import (
	"bytes"
	"errors"
	"net/http"
	"testing"
	"time"
)

// Whatever an endpoint sends, a draft takes it without panic, its tool calls
// are fit for a journal, and what was streamed is what the reply says.
func FuzzDraft(f *testing.F) {
	for _, seed := range []string{
		`{"choices":[{"delta":{"content":"Hi","tool_calls":[{"id":"a","function":{"name":"n","arguments":"{"}},{"index":3}]}}]}`,
		`{"choices":[{"message":{"content":[{"type":"text","text":"<think>a</think>b"}],"reasoning":"r"},"finish_reason":"stop"}],"usage":{"prompt_tokens":-1e99}}`,
		`{"choices":[{"delta":{"content":"{\"tool_calls\":[{\"name\":\"n\",\"arguments\":[1]}]}"}}]}`,
		`{"error":{"message":["a"],"code":"500"}}`, `[{"error":"x"}]`, `null`,
	} {
		f.Add([]byte("data: " + seed + "\n\ndata: " + seed + "\n\n"))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var text, thinking string
		d := &draft{stream: func(delta Delta) { text += delta.Text; thinking += delta.Thinking }}
		events := newEvents(bytes.NewReader(in), 0)
		for {
			data, err := events.next()
			if err != nil {
				break
			}
			_ = d.take(data)
			_ = readAPIError(data)
		}
		d.close()
		if text != d.text.String() || thinking != d.thinking.String() {
			t.Fatalf("streamed %q and %q, the reply says %q and %q; input %q", text, thinking, &d.text, &d.thinking, in)
		}
		if d.usage.Input < 0 || d.usage.CachedInput > d.usage.Input || d.usage.Output < 0 {
			t.Fatalf("usage %+v; input %q", d.usage, in)
		}
		fit(t, d.toolCalls(), in)
		calls, _ := readTextCalls(text, []Tool{{Name: "n"}})
		fit(t, calls, in)
	})
}

func fit(t *testing.T, calls []ToolCall, in []byte) {
	t.Helper()
	seen := map[string]bool{}
	for _, c := range calls {
		if c.ID == "" || seen[c.ID] || c.Arguments == "" || !isObject([]byte(repairArguments(c.Arguments))) {
			t.Fatalf("call %+v of %+v; input %q", c, calls, in)
		}
		seen[c.ID] = true
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"7", "1.5", "-1", "1e300", "NaN", "Inf", "soon", "Fri, 31 Dec 9999 23:59:59 GMT"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		for _, name := range []string{"Retry-After", "Retry-After-Ms"} {
			h := http.Header{}
			h.Set(name, value)
			got := retryAfter(h, time.Unix(0, 0))
			if got < 0 || got > maxRetryAfter {
				t.Fatalf("%s: %q is taken for %v, want 0 to %v", name, value, got, maxRetryAfter)
			}
			wait, _ := newRetryPolicy().next(&fault{retry: true, wait: got}, 2*maxRetryAfter, false)
			if wait < got {
				t.Fatalf("%s: %q makes a wait of %v, want at least %v", name, value, wait, got)
			}
		}
	})
}

// The events of a reply that fills its bound are read without keeping them.
func TestReplyHasABound(t *testing.T) {
	t.Parallel()
	line := []byte("data: {\"choices\":[]}\n\n")
	events := newEvents(bytes.NewReader(bytes.Repeat(line, maxReply/len(line)+1)), 0)
	var err error
	for err == nil {
		_, err = events.next()
	}
	if !errors.Is(err, errReplyTooLong) || cap(events.data)+cap(events.line) > 1<<10 {
		t.Errorf("ended by %v with buffers of %d bytes, want %v with small ones", err, cap(events.data)+cap(events.line), errReplyTooLong)
	}
}
