package planner_test

import (
	"testing"
	"time"

	"legwork/planner"
)

var t0 = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestAPlainAnswerIsOneCall(t *testing.T) {
	var s planner.State
	seq := 0
	step := func(e planner.Event) {
		t.Helper()
		if !planner.Takes(s, e) {
			t.Fatalf("Takes(%s %q) = false in phase %s; todo %v", e.Type, e.Action, s.Phase, planner.Todo(s))
		}
		seq++
		e.Seq, e.At = seq, t0.Add(time.Duration(seq)*time.Second)
		s = planner.Apply(s, e)
	}
	step(planner.Event{Type: planner.Opened, Opening: &planner.Opening{Goal: "hi", Limits: planner.DefaultLimits()}})
	todo := planner.Todo(s)
	if len(todo) != 1 || todo[0].Role != "plan" {
		t.Fatalf("todo = %v, want one plan call", todo)
	}
	step(planner.Event{Type: planner.Replied, Action: todo[0].ID, Reply: &planner.Reply{Text: "hello"}})
	step(planner.Event{Type: planner.SendStarted, Slot: planner.SlotAnswer})
	step(planner.Event{Type: planner.Sent, Slot: planner.SlotAnswer, Message: "m1", Last: true})
	if !s.Finished() || s.Outcome != planner.Done {
		t.Errorf("phase %s, outcome %s; want over, done", s.Phase, s.Outcome)
	}
}
