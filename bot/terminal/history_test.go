package terminal

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHistoryIsKeptInItsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sub", "history")
	h, err := openHistory(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range []string{"one", "two\nlines", "two\nlines", strings.Repeat("x", maxHistoryEntry+1)} {
		if err := h.add(entry); err != nil {
			t.Fatal(err)
		}
	}
	if h, err = openHistory(file); err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		newer bool
		want  string
		ok    bool
	}{
		{false, "two\nlines", true},
		{false, "one", true},
		{false, "", false},
		{true, "two\nlines", true},
		{true, "draft", true},
		{true, "", false},
	}
	for i, s := range steps {
		step := h.newer
		if !s.newer {
			step = func() (string, bool) { return h.older("draft") }
		}
		got, ok := step()
		if got != s.want || ok != s.ok {
			t.Errorf("step %d: got %q, %v; want %q, %v", i, got, ok, s.want, s.ok)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("history file: %v, %v; want mode 0600", info.Mode(), err)
	}
}

func TestHistoryFileStaysShort(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history")
	var b strings.Builder
	b.WriteString("no JSON\n")
	for i := range 2*maxHistory + 1 {
		fmt.Fprintf(&b, "\"entry %d\"\n", i)
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openHistory(file); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(kept)), "\n")
	if len(lines) != maxHistory || lines[len(lines)-1] != fmt.Sprintf("%q", fmt.Sprintf("entry %d", 2*maxHistory)) {
		t.Errorf("the file has %d entries and ends with %s, want %d and the newest", len(lines), lines[len(lines)-1], maxHistory)
	}
}
