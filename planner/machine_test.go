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

// TestCorrectionWhileWordsStream: a correction of a text whose answer has begun to
// show begins the answer again, and other guidance does not.
func TestCorrectionWhileWordsStream(t *testing.T) {
	st := begin(t)
	st.add(planner.Event{Type: planner.SendStarted, Action: planner.Todo(st.s)[0].ID})
	more := planner.Event{Seq: st.s.Seq + 1, Type: planner.GuidanceAdded, By: "telegram:1", Text: "and Oslo?"}
	if planner.Takes(st.s, more) {
		t.Error("guidance is taken although the answer has begun to show")
	}
	before := planner.Todo(st.s)[0].ID
	seq := st.add(planner.Event{Type: planner.GuidanceAdded, By: "telegram:1", Text: "It reads now: Oslo?", Of: 1})
	if todo := planner.Todo(st.s); len(todo) != 1 || todo[0].ID == before || todo[0].ID.Seq != seq || st.s.Streamed {
		t.Errorf("after the correction %v is wanted, want the decision once more", todo)
	}
}
