package e2e_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// span is one of a trace, as a receiver reads it.
type span struct {
	TraceID    string  `json:"traceId"`
	SpanID     string  `json:"spanId"`
	ParentID   string  `json:"parentSpanId"`
	Flags      int     `json:"flags"`
	Name       string  `json:"name"`
	Kind       int     `json:"kind"`
	Start      string  `json:"startTimeUnixNano"`
	End        string  `json:"endTimeUnixNano"`
	Attributes []named `json:"attributes"`
	Events     []struct {
		Time       string  `json:"timeUnixNano"`
		Name       string  `json:"name"`
		Attributes []named `json:"attributes"`
	} `json:"events"`
	Status struct {
		Message string `json:"message"`
		Code    int    `json:"code"`
	} `json:"status"`
}

type named struct {
	Key   string `json:"key"`
	Value struct {
		Text   *string  `json:"stringValue"`
		Truth  *bool    `json:"boolValue"`
		Number *string  `json:"intValue"`
		Double *float64 `json:"doubleValue"`
	} `json:"value"`
}

func (s span) text(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key && a.Value.Text != nil {
			return *a.Value.Text
		}
	}
	return ""
}

// number is that of a key; -1: there is none.
func (s span) number(key string) int {
	for _, a := range s.Attributes {
		if a.Key == key && a.Value.Number != nil {
			n, err := strconv.Atoi(*a.Value.Number)
			if err != nil {
				return -1
			}
			return n
		}
	}
	return -1
}

// collector receives traces by OTLP in JSON. A span that is not of the
// protocol fails the test.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []span
	raw   bytes.Buffer
	news  chan struct{}
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{news: make(chan struct{}, 1)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // it was killed
		}
		if r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("X-Key") != "otlp-secret-e2e" {
			t.Errorf("%s %s with %v is no export of traces", r.Method, r.URL.Path, r.Header)
		}
		var sent struct {
			ResourceSpans []struct {
				Resource struct {
					Attributes []named `json:"attributes"`
				} `json:"resource"`
				ScopeSpans []struct {
					Scope struct {
						Name string `json:"name"`
					} `json:"scope"`
					Spans []span `json:"spans"`
				} `json:"scopeSpans"`
			} `json:"resourceSpans"`
		}
		strict := json.NewDecoder(bytes.NewReader(body))
		strict.DisallowUnknownFields()
		if err := strict.Decode(&sent); err != nil {
			t.Errorf("%v: %s", err, body)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.raw.Write(body)
		for _, of := range sent.ResourceSpans {
			for _, in := range of.ScopeSpans {
				c.spans = append(c.spans, in.Spans...)
			}
		}
		select {
		case c.news <- struct{}{}:
		default:
		}
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(c.Close)
	return c
}

// until waits for spans, which come some seconds after their actions.
func (c *collector) until(t *testing.T, what string, holds func([]span) bool) []span {
	t.Helper()
	late := time.After(patience)
	for {
		c.mu.Lock()
		all := slices.Clone(c.spans)
		c.mu.Unlock()
		if holds(all) {
			return all
		}
		select {
		case <-c.news:
		case <-late:
			t.Fatalf("%s: not received in %v, but %s", what, patience, namesOf(all))
		}
	}
}

func namesOf(spans []span) string {
	names := make([]string, 0, len(spans))
	for _, s := range spans {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}

func has(spans []span, name string) bool {
	return slices.ContainsFunc(spans, func(s span) bool { return s.Name == name })
}

// spy stands before an MCP server and notes the traces that requests name.
type spy struct {
	mu      sync.Mutex
	headers []string
	metas   []string
}

func newSpy(t *testing.T, address string) (_ *spy, at string) {
	t.Helper()
	to, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	s := &spy{}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: to.Scheme, Host: to.Host})
	proxy.FlushInterval = -1
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a call that is cut off is no call
		r.Body = io.NopCloser(bytes.NewReader(body))
		var m struct {
			Method string `json:"method"`
			Params struct {
				Meta struct {
					Traceparent string `json:"traceparent"`
				} `json:"_meta"`
			} `json:"params"`
		}
		if json.Unmarshal(body, &m) == nil && m.Method == "tools/call" {
			s.mu.Lock()
			s.headers = append(s.headers, r.Header.Get("Traceparent"))
			s.metas = append(s.metas, m.Params.Meta.Traceparent)
			s.mu.Unlock()
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return s, server.URL + to.Path
}

// seen are the spans that the server was told to belong to.
func (s *spy) seen(t *testing.T) (parents []string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, header := range s.headers {
		part := strings.Split(header, "-")
		if len(part) != 4 || part[0] != "00" || part[3] != "01" || s.metas[i] != header {
			t.Errorf("a call came with the header %q and %q in _meta, want the same traceparent", header, s.metas[i])
			continue
		}
		parents = append(parents, part[2])
	}
	return parents
}

// TestTrace: a question gives one trace from the message over the model and the
// tools to the last edit, also when legwork is killed in the midst of it; tool
// servers learn of it; and nothing of what was said is in it.
func TestTrace(t *testing.T) {
	t.Parallel()
	to := newCollector(t)
	s := works("9000")
	s.more = "telemetry: {otlp_endpoint: \"" + to.URL + "\", otlp_headers: {x-key: otlp-secret-e2e}}\n"
	b := newTelegramEnv(t, s)
	address, _ := b.stoppable("-http", "127.0.0.1:0", "-faults")
	watch, at := newSpy(t, address)
	b.serves(at, "")
	p := b.opens()
	b.Say(b.bob.ID, b.bob, "first: a question")
	b.working(b.bob.ID)
	to.until(t, "all that is over", func(all []span) bool { // a span that is only begun is lost
		turns := 0
		for _, s := range all {
			if s.Name == "work" {
				turns++
			}
		}
		return turns >= 3 && has(all, "plan") && has(all, "execute_tool desk.lookup")
	})
	p.kill()
	p = b.opens()
	b.offers(b.bob.ID, "Details", "value of quick", "at last")
	to.until(t, "the whole task", func(all []span) bool { return has(all, "task") })
	p.stops()
	all := to.until(t, "the rest", func([]span) bool { return true }) // an end hands on what is left

	for line := range strings.Lines(p.err.String()) {
		if strings.Contains(line, " task=") && !strings.Contains(line, " chat=telegram:2") {
			t.Errorf("a line of the log about a task does not name its chat: %s", line)
		}
	}
	whole := trace(t, all)
	for _, want := range []string{
		"message", "store open", "task", "plan", "chat fake", "work", "execute_tool desk.lookup", "execute_tool desk.slow", "review", "show",
		"telegram sendMessage", "telegram editMessageText", "store append",
	} {
		if !has(whole, want) {
			t.Errorf("there is no span %q, only %s", want, namesOf(whole))
		}
	}
	for _, parent := range watch.seen(t) {
		if i := slices.IndexFunc(whole, func(s span) bool { return s.SpanID == parent }); i < 0 && parent == "" || i >= 0 && !strings.HasPrefix(whole[i].Name, "execute_tool") {
			t.Errorf("a tool call was said to belong to %q, which is no call of a tool", parent)
		}
	}
	if n := len(watch.seen(t)); n < 2 {
		t.Errorf("the tool server saw %d calls, want 2 at least", n)
	}
	to.keptSecret(t, "first: a question", "value of quick", "at last", telegramToken, "sk-secret-e2e", "otlp-secret-e2e")
}

// trace returns the spans of the one trace with a task in it, and checks that
// all hang together.
func trace(t *testing.T, all []span) (whole []span) {
	t.Helper()
	i := slices.IndexFunc(all, func(s span) bool { return s.Name == "task" })
	known := map[string]span{}
	for _, s := range all {
		if s.TraceID == all[i].TraceID {
			whole, known[s.SpanID] = append(whole, s), s
		}
	}
	for _, s := range whole {
		parent, found := known[s.ParentID]
		switch {
		case s.ParentID == "" && s.Name != "message":
			t.Errorf("the span %q has no parent", s.Name)
		case s.ParentID != "" && !found:
			t.Errorf("the parent of the span %q is missing", s.Name)
		case s.Name == "task" && parent.Name != "message", (s.Name == "plan" || s.Name == "show") && parent.Name != "task":
			t.Errorf("the span %q is below %q", s.Name, parent.Name)
		case s.Name == "chat fake" && (s.text("gen_ai.operation.name") != "chat" || s.text("gen_ai.request.model") != "fake" || s.text("server.address") != "127.0.0.1" || s.number("server.port") < 1024 || s.number("gen_ai.request.max_tokens") != 8000):
			t.Errorf("a model call is described by %+v", s.Attributes)
		case s.Start > s.End:
			t.Errorf("the span %q ends before it begins", s.Name)
		}
	}
	return whole
}

func (c *collector) keptSecret(t *testing.T, words ...string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, word := range words {
		if strings.Contains(c.raw.String(), word) {
			t.Errorf("%q is in a trace", word)
		}
	}
}

// TestTraceOfProgram: what a program asks for is a part of the program's trace.
func TestTraceOfProgram(t *testing.T) {
	t.Parallel()
	to := newCollector(t)
	w := newEnv(t, options{more: "http: {listen: 127.0.0.1:0, tokens: [" + tokenLine("ops", "operator") + "]}\n" +
		"telemetry: {otlp_endpoint: \"" + to.URL + "\", otlp_headers: {x-key: otlp-secret-e2e}}\n"})
	p := w.serve()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+p.address+"/v1/tasks", strings.NewReader(`{"goal": "later: a question"}`))
	if err != nil {
		t.Fatal(err)
	}
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for name, value := range map[string]string{
		"Authorization": "Bearer " + tokenOf("ops"), "Content-Type": "application/json", "Prefer": "wait=20", "Traceparent": "00-" + trace + "-" + parent + "-01",
	} {
		r.Header.Set(name, value)
	}
	reply, err := http.DefaultClient.Do(r)
	if err != nil || reply.StatusCode != http.StatusCreated {
		t.Fatalf("got %v, %v, want a task", reply, err)
	}
	defer reply.Body.Close()
	all := to.until(t, "the task and the request", func(all []span) bool { return has(all, "task") && has(all, "POST /v1/tasks") })
	byName := map[string]span{}
	for _, s := range all {
		byName[s.Name] = s
	}
	request, task := byName["POST /v1/tasks"], byName["task"]
	if request.TraceID != trace || request.ParentID != parent || task.TraceID != trace || task.ParentID != request.SpanID || byName["plan"].ParentID != task.SpanID {
		t.Errorf("the request is %+v, the task %+v, its plan %+v", request, task, byName["plan"])
	}
	if route := request.text("http.route"); route != "/v1/tasks" {
		t.Errorf("the route of the request is %q, want it without its method", route)
	}
	p.stops()
}
