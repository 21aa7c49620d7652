package store_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"legwork/bot"
	"legwork/internal/telemetry"
	"legwork/llm"
	"legwork/planner"
	"legwork/store"
	"legwork/store/memory"
	"legwork/store/storetest"
	"legwork/tasks"
)

// TestDecisionsMeasured: decisions of people are counted, and questions that
// expired.
func TestDecisionsMeasured(t *testing.T) {
	m := telemetry.NewMetrics(telemetry.MetricsConfig{
		Now: time.Now, Read: func(context.Context) (telemetry.Readings, error) { return telemetry.Readings{}, nil },
	})
	s, err := store.Open(t.Context(), memory.NewDB(), store.Options{Metrics: m})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	ends := []planner.Event{
		{Type: planner.Decided, By: "test:ann", Decision: &planner.Decision{Approve: true}},
		{Type: planner.Decided, By: "test:ann", Decision: &planner.Decision{}},
		{Type: planner.Expired, At: at.Add(2 * time.Hour)},
	}
	for n, end := range ends {
		id := tasks.ID(fmt.Sprint(n))
		in := storetest.Question(bot.Chat{Platform: "test", ID: string(id)}, id, "goal")
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

// TestOldSums: sums of days long ago go, whatever the clock says; those of the
// newest days stay, and what was spent is kept.
func TestOldSums(t *testing.T) {
	db := memory.NewDB()
	s, err := store.Open(t.Context(), db, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(t.Context(), []tasks.Inbound{storetest.Question(bot.Chat{Platform: "test", ID: "c"}, "t", "goal")}); err != nil {
		t.Fatal(err)
	}
	const days = 40
	var want []string
	for n := range days {
		day := time.Date(2026, 1, 1+n, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
		if n >= days-32 {
			want = append(want, day)
		}
		r := tasks.Reservation{ID: storetest.ReservationID("a"), Day: day, User: "test:ann", Chat: "test:c", Model: "main", Most: llm.Usage{Input: 60}}
		if err := errors.Join(s.Reserve(t.Context(), "t", r), s.Settle(t.Context(), "t", r.ID, llm.Usage{Input: 7})); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := s.Spent(t.Context(), tasks.SpentQuery{}); err != nil || len(list) != days {
		t.Fatalf("Spent: got %d rows, %v, want %d", len(list), err, days)
	}
	var kept []string
	for key := range read(t, db)[store.TableTotals] {
		kept = append(kept, key[:len(time.DateOnly)])
	}
	slices.Sort(kept)
	if d := cmp.Diff(want, slices.Compact(kept)); d != "" {
		t.Errorf("days whose sums are kept (-want +got):\n%s", d)
	}
}
