package slackfake

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

type logFile struct{ file *os.File }

func openLog(path string) (*logFile, error) {
	if path == "" {
		return &logFile{}, nil
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening wire log: %w", err)
	}
	return &logFile{file}, nil
}

func (l *logFile) close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// note adds an entry. The caller holds the lock.
func (s *Server) note(e Entry) {
	e.At = time.Now()
	s.entries = append(s.entries, e)
	s.change()
	if s.log.file == nil {
		return
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = s.log.file.Write(append(line, '\n'))
	}
	if err != nil {
		// A judge that reads an incomplete log would acquit: never go on.
		panic(fmt.Sprintf("writing wire log: %v", err))
	}
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
