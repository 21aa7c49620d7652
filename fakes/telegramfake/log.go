package telegramfake

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
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
	if s.file == nil {
		return
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = s.file.Write(append(line, '\n'))
	}
	if err != nil {
		// A judge that reads an incomplete log would acquit: never go on.
		panic(fmt.Sprintf("writing wire log: %v", err))
	}
}

// ReadLog reads a wire log.
func ReadLog(path string) ([]Entry, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading wire log: %w", err)
	}
	defer file.Close()
	var log []Entry
	for decoder := json.NewDecoder(bufio.NewReader(file)); ; {
		var e Entry
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			return log, nil
		} else if err != nil {
			return log, fmt.Errorf("reading wire log: %w", err)
		}
		log = append(log, e)
	}
}
