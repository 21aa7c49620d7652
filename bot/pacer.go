package bot

import (
	"context"
	"time"
)

// Pacer says when a request to a platform may go out. One stands in front of
// all requests of an account, so that they keep to the platform's limits
// together; in a cluster it is shared. It is safe for concurrent use.
type Pacer interface {
	// Turn returns nil when the request may be sent, and counts it as sent. A
	// request of urgency Frame or Fresh never waits: when its turn has not come, or others
	// wait for theirs, the error is a *LaterError. Others wait, those of urgency First
	// before the rest, chats in turn and each chat's in order of arrival; their
	// error is ctx's.
	Turn(ctx context.Context, r Request) error
	// Hold notes that the platform wants nothing of that kind for d: of r's
	// Account, of its Chat unless that is empty, and of its Method unless that is
	// empty. Everything else goes on.
	Hold(r Request, d time.Duration)
}

// Request is what a Pacer knows of a request.
type Request struct {
	Account string // whose limits count: the bot's id or the workspace, never a secret
	Chat    string // the platform's id of the chat; empty where no limit is per chat
	Group   bool   // more people than one are in the chat
	Method  string // as the platform calls it
	Urgency Urgency
}

// Urgency is the order among requests that wait for the same turn.
type Urgency uint8

// The urgencies. The first two never wait.
const (
	Frame Urgency = iota // may be left out: a newer one will come
	Fresh                // the first frame of a message: it takes what frames have to leave for others
	Plain                // notices, boards that fold
	First                // outcomes and questions
)

// Waits reports that a request of that urgency waits for its turn.
func (u Urgency) Waits() bool { return u > Fresh }

// Urgency is how a request that shows the draft waits for its turn: frames do
// not, so that what is shown is never older than what comes after it. fresh
// says that the draft becomes a message of its own.
func (d *Draft) Urgency(fresh bool) Urgency {
	switch {
	case d.Partial && fresh:
		return Fresh
	case d.Partial:
		return Frame
	case d.Kind == KindAnswer || d.Kind == KindQuestion:
		return First
	}
	return Plain
}
