package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// journal is the log file of what happens; a nil journal writes nothing.
type journal struct {
	mu sync.Mutex
	f  *os.File
}

// entry is one line of the journal.
type entry struct {
	Time  time.Time       `json:"time"`
	PID   int             `json:"pid"`
	Event string          `json:"event"`
	ID    json.RawMessage `json:"id,omitempty"`
	Tool  string          `json:"tool,omitempty"`
	Args  json.RawMessage `json:"arguments,omitempty"`
	Note  string          `json:"note,omitempty"`
}

func openJournal(path string) (*journal, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	return &journal{f: f}, nil
}

// write appends one line and syncs it; a log that cannot be written ends the
// process, because a judge would be misled.
func (j *journal) write(e entry) {
	if j == nil {
		return
	}
	e.Time, e.PID = time.Now(), os.Getpid()
	if !json.Valid(e.Args) {
		e.Args = nil
	}
	line, err := json.Marshal(e)
	j.mu.Lock()
	defer j.mu.Unlock()
	if err == nil {
		_, err = j.f.Write(append(line, '\n'))
	}
	if err == nil {
		err = j.f.Sync()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "writing the log:", err)
		os.Exit(6)
	}
}
