package rules

import (
	"slices"

	"legwork/internal/clip"
	"legwork/tasks"
)

// TurnOf is the turn that begins with a goal's row.
func TurnOf(r HistoryRow) tasks.Turn {
	return tasks.Turn{Task: r.Task, Order: r.Order, At: r.At, Goal: r.Text, From: r.From}
}

// WithAnswer is the turn with its answer's row.
func WithAnswer(t tasks.Turn, r HistoryRow) tasks.Turn {
	t.Answer, t.Failed, t.Tainted = r.Text, r.Failed, r.Tainted
	return t
}

// TurnCollector collects turns from the newest to the oldest until their goals and
// answers together would exceed a number of bytes.
type TurnCollector struct {
	left  int
	turns []tasks.Turn
}

// NewTurnCollector returns a collector for at most maxBytes of text.
func NewTurnCollector(maxBytes int) *TurnCollector { return &TurnCollector{left: maxBytes} }

// Add takes the next older turn. It reports false when the turn does not fit;
// then the collection is over. The newest turn is shortened instead, so that
// one very long question does not cut off a conversation.
func (b *TurnCollector) Add(t tasks.Turn) bool {
	if len(b.turns) == 0 && len(t.Goal)+len(t.Answer) > b.left {
		t.Goal, t.Answer = shorten(t.Goal, b.left/2), shorten(t.Answer, b.left/2)
	}
	b.left -= len(t.Goal) + len(t.Answer)
	if b.left < 0 {
		return false
	}
	b.turns = append(b.turns, t)
	return true
}

// shorten cuts a text to at most n bytes at a rune's boundary.
func shorten(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return clip.Marked(text, max(0, n-len(clip.Mark)))
}

// Turns returns what was collected, oldest first.
func (b *TurnCollector) Turns() []tasks.Turn {
	slices.Reverse(b.turns)
	return b.turns
}
