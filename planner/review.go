package planner

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// The shared state's key that says whether a person is needed, and its values:
// setting the first makes the task wait for a person, whose decision sets one of
// the others.
const (
	KeyStatus        = "status"
	NeedsHumanReview = "NEEDS_HUMAN_REVIEW"
	ReviewApproved   = "APPROVED"
	ReviewRejected   = "CHANGES_REQUESTED"
	ReviewExpired    = "REVIEW_EXPIRED" // of legwork itself: no decision came in time
)

// ReviewValues are the Event.Values of a decision about a review, without which
// it is not taken.
func ReviewValues(approve bool) map[string]json.RawMessage {
	if approve {
		return statusValue(ReviewApproved)
	}
	return statusValue(ReviewRejected)
}

func statusValue(status string) map[string]json.RawMessage {
	return map[string]json.RawMessage{KeyStatus: json.RawMessage(`"` + status + `"`)}
}

// setsExactly reports that what ends a review says so in the shared state, and no more.
func setsExactly(e Event, want map[string]json.RawMessage) bool {
	return len(e.Values) == len(want) && string(e.Values[KeyStatus]) == string(want[KeyStatus])
}

// Expiry is the event that tells at a time that the Deadline of s has come: also
// for whom, when a review lapses by it.
func Expiry(s State, at time.Time) Event {
	e := Event{Type: Expired, At: at}
	if budget := s.Overdraft.Expires; !s.ReviewExpires.IsZero() && !at.Before(s.ReviewExpires) && (budget.IsZero() || at.Before(budget)) {
		e.Action, e.Values = reviewID(s), statusValue(ReviewExpired)
	}
	return e
}

// isExpiry reports that e says of a review what Expiry does.
func isExpiry(s State, e Event) bool {
	want := Expiry(s, e.At)
	return e.Action == want.Action && setsExactly(e, want.Values)
}

// wantsReview reports that values ask for a review.
func wantsReview(values map[string]json.RawMessage) bool {
	var status string
	return json.Unmarshal(values[KeyStatus], &status) == nil && status == NeedsHumanReview
}

// IsVerdict reports that values say what only the end of a review says, or what
// readers that look less closely would take for it: " approved", ["APPROVED"].
func IsVerdict(values map[string]json.RawMessage) bool {
	var status any
	if json.Unmarshal(values[KeyStatus], &status) != nil {
		return false
	}
	word := strings.Map(func(r rune) rune {
		if r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToUpper(r)
		}
		return -1
	}, fmt.Sprint(status))
	return word == ReviewApproved || word == ReviewRejected || word == ReviewExpired
}

// changesReview reports that values would change the subject of the open review.
func changesReview(s State, values map[string]json.RawMessage) bool {
	_, touched := values[KeyStatus]
	return s.Review > 0 && touched && !wantsReview(values)
}

// overwritesReviewed reports that values would put something else in the place of what a person
// is looking at.
func overwritesReviewed(s State, values map[string]json.RawMessage) bool {
	for key := range values {
		if _, known := s.Shared[key]; known && key != KeyStatus && s.Review > 0 {
			return true
		}
	}
	return changesReview(s, values)
}

// reviewable reports that a person can still be asked to review. A task that is cut
// short, an outcome, and an answer that people read already do not wait for a review.
func reviewable(s State) bool {
	return !s.Settled() && !s.Streamed && (s.Phase != PhaseAnswering || s.Reason == "")
}

// maySet reports whether values may be set from outside. A review that could not be
// held does not begin. Agents cannot change the values that a person reviews, nor set
// a decision. The limit of changes does not hold for the end of a review.
func maySet(s State, e Event) bool {
	if full(len(s.Changes), s.Limits.Changes) && !changesReview(s, e.Values) {
		return false
	}
	if s.Limits.Reviews > 0 && s.Review == 0 && wantsReview(e.Values) {
		return reviewable(s) && s.Reviews < s.Limits.Reviews
	}
	return !ByAgent(e) || !overwritesReviewed(s, e.Values) && !IsVerdict(e.Values)
}

// Current reports that a decision about the open review may be about the shared
// state of that version: since it began, and since then, keys were only added.
func (s *State) Current(version int) bool {
	opened, _ := slices.BinarySearch(s.Changes, s.Review)
	return version > opened && version >= s.ChangedVersion && version <= s.Version
}

// noteAdded folds a note from outside. After an answer's first words a note is too
// late for it.
func noteAdded(s State, e Event) State {
	if s.Streamed && s.NotesSeen == len(s.Notes) {
		s.NotesSeen++
	}
	s.Notes = append(slices.Clip(s.Notes), e.Seq)
	return taint(attach(s, e), e)
}

// taint notes that the task will read the words of a program. They are private, and those of
// an agent are words of outsiders.
func taint(s State, e Event) State {
	return labelled(s, e.Seq, Labels{Outside: ByAgent(e), Private: Origins{OriginProgram}})
}

// stateSet folds values from outside. When they ask for a review, a decision whose
// answer has not begun is made again after the review.
func stateSet(s State, e Event) State {
	if changesReview(s, e.Values) {
		s = endReview(s, e.Seq)
	}
	s = taint(setShared(s, e.Seq, -1, e.Values), e)
	if !opensReview(s, e.Values) {
		return s
	}
	s = openReview(s, e, nil)
	if s.Phase == PhaseDeciding || s.Phase == PhaseAnswering {
		return decide(s, e.Seq)
	}
	return s
}

func opensReview(s State, values map[string]json.RawMessage) bool {
	return s.Review == 0 && reviewable(s) && s.Reviews < s.Limits.Reviews && wantsReview(values)
}

// stateUpdated folds an update_state call.
func stateUpdated(s State, e Event, at Place, call CallState) (State, CallState) {
	values := e.Reply.Calls[at.Call].Update.Values
	switch asks := s.Limits.Reviews > 0 && s.Review == 0 && wantsReview(values); {
	case overwritesReviewed(s, values), s.Limits.Reviews > 0 && IsVerdict(values):
		call.Kind = CallGuarded
		return s, call
	case !hasRoom(s, values), asks && s.Reviews >= s.Limits.Reviews:
		call.Kind = CallTooMany
		return s, call
	}
	s = setShared(s, e.Seq, at.Call, values)
	call.Version = s.Version
	if opensReview(s, values) {
		s = openReview(s, e, &at)
	}
	return s, call
}

// openReview begins a review; by is the call that wants it, nil for none. Tasks of
// agents from outside have the deadline of Limits.IdleTimeout.
func openReview(s State, e Event, by *Place) State {
	s.Review, s.ReviewCall = e.Seq, by
	s.Reviews++
	if s.Limits.ReviewTime > 0 && s.Phase != PhaseShared {
		s.ReviewExpires = e.At.Add(s.Limits.ReviewTime)
	}
	return s
}

// endReview ends the review that is open, if any: with the event of that seq, or
// with the task when it is 0.
func endReview(s State, seq int) State {
	if s.Review == 0 {
		return s
	}
	if at := s.ReviewCall; at != nil && seq > 0 {
		var c *CallState
		s, c = editCall(s, *at)
		c.Reviewed = seq
	}
	s.Review, s.ReviewCall, s.ReviewExpires = 0, nil, time.Time{}
	return s
}

// reviewDecided folds a decision about a review. Its text is guidance, also for the
// call that wanted the review.
func reviewDecided(s State, e Event) State {
	s = setShared(endReview(s, e.Seq), e.Seq, -1, e.Values)
	if e.Decision.Text != "" {
		s.Guidance = append(slices.Clip(s.Guidance), e.Seq)
	}
	return s
}

// reviewExpired folds that no decision about a review came in time: the held actions
// stay undone, and the task answers with its results or its shared state.
func reviewExpired(s State, e Event) State {
	worth := s.HasResults() || s.Phase == PhaseWorking && len(s.Shared) > 1
	s = skipRest(setShared(endReview(s, e.Seq), e.Seq, -1, e.Values), e)
	if worth {
		return answer(s, e.Seq, ReasonReview)
	}
	return settle(s, Failed, ReasonReview)
}
