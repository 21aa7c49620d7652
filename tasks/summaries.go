package tasks

import (
	"context"
	"time"

	"legwork/planner"
)

// Summary replaces the older turns of a conversation in prompts.
type Summary struct {
	Until   uint64 // order of the last turn that is in it
	Text    string
	At      time.Time
	Tainted bool            // it may hold texts of outsiders
	Private planner.Origins // where its private data may have come from
}

// Summaries stores the summaries of conversations.
type Summaries interface {
	// Summary returns the summary of a conversation. It returns the zero value when
	// there is none, or when the conversation was cut after it.
	Summary(ctx context.Context, conversation string) (Summary, error)
	// PutSummary stores a summary in place of the one that ended with the turn
	// before. It returns ErrConflict if another summary was stored meanwhile, or if
	// the conversation was cut or forgotten.
	PutSummary(ctx context.Context, conversation string, before uint64, s Summary) error
	// Turns lists at most limit turns of a conversation that are not cut and whose
	// order is above after, the oldest first.
	Turns(ctx context.Context, conversation string, after uint64, limit int) ([]Turn, error)
}
