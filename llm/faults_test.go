package llm_test

import (
	"bytes"
	"errors"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"legwork/llm"
)

// once repeats a handler that fails in the same way each time.
func once(h http.HandlerFunc) []http.HandlerFunc { return []http.HandlerFunc{h} }

func TestFaults(t *testing.T) {
	t.Parallel()
	const cut = `{"tool_calls":[{"index":0,"id":"c","function":{"name":"a","arguments":"{\"k\":"}}]`
	tests := []struct {
		name     string
		handlers []http.HandlerFunc
		problem  llm.Problem
		status   int
		requests int
		partial  string
		hint     string // part of it
	}{
		{"400", once(status(400, `{"error":{"message":"no such field"}}`)), llm.Invalid, 400, 1, "", ""},
		{"400 too long by code", once(status(400, `{"error":{"message":"x","code":"context_length_exceeded"}}`)), llm.TooLong, 400, 1, "", ""},
		{"400 too long by words", once(status(400, `{"detail":"This model's maximum context length is 10 tokens"}`)), llm.TooLong, 400, 1, "", ""},
		{"413", once(status(413, "")), llm.TooLong, 413, 1, "", ""},
		{"500 of llama.cpp that is too long", once(status(500, `{"error":{"message":"the request exceeds the available context size"}}`)), llm.TooLong, 500, 1, "", ""},
		{"400 filtered", once(status(400, `{"error":{"code":"content_filter","message":"no"}}`)), llm.Filtered, 400, 1, "", ""},
		{"400 limit too large", once(status(400, `{"error":{"message":"max_tokens is too large: 8000"}}`)), llm.Invalid, 400, 1, "", "models.main.max_output_tokens"},
		{"400 without tools", once(status(400, `{"error":"test-model does not support tools"}`)), llm.Invalid, 400, 1, "", "set models.main.tool_calls to text"},
		{"401", once(status(401, `{"error":{"message":"Incorrect key sk-secret"}}`)), llm.Refused, 401, 1, "", "the key in models.main.api_key"},
		{"402", once(status(402, "")), llm.Refused, 402, 1, "", "no credit"},
		{"403", once(status(403, "no")), llm.Refused, 403, 1, "", "models.main.api_key"},
		{"404 of a model", once(status(404, `{"error":{"message":"model \"test-model\" not found"}}`)), llm.NotFound, 404, 1, "", `a model named "test-model"`},
		{"404 of a page", once(status(404, `404 page not found`)), llm.NotFound, 404, 1, "", "which ends as expected"},
		{"301", once(status(301, "", "Location: https://u:p@example.com/v2/chat/completions?k=1")), llm.NotFound, 301, 1, "", `"https://example.com/v2/chat/completions"`},
		{"408", once(status(408, "")), llm.Unreachable, 408, 4, "", ""},
		{"409", once(status(409, "")), llm.Unreachable, 409, 4, "", ""},
		{"422", once(status(422, `[{"error":{"message":"bad"}}]`)), llm.Invalid, 422, 1, "", ""},
		{"429", once(status(429, `{"error":{"message":"slow down"}}`)), llm.Busy, 429, 4, "", ""},
		{"429 for an hour", once(status(429, "", "Retry-After: 3600")), llm.Busy, 429, 1, "", "asks to wait for 1h0m0s"},
		{"429 for centuries", once(status(429, "", "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT")), llm.Busy, 429, 1, "", "asks to wait for 168h0m0s"},
		{"429 without credit", once(status(429, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`)), llm.Refused, 429, 1, "", "no credit"},
		{"500", once(status(500, "<html>oops")), llm.Unreachable, 500, 4, "", ""},
		{"501", once(status(501, "")), llm.Unreachable, 501, 1, "", ""},
		{"529", once(status(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)), llm.Busy, 529, 4, "", ""},
		{"dropped before a reply", once(drop("")), llm.Unreachable, 0, 4, "", ""},
		{"dropped in mid-stream", once(drop(says("Hel") + says("lo"))), llm.CutOff, 0, 3, "Hello", ""},
		{"stream without end", once(sse(says("Hello"))), llm.CutOff, 0, 3, "Hello", ""},
		{"JSON that is not the protocol", once(sse(`{"status":"ok","data":[1,2,3]}`)), llm.Garbage, 0, 4, "", "models.main.base_url"},
		{"end within an event", once(sse(says("Hello") + `data: {"choices":[{"del`)), llm.Garbage, 0, 3, "Hello", ""},
		{"length", once(sse(says("Hello") + ends("length") + done)), llm.CutOff, 0, 1, "Hello", ""},
		{"length in a tool call", once(sse(delta(cut[1:]) + ends("length") + done)), llm.CutOff, 0, 1, "", ""},
		{"all of it thinking", once(sse(delta(`"reasoning":"hm"`) + ends("length") + done)), llm.CutOff, 0, 1, "", "went into thinking"},
		{"[DONE] within a tool call", once(sse(delta(cut[1:]) + done)), llm.CutOff, 0, 3, "", ""},
		{"filter", once(sse(says("He") + ends("content_filter") + done)), llm.Filtered, 0, 1, "He", ""},
		{"empty body", once(sse("")), llm.Garbage, 0, 4, "", ""},
		{"only comments", once(sse(": hi\n\n: hi\n\n")), llm.Garbage, 0, 4, "", ""},
		{"only [DONE]", once(sse(done)), llm.Garbage, 0, 4, "", ""},
		{"empty reply", once(sse(delta(`"content":" "`) + ends("stop") + done)), llm.Garbage, 0, 3, " ", ""},
		{"a page", once(status(200, "<!DOCTYPE html>\n<html><body>Welcome</body></html>")), llm.Garbage, 0, 1, "", "models.main.base_url"},
		{"not JSON in the stream", once(sse(says("Hi") + "data: {what}\n\n" + done)), llm.Garbage, 0, 3, "Hi", ""},
		{"endless event", once(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "data: {\"")
			for range 5 << 10 {
				if _, err := w.Write(bytes.Repeat([]byte("x"), 1024)); err != nil {
					return
				}
			}
		}), llm.Garbage, 0, 1, "", ""},
		{"endless tool calls", once(sse(strings.Repeat(delta(`"tool_calls":[{"function":{"name":"a","arguments":"{}"}}]`), 300) + done)), llm.Garbage, 0, 1, "", ""},
		{"error in mid-stream", once(sse(says("Hi") + `data: {"error":{"message":"overloaded","code":502}}` + "\n\n")), llm.Unreachable, 0, 3, "Hi", ""},
		{"error in mid-stream, with a space", once(sse(`data: { "error" : {"message":"rate limit reached"}}` + "\n\n" + done)), llm.Busy, 0, 4, "", ""},
		{"error in mid-stream, too long", once(sse(`data: {"error":{"message":"x","type":"context_length_exceeded"}}` + "\n\n")), llm.TooLong, 0, 1, "", ""},
		{"bare error instead of a stream", once(sse(`{"error":"model is loading"}`)), llm.Unreachable, 0, 4, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, tt.handlers...)
			m, w := open(t, f.config())
			var h hear
			r := ask()
			r.Tools = []llm.Tool{{Name: "a"}}
			got, err := m.Call(t.Context(), r, h.take)
			var e *llm.Error
			if !errors.As(err, &e) {
				t.Fatalf("reply %+v, error %v, want an *Error", got, err)
			}
			if e.Problem != tt.problem || e.Status != tt.status || e.Partial != tt.partial || e.Model != "main" || !strings.Contains(e.Hint, tt.hint) {
				t.Errorf("error %+v\nwant problem %s, status %d, partial %q, hint with %q", e, tt.problem, tt.status, tt.partial, tt.hint)
			}
			if n := len(f.requests()); n != tt.requests || len(w.list) != tt.requests-1 {
				t.Errorf("%d requests and waits of %v, want %d requests", n, w.list, tt.requests)
			}
			if strings.Contains(err.Error(), "sk-secret") || strings.Contains(err.Error(), "u:p@") {
				t.Errorf("the error holds a secret: %v", err)
			}
			if h.text != tt.partial {
				t.Errorf("streamed %q at last, want %q", h.text, tt.partial)
			}
		})
	}
}

func TestAddressesThatDoNotAnswer(t *testing.T) {
	// Not parallel: another test might listen on the closed port.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	_ = l.Close()
	f := newFake(t, sse(whole()))
	private := httptest.NewTLSServer(f)
	private.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer private.Close()
	tests := []struct {
		name, base string
		problem    llm.Problem
		hint       string
	}{
		{"no /v1", f.URL, llm.NotFound, "models.main.base_url is " + f.URL + "; it should probably end in /v1"},
		{"too much", f.URL + "/openai", llm.NotFound, "should probably end in /v1"},
		{"trailing slash", f.URL + "/v1/", "", ""},
		{"a closed port", "http://user:pw@" + closed + "/v1", llm.Unreachable, "nothing listens at models.main.base_url, http://" + closed},
		{"a certificate of its own", private.URL + "/v1", llm.Unreachable, "the certificate at models.main.base_url is not trusted"},
		{"plain HTTP", strings.Replace(f.URL, "http:", "https:", 1), llm.Unreachable, "should begin with http://"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := f.model()
			c.BaseURL = tt.base
			m, _ := open(t, llm.Config{Models: map[string]llm.ModelConfig{"main": c}})
			_, err := m.Call(t.Context(), ask(), nil)
			var e *llm.Error
			if tt.problem == "" {
				if err != nil {
					t.Errorf("error %v, want none", err)
				}
				return
			}
			if !errors.As(err, &e) || e.Problem != tt.problem || !strings.Contains(e.Hint, tt.hint) || strings.Contains(err.Error(), "pw@") {
				t.Errorf("error %v\nwant %s with the hint %q and no password", err, tt.problem, tt.hint)
			}
		})
	}
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	const short, long = time.Second, time.Hour
	forever := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, ": still here\n\n")
			w.(http.Flusher).Flush()
			<-time.After(5 * time.Millisecond)
		}
	}
	silent := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	tests := []struct {
		name                   string
		whole, firstByte, idle time.Duration
		handler                http.HandlerFunc
		problem                llm.Problem
		partial, cause, hint   string
		attempts               int
	}{
		{"no headers", long, short, long, silent, llm.Unreachable, "", "first_byte_timeout", "first_byte_timeout", 4},
		{"headers only", long, short, long, hang(""), llm.Unreachable, "", "first_byte_timeout", "first_byte_timeout", 4},
		{"silent after a comment", long, long, short, hang(": hi\n\n"), llm.Unreachable, "", "idle_timeout", "idle_timeout", 4},
		{"silent in mid-stream", long, long, short, hang(says("Hello")), llm.CutOff, "Hello", "idle_timeout", "idle_timeout", 3},
		{"comments for ever", 5 * short, 5 * short, 4 * short, forever, llm.Unreachable, "", "longer than timeout", "timeout", 1},
		{"slow in all", 5 * short, 5 * short, 5 * short, hang(says("Hello")), llm.CutOff, "Hello", "timeout", "", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, tt.handler)
			c := f.model()
			c.Timeout, c.FirstByteTimeout, c.IdleTimeout = tt.whole, tt.firstByte, tt.idle
			m, waited := open(t, llm.Config{Models: map[string]llm.ModelConfig{"main": c}})
			_, err := m.Call(t.Context(), ask(), nil)
			var e *llm.Error
			if !errors.As(err, &e) || e.Problem != tt.problem || e.Partial != tt.partial || !strings.Contains(err.Error(), tt.cause) || !strings.Contains(e.Hint, "models.main."+tt.hint) {
				t.Errorf("error %v (partial %q, hint %q)\nwant %s by %s, partial %q, hint %q", err, e.Partial, e.Hint, tt.problem, tt.cause, tt.partial, tt.hint)
			}
			// The endpoint may miss an attempt that was given up before the request arrived.
			if n := 1 + len(waited.list); n != tt.attempts {
				t.Errorf("%d attempts, want %d", n, tt.attempts)
			}
		})
	}
}

// A slow reader of the stream is no silence of the endpoint.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	f := newFake(t, sse(whole()))
	c := f.model()
	c.IdleTimeout = 300 * time.Millisecond
	m, _ := open(t, llm.Config{Models: map[string]llm.ModelConfig{"main": c}})
	got, err := m.Call(t.Context(), ask(), func(llm.Delta) { <-time.After(500 * time.Millisecond) })
	if err != nil || got.Text != "Hello there" {
		t.Errorf("reply %+v, error %v, want Hello there", got, err)
	}
}

// After a reply is complete a stream that stays open costs a moment only.
func TestStreamStaysOpen(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"after [DONE]": whole(), "after the finish reason": says("Hello there") + ends("stop")} {
		f := newFake(t, hang(body))
		m, _ := open(t, f.config())
		got, err := m.Call(t.Context(), ask(), nil)
		if err != nil || got.Text != "Hello there" || got.Elapsed > 10*time.Second {
			t.Errorf("%s: reply %+v, error %v, want Hello there within seconds", name, got, err)
		}
	}
}

func TestFailuresAreLoggedWithoutTheKey(t *testing.T) {
	t.Parallel()
	f := newFake(t, status(500, "echo: Bearer sk-secret"))
	var out bytes.Buffer
	w := &waits{}
	m, err := llm.New(f.config(), llm.Options{Sleep: w.sleep, Log: slog.New(slog.NewTextHandler(&out, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	_, err = m.Call(t.Context(), ask(), nil)
	if text := out.String(); err == nil || strings.Count(text, "model=main problem=unreachable status=500") != 4 || strings.Contains(text, "sk-secret") {
		t.Errorf("error %v, log:\n%s\nwant four lines of the failure and no key", err, text)
	}
}

func TestHTTP2(t *testing.T) {
	t.Parallel()
	f := newFake(t, status(503, ""), drop(says("Hel")), sse(whole()))
	secure := httptest.NewUnstartedServer(f)
	secure.EnableHTTP2 = true
	secure.StartTLS()
	defer secure.Close()
	c := f.model()
	c.BaseURL = secure.URL + "/v1"
	w := &waits{}
	m, err := llm.New(llm.Config{Models: map[string]llm.ModelConfig{"main": c}}, llm.Options{Sleep: w.sleep, Transport: secure.Client().Transport})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var h hear
	got, err := m.Call(t.Context(), ask(), h.take)
	if err != nil || got.Text != "Hello there" || h.resets != 1 || len(w.list) != 2 {
		t.Errorf("reply %+v, error %v, %d resets, waits %v, want Hello there after 2 failures, one in mid-stream", got, err, h.resets, w.list)
	}
}

// A key as short as those that endpoints without keys are given hides nothing.
func TestShortKeyIsNoSecret(t *testing.T) {
	t.Parallel()
	f := newFake(t, status(400, `{"error":{"message":"no key word"}}`))
	c := f.config()
	main := c.Models["main"]
	main.APIKey = "k"
	c.Models["main"] = main
	m, _ := open(t, c)
	if _, err := m.Call(t.Context(), ask(), nil); err == nil || !strings.Contains(err.Error(), "no key word") {
		t.Errorf("error %v, want it to quote the endpoint: no key word", err)
	}
}
