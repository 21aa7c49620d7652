package tasks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"legwork/planner"
)

// subject is what an ask action is about, read out of its id: so also those that
// are over can be told apart.
type subject struct {
	kind  string // one of the words below; empty for a question of a model
	seq   int    // of the event that asks
	field int    // of a form
}

// The kinds of ask action whose id does not name a call.
const (
	aboutPlan     = "plan"
	aboutBudget   = "budget"
	aboutApproval = "approval"
	aboutForm     = "form"
	aboutReview   = "review"
)

// subjectOf reads the id of an ask action.
func subjectOf(action string) subject {
	kind, number, _ := strings.Cut(strings.TrimPrefix(action, "ask "), " ")
	field := "0"
	switch kind {
	case aboutForm:
		number, field, _ = strings.Cut(number, ".")
	case aboutApproval, aboutPlan, aboutBudget, aboutReview:
	default:
		return subject{}
	}
	seq, bad := strconv.Atoi(number)
	n, worse := strconv.Atoi(field)
	if bad != nil || worse != nil {
		return subject{}
	}
	return subject{kind, seq, n}
}

// decides reports that the subject is for buttons that name it by its event: an
// approval, a server's question or a review.
func (s subject) decides() bool {
	return s.kind == aboutApproval || s.kind == aboutForm || s.kind == aboutReview
}

// openAsk reports that the ask action of that id waits for somebody.
func openAsk(s planner.State, id string) bool {
	return slices.ContainsFunc(planner.Todo(s), func(a planner.Action) bool { return a.Kind == planner.KindAsk && a.ID == id })
}

// decided finds the event by which a person decided about an ask action; nil
// when nobody did.
func (v *View) decided(action string) *planner.Event {
	for i := range slices.Backward(v.events) {
		if e := &v.events[i]; e.Type == planner.Decided && e.Action == action {
			return e
		}
	}
	return nil
}

// unanswered reports that the time of a model's question was over before anybody
// answered it.
func (v *View) unanswered(action string) bool {
	var subtask string
	var turn, call int
	if _, err := fmt.Sscanf(action, "ask %s turn %d call %d.", &subtask, &turn, &call); err != nil {
		return false
	}
	for _, w := range v.State.Subtasks {
		if w.ID == subtask && turn <= len(w.Turns) && call <= len(w.Turns[turn-1].Calls) {
			return v.Event(w.Turns[turn-1].Calls[call-1].Result).Type == planner.Expired
		}
	}
	return false
}

// lapsed reports that the time of the question about a subject was over before
// anybody decided.
func (v *View) lapsed(about subject) bool {
	q := v.Event(about.seq).Question
	return slices.ContainsFunc(v.events[min(about.seq, len(v.events)):], func(e planner.Event) bool {
		return e.Type == planner.Expired && (e.Action == about.action() || q != nil && !q.Expires.IsZero() && !e.At.Before(q.Expires))
	})
}
