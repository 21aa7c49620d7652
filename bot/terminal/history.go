package terminal

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Bounds of the kept history.
const (
	maxHistory      = 1000     // entries
	maxHistoryEntry = 16 << 10 // bytes of one; longer ones are not kept
)

// history are earlier inputs, kept in a file with one JSON string per line.
type history struct {
	file    string
	entries []string
	at      int    // the entry shown; len(entries) for none
	draft   string // the prompt before entries were shown
}

// openHistory reads the file; "" keeps the history in memory only. A file that
// has grown long is shortened. It skips lines that are not entries.
func openHistory(file string) (*history, error) {
	h := &history{file: file}
	if file == "" {
		return h, nil
	}
	f, err := os.Open(file)
	if os.IsNotExist(err) {
		return h, nil
	}
	if err != nil {
		return h, fmt.Errorf("opening history: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	in := bufio.NewScanner(f)
	in.Buffer(nil, 8*maxHistoryEntry)
	for in.Scan() {
		var entry string
		if json.Unmarshal(in.Bytes(), &entry) == nil && entry != "" {
			h.entries = append(h.entries, entry)
		}
	}
	if err := in.Err(); err != nil {
		return h, fmt.Errorf("reading history: %w", err)
	}
	if len(h.entries) > 2*maxHistory {
		h.entries = h.entries[len(h.entries)-maxHistory:]
		err = h.rewrite()
	}
	h.at = len(h.entries)
	return h, err
}

func (h *history) rewrite() error {
	var b strings.Builder
	for _, entry := range h.entries {
		b.Write(encodeEntry(entry))
	}
	temp := h.file + ".new"
	if err := os.WriteFile(temp, []byte(b.String()), 0o600); err != nil {
		return fmt.Errorf("shortening history: %w", err)
	}
	if err := os.Rename(temp, h.file); err != nil {
		return fmt.Errorf("shortening history: %w", err)
	}
	return nil
}

func encodeEntry(entry string) []byte {
	line, err := json.Marshal(entry)
	if err != nil {
		return nil // a string always encodes
	}
	return append(line, '\n')
}

// add keeps an input and ends the browsing.
func (h *history) add(entry string) error {
	h.draft = ""
	if n := len(h.entries); len(entry) <= maxHistoryEntry && (n == 0 || h.entries[n-1] != entry) {
		h.entries = append(h.entries, entry)
		h.at = len(h.entries)
		return h.write(entry)
	}
	h.at = len(h.entries)
	return nil
}

func (h *history) write(entry string) error {
	if h.file == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(h.file), 0o700); err != nil {
		return fmt.Errorf("keeping history: %w", err)
	}
	f, err := os.OpenFile(h.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("keeping history: %w", err)
	}
	_, err = f.Write(encodeEntry(entry))
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("keeping history: %w", err)
	}
	return nil
}

// older is the entry before the shown one. now is the current prompt.
func (h *history) older(now string) (string, bool) {
	if h.at == 0 {
		return "", false
	}
	if h.at == len(h.entries) {
		h.draft = now
	}
	h.at--
	return h.entries[h.at], true
}

// newer is the entry after the shown one, and last the text from before browsing.
func (h *history) newer() (string, bool) {
	switch {
	case h.at >= len(h.entries):
		return "", false
	case h.at == len(h.entries)-1:
		h.at++
		return h.draft, true
	}
	h.at++
	return h.entries[h.at], true
}

// search finds the newest entry before the entry numbered from that contains
// what.
func (h *history) search(what string, from int) (int, bool) {
	for i := min(from, len(h.entries)) - 1; i >= 0; i-- {
		if strings.Contains(h.entries[i], what) {
			return i, true
		}
	}
	return 0, false
}
