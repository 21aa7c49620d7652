package rules

import (
	"slices"

	"legwork/tasks"
)

// Budget collects turns from the newest to the oldest until their goals and
// answers together would exceed a number of bytes.
type Budget struct {
	left  int
	turns []tasks.Turn
}

// NewBudget returns a collector for at most maxBytes of text.
func NewBudget(maxBytes int) *Budget { return &Budget{left: maxBytes} }

// Add takes the next older turn. It reports false when the turn does not fit;
// then the collection is over.
func (b *Budget) Add(t tasks.Turn) bool {
	b.left -= len(t.Goal) + len(t.Answer)
	if b.left < 0 {
		return false
	}
	b.turns = append(b.turns, t)
	return true
}

// Turns returns what was collected, oldest first.
func (b *Budget) Turns() []tasks.Turn {
	slices.Reverse(b.turns)
	return b.turns
}
