package rules

import (
	"slices"

	"legwork/internal/clip"
	"legwork/tasks"
)

// Asked is the turn that begins with a goal's row.
func Asked(r Row) tasks.Turn {
	return tasks.Turn{Task: r.Task, Order: r.Order, At: r.At, Goal: r.Text, From: r.From}
}

// Answered is the turn with its answer's row.
func Answered(t tasks.Turn, r Row) tasks.Turn {
	t.Answer, t.Failed, t.Tainted = r.Text, r.Failed, r.Tainted
	return t
}

// Budget collects turns from the newest to the oldest until their goals and
// answers together would exceed a number of bytes.
type Budget struct {
	left  int
	turns []tasks.Turn
}

// NewBudget returns a collector for at most maxBytes of text.
func NewBudget(maxBytes int) *Budget { return &Budget{left: maxBytes} }

// Add takes the next older turn. It reports false when the turn does not fit;
// then the collection is over. The newest turn is shortened instead, so that
// one very long question does not cut off a conversation.
func (b *Budget) Add(t tasks.Turn) bool {
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
func (b *Budget) Turns() []tasks.Turn {
	slices.Reverse(b.turns)
	return b.turns
}
