package harness

import (
	"slices"
	"strings"

	"legwork/internal/test/fakes/llmfake"
)

// stoppedText is what a task says that was stopped before anything was found.
const stoppedText = "The task was stopped."

// stopLabel is what the button of a running task says.
const stopLabel = "Stop"

// scheduledIntro begins the line before the answer to a question that a schedule
// asked.
const scheduledIntro = "Scheduled"

// about is the id of the question that an answer on stdout belongs to: a task
// that its budget ended says no more than that.
func (e Event) about() string {
	if strings.Contains(e.Text, spentText) {
		return e.ReplyTo
	}
	return mark(e.Text)
}

// mark is the id in the brackets that Brain's answers begin with, those of
// schedules after a line of their own; empty for other texts.
func mark(text string) string {
	text = strings.TrimSpace(text)
	if intro, answer, ok := strings.Cut(text, "\n"); ok && strings.Contains(intro, scheduledIntro) {
		text = strings.TrimSpace(answer)
	}
	rest, ok := strings.CutPrefix(text, "[")
	id, _, closed := strings.Cut(rest, "]")
	if !ok || !closed {
		return ""
	}
	return id
}

// answerOf returns the id of the question that a post answers; empty for an
// answer to something that was no question, and false for no answer at all.
func answerOf(p Post, inputs []Input) (id string, ok bool) {
	if id = mark(p.Text); id != "" {
		return id, true
	}
	if strings.HasPrefix(strings.TrimSpace(p.Text), "[]") {
		return "", true
	}
	for _, in := range inputs {
		if in.Kind == Planned && answers(p, in, inputs) {
			return in.ID, true
		}
	}
	return "", false
}

// answers reports whether a post is, or becomes, the outcome of a question.
func answers(p Post, in Input, inputs []Input) bool {
	if id := mark(p.Text); id != "" {
		return id == in.ID
	}
	if !strings.Contains(p.Text, stoppedText) && !strings.Contains(p.Text, spentText) || p.Chat != in.Chat || !halted(in, inputs) {
		return false
	}
	if p.To != "" {
		return p.To == in.ID
	}
	return true
}

// halted reports whether somebody stops a question, or has it answered with what
// there is when its budget is reached.
func halted(in Input, inputs []Input) bool {
	return slices.ContainsFunc(inputs, func(other Input) bool {
		return other.Gate == in.ID && (other.Kind == Stop || other.Kind == Afford && !other.Extends)
	})
}

// finished reports whether an answer holds all that it has to, guidance aside.
func finished(in Input, text string) bool {
	for _, round := range llmfake.ReadQuestion(in.Text).Rounds {
		for _, part := range round {
			if tool, _, _ := strings.Cut(part, " "); slices.Contains(tools, tool) {
				part = in.ID + " " + part
			}
			if !strings.Contains(text, part) {
				return false
			}
		}
	}
	return true
}

// isAbout reports whether a message asks, or asked, for a decision.
func isAbout(p Post, in Input) bool {
	return p.Card != "" && !ofCost(p.Asked) && strings.Contains(p.Card, in.Key)
}

// isCard reports whether a message can be decided about by its buttons.
func isCard(buttons []string) bool {
	return slices.ContainsFunc(buttons, func(label string) bool {
		return label == labelAllow || label == labelDeny || label == labelDecline || label == labelRun || label == labelConclude
	})
}

// saysSwitched reports whether a message tells that everything is paused, or
// goes on.
func saysSwitched(p Post, kind Kind) bool {
	words := []string{"Paused. No model", "It is paused already"}
	if kind == Proceed {
		words = []string{"Everything goes on", "Nothing is paused"}
	}
	return slices.ContainsFunc(words, func(start string) bool { return strings.Contains(p.Text, start) })
}
