package record

import (
	"slices"
	"strings"

	"legwork/internal/test/fakes/llmfake"
)

// StoppedText is what a task says that was stopped before anything was found.
const StoppedText = "The task was stopped."

// StopLabel is what the button of a running task says.
const StopLabel = "Stop"

// scheduledIntro begins the line before the answer to a question that a schedule
// asked.
const scheduledIntro = "Scheduled"

// heardIntro begins the line before the answer to a voice message, which holds its words.
const heardIntro = "🎤"

// SaysForgotten reports whether a message tells that a conversation was deleted.
func SaysForgotten(text string) bool { return strings.Contains(text, "Deleted: ") }

// About is the id of the question that an answer on stdout belongs to: a task
// that its budget ended says no more than that.
func (e Event) About() string {
	if strings.Contains(e.Text, SpentText) {
		return e.ReplyTo
	}
	return Mark(e.Text)
}

// Mark is the id in the brackets that Brain's answers begin with, those of
// schedules and to voice messages after a line of their own; empty for other texts.
func Mark(text string) string {
	text = strings.TrimSpace(text)
	if intro, answer, ok := strings.Cut(text, "\n"); ok && (strings.Contains(intro, scheduledIntro) || strings.Contains(intro, heardIntro)) {
		text = strings.TrimSpace(answer)
	}
	rest, ok := strings.CutPrefix(text, "[")
	id, _, closed := strings.Cut(rest, "]")
	if !ok || !closed {
		return ""
	}
	return id
}

// AnswerOf returns the id of the question that a post answers; empty for an
// answer to something that was no question, and false for no answer at all.
func AnswerOf(p Post, inputs []Input) (id string, ok bool) {
	if id = Mark(p.Text); id != "" {
		return id, true
	}
	if strings.HasPrefix(strings.TrimSpace(p.Text), "[]") {
		return "", true
	}
	for _, in := range inputs {
		if in.Kind == Planned && Answers(p, in, inputs) {
			return in.ID, true
		}
	}
	return "", false
}

// Answers reports whether a post is, or becomes, the outcome of a question.
func Answers(p Post, in Input, inputs []Input) bool {
	if id := Mark(p.Text); id != "" {
		return id == in.ID
	}
	if !strings.Contains(p.Text, StoppedText) && !strings.Contains(p.Text, SpentText) || p.Chat != in.Chat || !EndedEarly(in, inputs) {
		return false
	}
	if p.To != "" {
		return p.To == in.ID
	}
	return true
}

// EndedEarly reports whether somebody stops a question, or has it answered with what
// there is when its budget is reached.
func EndedEarly(in Input, inputs []Input) bool {
	return slices.ContainsFunc(inputs, func(other Input) bool {
		return other.Gate == in.ID && (other.Kind == Stop || other.Kind == DecideCost && !other.Extends)
	})
}

// Finished reports whether an answer holds all that it has to, guidance aside. Of one whose
// prompt was cut to what the budget had left, that is what it made.
func Finished(in Input, text string) bool {
	if made := in.Makes(); len(made) > 0 && strings.Contains(text, "[…]") {
		return strings.Contains(text, made[len(made)-1].Part+": made")
	}
	for _, round := range llmfake.ReadQuestion(in.Text).Rounds {
		for _, part := range round {
			if tool, _, _ := strings.Cut(part, " "); slices.Contains(Tools, tool) {
				part = in.ID + " " + part
			}
			if !strings.Contains(text, part) {
				return false
			}
		}
	}
	return true
}

// IsAbout reports whether a message asks, or asked, for a decision.
func IsAbout(p Post, in Input) bool {
	return p.Card != "" && !ButtonsOfCost(p.Asked) && strings.Contains(p.Card, in.Key)
}

// IsCard reports whether a message can be decided about by its buttons.
func IsCard(buttons []string) bool {
	return slices.ContainsFunc(buttons, func(label string) bool {
		return label == LabelAllow || label == LabelDeny || label == LabelDecline || label == LabelRun || label == labelConclude
	})
}

// SaysPaused reports whether a message tells that everything is paused, or
// goes on.
func SaysPaused(p Post, kind Kind) bool {
	words := []string{"Paused. I make no new calls", "Already paused by"}
	if kind == Resume {
		words = []string{"Resumed.", "legwork is not paused"}
	}
	return slices.ContainsFunc(words, func(start string) bool { return strings.Contains(p.Text, start) })
}
