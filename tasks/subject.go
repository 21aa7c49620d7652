package tasks

import (
	"slices"

	"legwork/planner"
)

// Decides reports whether people decide about an ask action with buttons: an
// approval, a server's question or a review.
func Decides(about planner.ActionID) bool {
	switch about.Subject {
	case planner.SubjectCalls, planner.SubjectForm, planner.SubjectReview:
		return about.Kind == planner.KindAsk
	}
	return false
}

// OpenAsk reports whether the ask action of that id is open.
func OpenAsk(s planner.State, id planner.ActionID) bool {
	return slices.ContainsFunc(planner.Todo(s), func(a planner.Action) bool { return a.Kind == planner.KindAsk && a.ID == id })
}

// Decided returns the event of a person's decision about an ask action; nil when
// there is none.
func (v *View) Decided(action planner.ActionID) *planner.Event {
	for i := range slices.Backward(v.Events) {
		if e := &v.Events[i]; e.Type == planner.Decided && e.Action == action {
			return e
		}
	}
	return nil
}

// QuestionExpired reports whether a model's question expired before it was answered.
func (v *View) QuestionExpired(about planner.ActionID) bool {
	for _, w := range v.State.Subtasks {
		for _, turn := range w.Turns {
			if about.Subject == planner.SubjectQuestion && turn.Seq == about.Seq && about.Call >= 1 && about.Call <= len(turn.Calls) {
				return v.Event(turn.Calls[about.Call-1].Result).Type == planner.Expired
			}
		}
	}
	return false
}

// DecisionExpired reports whether the question about a subject expired before a
// person decided.
func (v *View) DecisionExpired(about planner.ActionID) bool {
	q := v.Event(about.Seq).Question
	return slices.ContainsFunc(v.Events[min(about.Seq, len(v.Events)):], func(e planner.Event) bool {
		return e.Type == planner.Expired && (e.Action == about || q != nil && !q.Expires.IsZero() && !e.At.Before(q.Expires))
	})
}
