package llmfake

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// What an Entry of the wire log tells.
const (
	EventRequest = "request" // it arrived and was accepted
	EventReply   = "reply"   // it was answered to the last byte
	EventFault   = "fault"   // it was answered with the fault that was asked for
	EventBroken  = "broken"  // the fake cut the connection
	EventGone    = "gone"    // the client went away before the end
	EventRefused = "refused" // it violated the protocol
)

// Entry is one line of the wire log. Seq joins a request with its outcome; it
// counts from 1 and is 0 for refused requests.
type Entry struct {
	Seq     int       `json:"seq"`
	At      time.Time `json:"at"`
	Event   string    `json:"event"`
	Request *Request  `json:"request,omitempty"` // of EventRequest
	Reply   *Response `json:"reply,omitempty"`   // of the outcomes: what was sent or was to be sent
	Problem string    `json:"problem,omitempty"` // of EventRefused
}

func (s *Server) write(e Entry) {
	if s.log == nil {
		return
	}
	line, err := json.Marshal(e)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		_, err = s.log.Write(append(line, '\n'))
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
