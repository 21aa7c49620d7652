package bot

import (
	"context"
	"time"
)

// RateLimiter says when a request to a platform may go out. All requests of an
// account pass through one limiter, so that together they keep to the
// platform's limits. It is safe for concurrent use.
type RateLimiter interface {
	// Wait returns nil when the request may be sent, and counts it as sent.
	// Frames never wait: where a frame may not go now, or other requests are
	// waiting, the error is a *LaterError. Other requests wait: high priority
	// first, then chat by chat in turn, and in order of arrival within a chat.
	// Their error is ctx's.
	Wait(ctx context.Context, r Request) error
	// Pause stops requests for d because the platform asked for it: those of r's
	// Account, of its Chat unless that is empty, and of its Method unless that is
	// empty.
	Pause(r Request, d time.Duration)
}

// Request is what a RateLimiter knows of a request.
type Request struct {
	Account  string // whose limits count: the bot's id or the workspace, never a secret
	Chat     string // the platform's id of the chat; empty where no limit is per chat
	Group    bool   // more than one person is in the chat
	Method   string // as the platform calls it
	Priority Priority
}

// Priority is the order among requests that wait for the same limit.
type Priority uint8

// The priorities. Both kinds of frame never wait.
const (
	PriorityFrame      Priority = iota // may be left out: a newer frame will come
	PriorityFirstFrame                 // the first frame of a message may use what the limits reserve for other requests
	PriorityNormal                     // notices, and boards that are final
	PriorityHigh                       // outcomes and questions
)

// Waits reports whether a request of that priority waits.
func (p Priority) Waits() bool { return p > PriorityFirstFrame }

// Priority is the draft's priority. fresh says that the draft becomes a message
// of its own. Frames do not wait, so that an older frame never follows a newer
// one. The board of a task that waits for others leaves room for answers, also when
// it is new.
func (d *Draft) Priority(fresh bool) Priority {
	switch {
	case d.Partial && fresh && (d.Board == nil || !d.Board.Queued):
		return PriorityFirstFrame
	case d.Partial:
		return PriorityFrame
	case d.Kind == KindAnswer || d.Kind == KindQuestion:
		return PriorityHigh
	}
	return PriorityNormal
}
