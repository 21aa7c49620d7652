package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// output keeps messages that are written by different goroutines apart.
type output struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(p)
}

func (o *output) print(s string) { _, _ = io.WriteString(o, s) }

// flood writes a message of n times piece without holding it in memory.
func (o *output) flood(begin, piece string, n int, end string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, err := io.WriteString(o.w, begin)
	for i := 0; i < n && err == nil; i++ {
		_, err = io.WriteString(o.w, piece)
	}
	_, _ = io.WriteString(o.w, end)
}

// journal is the log file of calls; a nil journal writes nothing.
type journal struct {
	mu sync.Mutex
	f  *os.File
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
func (j *journal) write(event string, id json.RawMessage, tool string, args json.RawMessage) {
	if j == nil {
		return
	}
	line, err := json.Marshal(struct {
		Time  time.Time       `json:"time"`
		PID   int             `json:"pid"`
		Event string          `json:"event"`
		ID    json.RawMessage `json:"id,omitempty"`
		Tool  string          `json:"tool,omitempty"`
		Args  json.RawMessage `json:"arguments,omitempty"`
	}{time.Now(), os.Getpid(), event, id, tool, args})
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
