package llmfake

import (
	"time"

	"legwork/internal/test/fakes/wire"
)

// What an Entry of the wire log tells.
const (
	EventRequest = "request" // it arrived and was accepted
	EventReply   = "reply"   // it was answered to the last byte
	EventFault   = "fault"   // it was answered with the fault that was asked for
	EventBroken  = "broken"  // the fake cut the connection
	EventGone    = "gone"    // the client went away before the end
	EventRefused = "refused" // it violated the protocol
	EventTooLong = "long"    // it was refused for its length alone
)

// Entry is one line of the wire log. Seq joins a request with its outcome; it
// counts from 1 and is 0 for refused requests.
type Entry struct {
	Seq     int       `json:"seq"`
	At      time.Time `json:"at"`
	Event   string    `json:"event"`
	Request *Request  `json:"request,omitempty"` // of EventRequest
	Reply   *Response `json:"reply,omitempty"`   // of the outcomes: the reply that was sent or was to be sent
	Problem string    `json:"problem,omitempty"` // of EventRefused
}

// ReadLog reads a wire log.
func ReadLog(path string) ([]Entry, error) { return wire.ReadLog[Entry](path) }
