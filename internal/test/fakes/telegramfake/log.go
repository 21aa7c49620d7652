package telegramfake

import (
	"slices"
	"time"

	"legwork/internal/test/fakes/wire"
)

// What became of a request, or of a delivery to a webhook.
const (
	OutcomeOK      = "ok"      // it was done and answered
	OutcomeRefused = "refused" // it was answered with an error; Code and Error say which
	OutcomeFault   = "fault"   // it met a fault; Done says whether it was done all the same
	OutcomeGone    = "gone"    // the client went away before the answer
)

// Entry is one line of the wire log. It is written when the request was
// decided and before the answer goes out.
type Entry struct {
	Seq     int               `json:"seq"` // from 1
	At      time.Time         `json:"at"`  // when the request arrived
	Method  string            `json:"method"`
	Params  map[string]string `json:"params,omitempty"`
	File    *File             `json:"file,omitempty"` // that came along, without its content
	Outcome string            `json:"outcome"`
	Code    int               `json:"code,omitempty"`
	Error   string            `json:"error,omitempty"`
	Fault   string            `json:"fault,omitempty"` // the kind of fault it met
	Done    bool              `json:"done,omitempty"`  // it took effect
	Chat    int64             `json:"chat,omitempty"`
	Message int               `json:"message,omitempty"` // id of the message it made or changed
	Updates []int             `json:"updates,omitempty"` // ids that were delivered
	Notes   []string          `json:"notes,omitempty"`   // what the service does silently, such as leaving out entities
}

// Log returns the requests so far, in the order of their decisions.
func (s *Server) Log() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// write is called with the lock held.
func (s *Server) write(e Entry) {
	e.Seq = len(s.log) + 1
	s.log = append(s.log, e)
	s.change()
	s.file.Add(e)
}

// ReadLog reads a wire log.
func ReadLog(path string) ([]Entry, error) { return wire.ReadLog[Entry](path) }
