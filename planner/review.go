package planner

import (
	"encoding/json"
	"slices"

	"legwork/failpoint"
)

// What others add to a task's context, and the review of it by a person.

// The shared state's key that says whether a person is needed, and its values:
// setting the first makes the task wait for a person, whose decision sets one of
// the others.
const (
	KeyStatus        = "status"
	NeedsHumanReview = "NEEDS_HUMAN_REVIEW"
	ReviewApproved   = "APPROVED"
	ReviewRejected   = "CHANGES_REQUESTED"
)

// ReviewValues are the Event.Values of a decision about a review, without which
// it is not taken.
func ReviewValues(approve bool) map[string]json.RawMessage {
	verdict := ReviewRejected
	if approve {
		verdict = ReviewApproved
	}
	return map[string]json.RawMessage{KeyStatus: json.RawMessage(`"` + verdict + `"`)}
}

// gives reports that a decision about a review says the same in the shared state.
func gives(e Event, d Decision) bool {
	want := ReviewValues(d.Approve)
	return len(e.Values) == len(want) && string(e.Values[KeyStatus]) == string(want[KeyStatus])
}

// wantsReview reports that values ask for a review.
func wantsReview(values map[string]json.RawMessage) bool {
	var status string
	return json.Unmarshal(values[KeyStatus], &status) == nil && status == NeedsHumanReview
}

// IsVerdict reports that values say what only a decision about a review says.
func IsVerdict(values map[string]json.RawMessage) bool {
	var status string
	return json.Unmarshal(values[KeyStatus], &status) == nil && (status == ReviewApproved || status == ReviewRejected)
}

// meddles reports that values would change what a person is to decide.
func meddles(s State, values map[string]json.RawMessage) bool {
	_, touched := values[KeyStatus]
	return s.Review > 0 && touched && !wantsReview(values)
}

// swaps reports that values would put something else in the place of what a person
// is looking at.
func swaps(s State, values map[string]json.RawMessage) bool {
	for key := range values {
		if _, known := s.Shared[key]; known && key != KeyStatus && s.Review > 0 {
			return true
		}
	}
	return meddles(s, values)
}

// reviewable reports that a person can still be asked to review: what cuts a
// task short, an outcome, and an answer of which people read the first words, wait
// for nobody.
func reviewable(s State) bool {
	return !s.Settled() && !s.Begun && (s.Phase != PhaseAnswering || s.Why == "")
}

// maySet reports whether values may be set from outside. A review that could not
// be held is not begun; agents leave alone what a person reviews and is to decide,
// and cannot say that one has decided. What a person says to a review is never one change too
// many.
func maySet(s State, e Event) bool {
	if full(len(s.Changes), s.Limits.Changes) && !meddles(s, e.Values) {
		return false
	}
	if s.Limits.Reviews > 0 && s.Review == 0 && wantsReview(e.Values) {
		return reviewable(s) && s.Reviews < s.Limits.Reviews
	}
	return !ByAgent(e) || !swaps(s, e.Values) && !IsVerdict(e.Values)
}

// noted folds what others added to the context. After an answer's first words it
// is too late for it.
func noted(s State, e Event) State {
	if s.Begun && s.Attended == len(s.Noted) {
		s.Attended++
	}
	s.Noted = append(slices.Clip(s.Noted), e.Seq)
	return tainted(s, e)
}

// tainted folds that an outside agent wrote what the task will read.
func tainted(s State, e Event) State {
	if s.Tainted == 0 && ByAgent(e) {
		s.Tainted = e.Seq
	}
	return s
}

// set folds values from outside. A decision that has said nothing yet and that
// somebody wants a review before is made again after it.
func set(s State, e Event) State {
	if meddles(s, e.Values) {
		s = reviewed(s, e.Seq)
	}
	s = tainted(share(s, e.Seq, -1, e.Values), e)
	if !opensReview(s, e.Values) {
		return s
	}
	s = review(s, e.Seq, nil)
	if s.Phase == PhaseDeciding || s.Phase == PhaseAnswering {
		return decide(s, e.Seq)
	}
	return s
}

func opensReview(s State, values map[string]json.RawMessage) bool {
	return s.Review == 0 && reviewable(s) && s.Reviews < s.Limits.Reviews && wantsReview(values) && !failpoint.Fault("review-forgotten")
}

// updated folds an update_state call.
func updated(s State, e Event, at Place, call CallState) (State, CallState) {
	values := e.Reply.Calls[at.Call].Update.Values
	switch asks := s.Limits.Reviews > 0 && s.Review == 0 && wantsReview(values); {
	case meddles(s, values), s.Limits.Reviews > 0 && IsVerdict(values):
		call.Kind = CallGuarded
		return s, call
	case !hasRoom(s, values), asks && s.Reviews >= s.Limits.Reviews:
		call.Kind = CallTooMany
		return s, call
	}
	s = share(s, e.Seq, at.Call, values)
	call.Version = s.Version
	if opensReview(s, values) {
		s = review(s, e.Seq, &at)
	}
	return s, call
}

// review begins one; by is the call that wants it, nil for none.
func review(s State, seq int, by *Place) State {
	s.Review, s.Reviewer = seq, by
	s.Reviews++
	return s
}

// reviewed ends the review that is open, if any: with the event of that seq, or
// with the task when it is 0.
func reviewed(s State, seq int) State {
	if s.Review == 0 {
		return s
	}
	if at := s.Reviewer; at != nil && seq > 0 {
		var c *CallState
		s, c = editCall(s, *at)
		c.Reviewed = seq
	}
	s.Review, s.Reviewer = 0, nil
	return s
}

// verdict folds what a person decided about a review. What they say to it is
// guidance, also for the call that wanted it.
func verdict(s State, e Event) State {
	s = share(reviewed(s, e.Seq), e.Seq, -1, e.Values)
	if e.Decision.Text != "" {
		s.Heard = append(slices.Clip(s.Heard), e.Seq)
	}
	return s
}
