package e2e_test

import (
	"flag"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

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
