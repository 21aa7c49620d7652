package tasks

import (
	"context"
	"time"
)

// Summary stands for the older turns of a conversation in prompts.
type Summary struct {
	Until   uint64 // order of the last turn that is in it
	Text    string
	At      time.Time
	Tainted bool // it holds words of outsiders
}

// Summaries keep what is left of older turns.
type Summaries interface {
	// Summary returns that of a conversation; its zero value when there is none,
	// or when the conversation was cut after it.
	Summary(ctx context.Context, conversation string) (Summary, error)
	// PutSummary stores one in place of that which ended with the turn before:
	// ErrConflict when another has taken its place, or the conversation was cut or
	// forgotten since.
	PutSummary(ctx context.Context, conversation string, before uint64, s Summary) error
	// Turns lists at most limit turns of a conversation, the oldest first, whose
	// order is above after, and which are not cut.
	Turns(ctx context.Context, conversation string, after uint64, limit int) ([]Turn, error)
}
