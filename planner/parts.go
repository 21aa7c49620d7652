package planner

import (
	"cmp"
	"slices"
	"strings"
)

// A person may send one question in several messages: a comment and what it is about, or
// a long text that the client has cut. While nothing of an answer was shown, a message
// that follows at once becomes a part of the question (Joined). A plan and an answer so
// far are thrown away, and the model gets the whole question.

// Part is one message of a question of several messages.
type Part struct {
	Text    string `json:"text,omitempty"` // empty when the person wrote nothing
	Message string `json:"message,omitempty"`
}

// Whole returns the opening of a question with its further parts: their texts follow in
// Goal, and the messages that they bring along in Earlier. Goal holds quotations of
// these messages only while no part has a text.
func Whole(o *Opening, parts []Event) *Opening {
	if len(parts) == 0 {
		return o
	}
	whole := *o
	if whole.Parts, whole.Earlier = slices.Clone(o.Parts), slices.Clone(o.Earlier); len(o.Parts) == 0 {
		whole.Parts = []Part{{Text: o.Goal, Message: o.Message}}
	}
	for _, e := range parts {
		whole.Parts = append(whole.Parts, Part{Text: partText(e), Message: e.Message})
		whole.Earlier = append(whole.Earlier, e.Earlier...)
		whole.Files = append(slices.Clip(whole.Files), e.Files...)
	}
	text := QuestionText(whole.Parts)
	whole.Goal, whole.Wordless = cmp.Or(text, o.Goal), o.Wordless && text == ""
	return &whole
}

// partText is the text of a part: of a message, of the answer to the question what to
// do with files, or what was heard in a voice message.
func partText(e Event) string {
	switch {
	case e.Decision != nil:
		return e.Decision.Text
	case e.Read != nil:
		return e.Read.Text
	}
	return e.Text
}

// QuestionText is the text of a question of several messages.
func QuestionText(parts []Part) string {
	var texts []string
	for _, p := range parts {
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// eventsAt are the events with these seqs.
func eventsAt(journal Journal, seqs []int) []Event {
	list := make([]Event, len(seqs))
	for i, seq := range seqs {
		list[i] = journal(seq)
	}
	return list
}

// takesPart reports whether the question can still change: the person has seen at most
// that work goes on, and no tool was called.
func takesPart(s State) bool {
	called := slices.ContainsFunc(s.Subtasks, func(w Work) bool { return len(w.Turns) > 0 })
	shown := s.Streamed || slices.ContainsFunc(s.Slots, func(slot Slot) bool { return slot.Name != SlotBoard && !asksForGoal(slot.Name) })
	if called || shown || s.Round > 1 || s.Review > 0 || s.PromptPending || s.PromptSeq > 0 {
		return false
	}
	switch s.Phase {
	case PhaseQueued, PhaseDeciding, PhaseProposed, PhaseWorking:
		return true
	case PhaseAnswering:
		return s.Reason == ""
	case PhaseShowing:
		return s.Outcome == Done && s.Round == 0
	}
	return false
}

// isAnswer reports whether a slot is of a message with a part of the answer.
func isAnswer(slot string) bool { return strings.HasPrefix(slot, "answer.") }

// partJoined folds a further part of the question.
func partJoined(s State, e Event) State {
	s.Parts, s.PartsUntil = append(slices.Clip(s.Parts), e.Seq), e.Until
	s.Wordless = s.Wordless && e.Text == ""
	return planAgain(attach(quotes(s, e, e.Earlier), e), e.Seq)
}

// partRemoved folds that the person took back a part of the question.
func partRemoved(s State, e Event) State {
	s.Parts = slices.DeleteFunc(slices.Clone(s.Parts), func(seq int) bool { return seq == e.Of })
	s = detach(s, e.Of)
	return planAgain(s, e.Seq)
}

// planAgain drops a plan or answer that does not hold for the question any more.
func planAgain(s State, cause int) State {
	if s.Phase == PhaseQueued && s.Round == 0 {
		return s
	}
	s.Dropped += s.Round
	s.Round, s.Planned, s.Subtasks, s.MadeSeqs, s.ReturnedSeqs = 0, nil, nil, nil, nil
	s.Answer, s.Outcome, s.Reason, s.GuidanceSeen, s.NotesSeen = 0, Pending, "", 0, 0
	return decide(s, cause)
}

// NextPlan is the number of the next plan among all plans of the task. The ids of its
// sub-tasks begin with it. It is no id of a dropped plan, whose actions may still run.
func (s *State) NextPlan() int { return s.Round + s.Dropped + 1 }
