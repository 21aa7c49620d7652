package planner_test

import (
	"encoding/json"
	"testing"

	"legwork/llm"
	"legwork/planner"
)

func TestActionID(t *testing.T) {
	for _, c := range []struct {
		id   planner.ActionID
		text string
	}{
		{planner.ActionID{}, ""},
		{planner.DecisionID(llm.RolePlan, 3, 0), "plan 3.0"},
		{planner.DecisionID(llm.RoleReview, 12, 2), "review 12.2"},
		{planner.DecisionID(llm.RoleAnswer, 14, 1), "answer 14.1"},
		{planner.WorkID("1/a", 2, 1), "work 1/a turn 2.1"},
		{planner.WorkID("1/x turn 3.1", 2, 1), "work 1/x turn 3.1 turn 2.1"},
		{planner.CallID("2/d1", 3, 4, 5), "tool 2/d1 turn 3 call 4.5"},
		{planner.AskID(planner.SubjectPlan, 2), "ask plan 2"},
		{planner.AskID(planner.SubjectCalls, 7), "ask calls 7"},
		{planner.AskID(planner.SubjectBudget, 9), "ask budget 9"},
		{planner.AskID(planner.SubjectReview, 4), "ask review 4"},
		{planner.QuestionID(7, 2), "ask question 7 call 2"},
		{planner.FormID(7, 2), "ask form 7.2"},
		{planner.ShowID(), "show"},
	} {
		if got := c.id.String(); got != c.text {
			t.Errorf("String(%#v) = %q, want %q", c.id, got, c.text)
		}
		if got, err := planner.ParseActionID(c.text); got != c.id || err != nil {
			t.Errorf("ParseActionID(%q) = %#v, %v, want %#v", c.text, got, err, c.id)
		}
	}
	for _, text := range []string{"x", "plan", "plan 3", "plan -3.0", "plan 03.0", "plan 3.0 ", "ask", "ask x 3", "ask form 3", "work 1/a", "tool 1/a turn 1.0", "show 1", " "} {
		if got, err := planner.ParseActionID(text); err == nil {
			t.Errorf("ParseActionID(%q) = %#v, want an error", text, got)
		}
	}
}

func TestActionIDOfEvent(t *testing.T) {
	e := planner.Event{Type: planner.Decided, Action: planner.FormID(7, 1)}
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var got planner.Event
	if err := json.Unmarshal(text, &got); err != nil || got.Action != e.Action {
		t.Errorf("read %q from %s, %v, want %q", got.Action, text, err, e.Action)
	}
	if err := json.Unmarshal([]byte(`{"type":"decided","action":"ask nothing"}`), &got); err == nil {
		t.Error("an event whose action has no known form was read")
	}
}

func FuzzActionID(f *testing.F) {
	for _, text := range []string{"plan 3.0", "work 1/a turn 2.1", "tool 2/d1 turn 3 call 4.5", "ask calls 7", "ask question 7 call 2", "ask form 7.2", "show", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := planner.ParseActionID(text)
		if err == nil && id.String() != text {
			t.Errorf("ParseActionID(%q) is %q again", text, id)
		}
	})
}
