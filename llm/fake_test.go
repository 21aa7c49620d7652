package llm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"legwork/internal/test/need"
	"legwork/llm"
)

func TestMain(m *testing.M) {
	need.Parallel(24)
	goleak.VerifyTestMain(m)
}

// fake is an endpoint on a real socket. It answers requests by its handlers in
// order; the last one answers all that follow.
type fake struct {
	*httptest.Server
	mu       sync.Mutex
	handlers []http.HandlerFunc
	bodies   []string // of the requests so far
	headers  []http.Header
	conns    int
}

func newFake(t testing.TB, handlers ...http.HandlerFunc) *fake {
	t.Helper()
	f := &fake{handlers: handlers}
	f.Server = httptest.NewUnstartedServer(f)
	f.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if s == http.StateNew {
			f.conns++
		}
	}
	f.Start()
	t.Cleanup(f.Close)
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	n := min(len(f.bodies), len(f.handlers)-1)
	f.bodies = append(f.bodies, string(body))
	f.headers = append(f.headers, r.Header)
	h := f.handlers[n]
	f.mu.Unlock()
	if r.URL.Path != "/v1/chat/completions" {
		http.NotFound(w, r)
		return
	}
	h(w, r)
}

func (f *fake) requests() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.bodies...)
}

// config is one model named main at the endpoint, free of charge.
func (f *fake) config() llm.Config {
	return llm.Config{Models: map[string]llm.ModelConfig{"main": f.model()}}
}

func (f *fake) model() llm.ModelConfig {
	return llm.ModelConfig{BaseURL: f.URL + "/v1", Model: "test-model", APIKey: "sk-secret", Price: &llm.Price{}}
}

// sse streams the given body as it is.
func sse(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, body)
	}
}

// status answers with a status, a body and headers given as "Name: value".
func status(code int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// hang sends begin and then nothing until the client has gone.
func hang(begin string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, begin)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

// drop sends begin and then breaks the connection.
func drop(begin string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if begin != "" {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, begin)
			w.(http.Flusher).Flush()
		}
		panic(http.ErrAbortHandler)
	}
}

// says is a delta of text.
func says(text string) string { return delta(`"content":` + quote(text)) }

// delta is an event with members of a delta.
func delta(members string) string {
	return `data: {"choices":[{"index":0,"delta":{` + members + `},"finish_reason":null}]}` + "\n\n"
}

// ends is the event with the reason to finish.
func ends(reason string) string {
	return `data: {"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}` + "\n\n"
}

// counts is the event with the usage.
func counts(in, out int) string {
	return fmt.Sprintf(`data: {"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"prompt_tokens_details":{"cached_tokens":3}}}`+"\n\n", in, out)
}

const done = "data: [DONE]\n\n"

// whole is a complete stream that says "Hello there".
func whole() string { return says("Hello") + says(" there") + ends("stop") + counts(10, 2) + done }

func quote(s string) string { b, _ := json.Marshal(s); return string(b) }

// waits records what a call would have waited between attempts. It is a clock that
// goes on by that alone.
type waits struct {
	mu   sync.Mutex
	list []time.Duration
	past time.Duration
}

func (w *waits) sleep(ctx context.Context, d time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, d)
	w.past += d
	return ctx.Err()
}

func (w *waits) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Date(1994, time.November, 6, 8, 49, 37, 0, time.UTC).Add(w.past)
}

// open makes the models of a config that do not wait between attempts.
func open(t testing.TB, cfg llm.Config) (*llm.Models, *waits) {
	t.Helper()
	w := &waits{}
	m, err := llm.New(cfg, llm.Options{Sleep: w.sleep, Now: w.now})
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(m.Close)
	return m, w
}

// ask is a small valid request.
func ask() llm.Request {
	return llm.Request{Role: llm.RoleAnswer, Messages: []llm.Message{
		{Role: llm.System, Content: "Be brief."}, {Role: llm.User, Content: "Hi?"},
	}}
}

// hear collects deltas; a Reset forgets them.
type hear struct {
	text, thinking string
	resets         int
}

func (h *hear) take(d llm.Delta) {
	if d.Reset {
		*h = hear{resets: h.resets + 1}
	}
	h.text += d.Text
	h.thinking += d.Thinking
}
