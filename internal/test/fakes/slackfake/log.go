package slackfake

import (
	"encoding/json"
	"slices"
	"time"

	"legwork/internal/test/fakes/wire"
)

// What an Entry of the wire log tells.
const (
	EventCall      = "call"      // a call of the Web API or of a response URL arrived
	EventAnswer    = "answer"    // it was answered; Error says with what, if not ok
	EventFault     = "fault"     // it got the fault that was asked for; Performed says whether it took effect
	EventDeliver   = "deliver"   // an envelope or webhook was sent to the app
	EventAck       = "ack"       // the app acknowledged it; After is how long it took
	EventTimeout   = "timeout"   // it was not acknowledged in time
	EventLost      = "lost"      // it was given up
	EventConnect   = "connect"   // a socket was opened
	EventClose     = "close"     // a socket was closed
	EventViolation = "violation" // the client did wrong
)

// Entry is one line of the wire log. Seq joins a call with its outcome and
// counts from 1; deliveries are joined by Envelope. Tokens are not in it.
type Entry struct {
	Seq       int             `json:"seq,omitempty"`
	At        time.Time       `json:"at"`
	Event     string          `json:"event"`
	Method    string          `json:"method,omitempty"` // "chat.update", "response_url"; of deliveries "message", "/task", "block_actions"
	Args      map[string]any  `json:"args,omitempty"`
	Error     string          `json:"error,omitempty"`
	Performed bool            `json:"performed,omitempty"`
	TS        string          `json:"ts,omitempty"` // the message an answer speaks of
	Envelope  string          `json:"envelope,omitempty"`
	EventID   string          `json:"event_id,omitempty"` // of events; of commands and presses the trigger id
	Attempt   int             `json:"attempt,omitempty"`
	Socket    int             `json:"socket,omitempty"` // which connection, from 1
	After     time.Duration   `json:"after,omitempty"`
	Payload   json.RawMessage `json:"payload,omitempty"` // of an acknowledgement
	Problem   string          `json:"problem,omitempty"`
}

// note adds an entry. The caller holds the lock.
func (s *Server) note(e Entry) {
	e.At = time.Now()
	s.entries = append(s.entries, e)
	s.change()
	s.log.Add(e)
}

// Entries are the wire log so far.
func (s *Server) Entries() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.entries)
}

// Calls are the calls of a method so far, in order of arrival; of all when the
// method is empty.
func (s *Server) Calls(method string) []Entry {
	var calls []Entry
	for _, e := range s.Entries() {
		if e.Event == EventCall && (method == "" || e.Method == method) {
			calls = append(calls, e)
		}
	}
	return calls
}

// ReadLog reads a wire log.
func ReadLog(path string) ([]Entry, error) { return wire.ReadLog[Entry](path) }
