package telemetry_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"legwork/internal/telemetry"
)

func scrape(t *testing.T, m *telemetry.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Errorf("got %d %v", w.Code, w.Header())
	}
	return w.Body.String()
}

// TestReadings: gauges are as they are read at each scrape, and are missing
// when they cannot be read; a gauge that is gone is not written any more.
func TestReadings(t *testing.T) {
	now, problem := telemetry.Readings{
		Tasks: map[string]int{"working": 2}, Ready: true, Parts: map[string]bool{"store": true}, Models: map[string]bool{"main": false},
		QueuedFor: 90 * time.Second, Approvals: telemetry.Queue{Waiting: 1, Oldest: time.Minute}, StoreBytes: 5,
		Budgets: []telemetry.Budget{{Name: "day_usd", Money: true, Limit: 5e6, Spent: 1250000}, {Name: "day_tokens", Limit: 10, Spent: 4}},
	}, error(nil)
	m := telemetry.NewMetrics(telemetry.MetricsConfig{
		Build: telemetry.Build{Version: "v1", Commit: "abc", Go: "go1"}, Now: time.Now,
		Read: func(context.Context) (telemetry.Readings, error) { return now, problem },
	})
	text := scrape(t, m)
	for _, want := range []string{
		`legwork_tasks{state="working"} 2`, "legwork_ready 1", `legwork_model_up{model="main"} 0`, "legwork_queue_oldest_seconds 90",
		`legwork_budget_spent_usd{budget="day_usd"} 1.25`, `legwork_budget_limit_tokens{budget="day_tokens"} 10`, "legwork_approvals_oldest_seconds 60",
		`legwork_build_info{commit="abc",go_version="go1",version="v1"} 1`, "go_goroutines ", "process_resident_memory_bytes ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no line %q in:\n%s", want, text)
		}
	}
	now.Tasks = map[string]int{"done": 2}
	if text = scrape(t, m); strings.Contains(text, `state="working"`) {
		t.Error("a state without tasks is still written")
	}
	problem, now.Ready = errors.New("the store is gone"), false
	if text = scrape(t, m); strings.Contains(text, "legwork_tasks{") || strings.Contains(text, "legwork_store_size_bytes ") || !strings.Contains(text, "legwork_ready 0") {
		t.Errorf("without the store there is:\n%s", text)
	}
}

// TestCounts: a counter of each kind counts under its labels.
func TestCounts(t *testing.T) {
	m := telemetry.NewMetrics(telemetry.MetricsConfig{Now: time.Now})
	m.TaskEnded("slack", "done", 3*time.Second)
	m.ModelTried("main", "busy", telemetry.Tokens{})
	m.ModelTried("main", telemetry.OK, telemetry.Tokens{Input: 10, CachedInput: 4, Output: 2, Cost: 1500})
	m.ToolCalled("desk.look.up", telemetry.OK, time.Millisecond)
	m.Requested("", "BREW", 404, time.Millisecond)
	m.Reloaded(errors.New("x"))
	left := m.Followed()
	left()
	left()
	text := scrape(t, m)
	for _, want := range []string{
		`legwork_tasks_finished_total{outcome="done",platform="slack"} 1`, `legwork_task_duration_seconds_bucket{outcome="done",le="5"} 1`,
		`legwork_model_attempts_total{model="main",outcome="busy"} 1`, `legwork_model_tokens_total{kind="cached_input",model="main"} 4`,
		`legwork_model_cost_usd_total{model="main"} 0.0015`, `legwork_tool_calls_total{outcome="ok",server="desk",tool="look.up"} 1`,
		`legwork_http_requests_total{method="other",route="none",status="404"} 1`, `legwork_config_reload_successful 0`, "legwork_event_followers 0",
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("there is no line %q in:\n%s", want, text)
		}
	}
}

// TestExpected: what the config names is there before anything happens, and a
// second time changes no count.
func TestExpected(t *testing.T) {
	m := telemetry.NewMetrics(telemetry.MetricsConfig{Now: time.Now})
	e := telemetry.Expected{Platforms: []string{"api"}, Models: []string{"main"}, Problems: []string{"busy"}, Webhooks: []string{"ops"}}
	m.Expect(e)
	m.TaskEnded("api", "failed", time.Second)
	m.Expect(e)
	text := scrape(t, m)
	for _, want := range []string{
		`legwork_tasks_opened_total{platform="api"} 0`, `legwork_tasks_finished_total{outcome="failed",platform="api"} 1`,
		`legwork_tasks_finished_total{outcome="stopped",platform="api"} 0`, `legwork_model_attempts_total{model="main",outcome="busy"} 0`,
		`legwork_model_attempts_total{model="main",outcome="ok"} 0`, `legwork_model_tokens_total{kind="cached_input",model="main"} 0`,
		`legwork_model_cost_usd_total{model="main"} 0`, `legwork_webhook_deliveries_total{outcome="failed",webhook="ops"} 0`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("there is no line %q in:\n%s", want, text)
		}
	}
	var none *telemetry.Metrics
	none.Expect(e) // no metrics; it must not panic
}

// TestDocs: the page about metrics lists every one that there is.
func TestDocs(t *testing.T) {
	var source []byte
	for _, file := range []string{"names.go", "readings.go"} {
		part, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source = append(source, part...)
	}
	docs, err := os.ReadFile("../../docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`"(legwork_[a-z_]+)"`).FindAllStringSubmatch(string(source), -1)
	for _, name := range names {
		if !strings.Contains(string(docs), "`"+name[1]) {
			t.Errorf("docs/observability.md does not list %s", name[1])
		}
	}
	if len(names) < 40 {
		t.Errorf("there are %d names", len(names))
	}
}
