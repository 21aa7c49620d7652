package e2e_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
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

var update = flag.Bool("update", false, "rewrite what was scraped")

// scraped is where the dashboard and the rules of deploy are held against a real
// scrape, by the parser of Prometheus in a module of its own.
var scraped = filepath.Join("..", "promql", "testdata", "scrape.txt")

// sample is a line of a scrape; label the beginning of each of its labels.
var (
	sample = regexp.MustCompile(`(?m)^([a-z_]+)(?:\{(.*)\})? \S+$`)
	label  = regexp.MustCompile(`(?:^|,)([a-z_]+)="`)
)

// families are the metrics of a scrape with their labels: "name{a,b}".
func families(text string) []string {
	found := map[string]bool{}
	for _, m := range sample.FindAllStringSubmatch(text, -1) {
		var labels []string
		for _, l := range label.FindAllStringSubmatch(m[2], -1) {
			labels = append(labels, l[1])
		}
		found[m[1]+"{"+strings.Join(labels, ",")+"}"] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// TestMetrics: a daemon with some work behind it shows the metrics that the
// dashboard, the rules and the docs speak of, and nothing of whom it worked for.
func TestMetrics(t *testing.T) {
	t.Parallel()
	s := works("1000")
	s.http = ", tokens: [" + tokenLine("ops", "admin") + ", " + tokenLine("bot", "agent") + "]"
	hooked := make(chan string, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { hooked <- r.Header.Get("Traceparent") }))
	defer hook.Close()
	to := newCollector(t)
	s.more = "budget: {day_tokens: 100000000}\nalerts: {webhooks: {ops: {url: \"" + hook.URL + "\", secret: whsec_" + strings.Repeat("MfKQ", 10) + "}}}\n" +
		"telemetry: {otlp_endpoint: \"" + to.URL + "\", otlp_headers: {x-key: otlp-secret-e2e}}\n"
	s.model = ", price: {input: 1, output: 2}"
	b := newTelegramEnv(t, s)
	p := b.opens()
	ops := outsider{t, "http://" + p.address, tokenOf("ops")}
	_, fresh := ops.sends(http.MethodGet, "/metrics", "")
	for _, f := range []string{ // counters that grow begin at zero
		`legwork_tasks_finished_total{outcome="failed",platform="telegram"} 0`, `legwork_tasks_opened_total{platform="api"} 0`,
		`legwork_model_attempts_total{model="main",outcome="unreachable"} 0`, `legwork_webhook_deliveries_total{outcome="failed",webhook="ops"} 0`,
		`legwork_tasks{state="waiting"} 0`, `legwork_approvals_total{decision="denied"} 0`,
	} {
		if !strings.Contains(string(fresh), f+"\n") {
			t.Errorf("before anything has happened there is no line %q in:\n%s", f, fresh)
		}
	}
	b.Say(b.bob.ID, b.bob, "first: a question")
	b.offers(b.bob.ID, "Details", "value of quick", "at last")
	ops.calls(http.MethodPost, "/v1/tasks", `{"goal": "second: a context", "run": false}`, nil)
	ops.calls(http.MethodPost, "/v1/tasks", `{"goal": "later: a question", "notify": {"webhook": "ops"}}`, nil)
	ops.calls(http.MethodGet, "/v1/tasks", "", nil)
	wanted := []string{
		`legwork_tasks_finished_total{outcome="done",platform="telegram"} 1`,
		`legwork_webhook_deliveries_total{outcome="ok",webhook="ops"} 1`,
		`legwork_subtasks_total{group="desk",outcome="done"} 2`,
		`legwork_tool_calls_total{outcome="ok",server="desk",tool="lookup"} 1`,
		`legwork_tasks_opened_total{platform="telegram"} 1`,
		`legwork_tasks_finished_total{outcome="done",platform="api"} 1`,
		`legwork_http_requests_total{method="GET",route="/v1/tasks",status="200"} 1`,
		`legwork_ready 1`,
	}
	var text string
	tick := time.NewTicker(50 * time.Millisecond) // nothing tells when something is counted
	defer tick.Stop()
	for late := time.Now().Add(patience); ; <-tick.C {
		code, page := ops.sends(http.MethodGet, "/metrics", "")
		if text = string(page); code != http.StatusOK {
			t.Fatalf("/metrics: got %d %s", code, text)
		}
		missing := slices.DeleteFunc(slices.Clone(wanted), func(line string) bool { return strings.Contains(text, line+"\n") })
		if len(missing) == 0 {
			break
		}
		if time.Now().After(late) {
			t.Fatalf("there are no lines %q in:\n%s", missing, text)
		}
	}
	if *update {
		if err := os.WriteFile(scraped, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	known, err := os.ReadFile(scraped)
	if err != nil {
		t.Fatal(err)
	}
	if at := <-hooked; len(at) != 55 {
		t.Errorf("the webhook was told the trace %q", at)
	}
	now := families(text)
	for _, f := range families(string(known)) {
		if !slices.Contains(now, f) {
			t.Errorf("%s is not among the metrics any more; with -update %s is written anew", f, scraped)
		}
	}
	for _, word := range []string{"Bob", "question", telegramToken, tokenOf("ops"), "sk-secret-e2e"} {
		if strings.Contains(text, word) {
			t.Errorf("%q is in the metrics", word)
		}
	}
	if code, body := (outsider{t, ops.url, tokenOf("bot")}).sends(http.MethodGet, "/metrics", ""); code != http.StatusForbidden {
		t.Errorf("an agent's token got %d %s, want 403", code, body)
	}
}
