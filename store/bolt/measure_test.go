package bolt_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"legwork/bot"
	"legwork/internal/telemetry"
	"legwork/planner"
	"legwork/store/bolt"
	"legwork/tasks"
)

// TestDecisionsMeasured: decisions of people are counted, and questions that
// expired.
func TestDecisionsMeasured(t *testing.T) {
	m := telemetry.NewMetrics(telemetry.MetricsConfig{
		Now: time.Now, Read: func(context.Context) (telemetry.Readings, error) { return telemetry.Readings{}, nil },
	})
	s := open(t, t.TempDir(), bolt.Options{Metrics: m})
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	ends := []planner.Event{
		{Type: planner.Decided, By: "test:ann", Decision: &planner.Decision{Approve: true}},
		{Type: planner.Decided, By: "test:ann", Decision: &planner.Decision{}},
		{Type: planner.Expired, At: at.Add(2 * time.Hour)},
	}
	for n, end := range ends {
		id := damageTask(n)
		in := question(bot.Chat{Platform: "test", ID: string(id)}, id, "goal")
		in.Open.At = at
		if _, err := s.Open(t.Context(), []tasks.Inbound{in}); err != nil {
			t.Fatal(err)
		}
		for _, e := range []planner.Event{
			{Type: planner.Replied, Reply: &planner.Reply{IsPlan: true, Plan: []planner.Subtask{{ID: "1/a", Name: "web", Description: "look"}}}},
			{Type: planner.Replied, Reply: &planner.Reply{Calls: []planner.Call{{ID: "1", Name: "pay", Arguments: "{}", Tool: "desk.pay"}}}},
			{Type: planner.Asked, Question: &planner.Question{Calls: []planner.Approval{{Tool: "desk.pay"}}, Expires: at.Add(time.Hour)}},
			end,
		} {
			state, err := s.State(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if e.Type != planner.Expired {
				e.Action = planner.Todo(state)[0].ID
			}
			if e.At.IsZero() {
				e.At = at
			}
			if err := s.Append(t.Context(), id, -1, 0, e); err != nil {
				t.Fatalf("%s of task %d: %v", e.Type, n, err)
			}
		}
	}
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, decision := range []string{"approved", "denied", "lapsed"} {
		if want := `{decision="` + decision + `"} 1` + "\n"; !strings.Contains(w.Body.String(), want) {
			t.Errorf("no counter ends with %q", want)
		}
	}
}
