package api

import (
	"testing"
	"time"

	"legwork/internal/form"
	"legwork/planner"
)

// TestExpired: an expiry names the questions that were not decided by then;
// the expiry of a task's own time names none.
func TestExpired(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	hours := func(n int) time.Time { return at.Add(time.Duration(n) * time.Hour) }
	tool := func(id string) planner.Call {
		return planner.Call{ID: id, Name: "book", Arguments: "{}", Tool: "desk.book"}
	}
	opened := planner.Event{At: at, Type: planner.Opened, Opening: &planner.Opening{Goal: "goal", Limits: planner.DefaultLimits()}}
	questions := []planner.Event{
		opened,
		{Type: planner.Replied, Action: planner.DecisionID("plan", 1, 0), Reply: &planner.Reply{IsPlan: true, Plan: []planner.Subtask{{ID: "1/a", Name: "desk"}, {ID: "1/b", Name: "desk"}, {ID: "1/c", Name: "desk"}}}},
		{Type: planner.Replied, Action: planner.WorkID("1/a", 1, 0), Reply: &planner.Reply{Calls: []planner.Call{{ID: "1", Name: "ask_person", Ask: &planner.Question{Text: "Which?", Expires: hours(1)}}}}},
		{Type: planner.Replied, Action: planner.WorkID("1/b", 1, 0), Reply: &planner.Reply{Calls: []planner.Call{tool("1"), tool("2")}}},
		{Type: planner.Asked, Action: planner.CallID("1/b", 1, 1, 0), Question: &planner.Question{Expires: hours(1), Calls: []planner.Approval{{Call: 0}, {Call: 1}}}},
		{Type: planner.Replied, Action: planner.WorkID("1/c", 1, 0), Reply: &planner.Reply{Calls: []planner.Call{tool("1")}}},
		{Type: planner.Asked, Action: planner.CallID("1/c", 1, 1, 0), Question: &planner.Question{Expires: hours(2), Form: &form.Question{Message: "How many?"}}},
		{Type: planner.Expired, At: hours(1)},
		{Type: planner.BudgetReached, Budget: "task_usd", Overdraft: &planner.Overdraft{Budget: "task_usd", Expires: hours(3)}},
		{Type: planner.Expired, At: hours(2)},
		{Type: planner.Expired, At: hours(3)},
	}
	for _, c := range []struct {
		journal []planner.Event
		want    map[int]string
	}{
		{questions, map[int]string{
			8:  `{"approval":"T.3.0","approvals":["T.3.0","T.5.0"],"event":"expired","kind":"question"}`,
			10: `{"approval":"T.7.0","event":"expired","kind":"form"}`,
			11: `{"approval":"T.9.0","event":"expired","kind":"budget"}`,
		}},
		{[]planner.Event{opened, {Type: planner.Expired, At: hours(1)}}, map[int]string{2: `{"event":"expired"}`}},
	} {
		var s planner.State
		for i := range c.journal {
			e := &c.journal[i]
			if e.Seq = i + 1; e.At.IsZero() {
				e.At = s.Last
			}
			if !planner.Takes(s, *e) {
				t.Fatalf("event %d %s is not taken; todo %+v", e.Seq, e.Type, planner.Todo(s))
			}
			s = planner.Apply(s, *e)
		}
		tell := translator{"T", s, func(seq int) planner.Event { return c.journal[seq-1] }, true}
		for seq, want := range c.want {
			m, _, err := tell.filtered(c.journal[seq-1], nil)
			if err != nil || m.Type != TypeStatus || string(m.Content) != want {
				t.Errorf("event %d is told as %s %s, %v; want %s", seq, m.Type, m.Content, err, want)
			}
		}
	}
}
