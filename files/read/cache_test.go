package read_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"legwork/files/read"
	"legwork/internal/test/need"
)

// readsPDF fails unless a reader gets the text of a PDF.
func readsPDF(t *testing.T, cache string) {
	t.Helper()
	var got []string
	_, err := read.Reader{Cache: cache}.File(t.Context(), write(t, twoPages()), "a.pdf", read.Limits{}, func(p read.Part) error {
		got = append(got, p.Text)
		return nil
	})
	if err != nil || len(got) != 2 || !strings.HasPrefix(got[0], "Winter timetable") {
		t.Errorf("reading a PDF: %q, %v", got, err)
	}
}

// cached are the files in a cache: the compiled code.
func cached(t *testing.T, cache string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(cache, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestCache: the PDF library is compiled once, also when several files come at once.
// Code of other versions, and what a killed process has left, goes; damaged code is
// replaced.
func TestCache(t *testing.T) {
	t.Parallel()
	need.PDFs(t)
	cache := filepath.Join(t.TempDir(), "new", "cache")
	old := filepath.Join(cache, "wazero-v0.0.0", "old")
	if err := os.MkdirAll(filepath.Dir(old), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(old, []byte("code"), 0o600); err != nil {
		t.Fatal(err)
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { readsPDF(t, cache) })
	}
	both.Wait()
	entries := cached(t, cache)
	if len(entries) != 1 || entries[0] == old {
		t.Fatalf("after the first PDFs the cache has %v, want one entry", entries)
	}
	if _, err := os.Stat(filepath.Dir(old)); err == nil {
		t.Error("the folder of another version is left")
	}
	made, err := os.Stat(entries[0])
	if err != nil {
		t.Fatal(err)
	}
	readsPDF(t, cache)
	if info, err := os.Stat(entries[0]); err != nil || !info.ModTime().Equal(made.ModTime()) {
		t.Errorf("another PDF has compiled again: %v, %v", info, err)
	}
	if err := os.Truncate(entries[0], made.Size()/2); err != nil {
		t.Fatal(err)
	}
	readsPDF(t, cache)
	readsPDF(t, cache)
	if info, err := os.Stat(entries[0]); err != nil || info.Size() != made.Size() {
		t.Errorf("the damaged code is now %v, %v", info, err)
	}
}

// TestNoCache: without a folder that can be written to, PDFs are read all the same, and
// compiling does not count as reading.
func TestNoCache(t *testing.T) {
	t.Parallel()
	need.PDFs(t)
	file := write(t, []byte("x"))
	readsPDF(t, filepath.Join(file, "cache"))
	readsPDF(t, "")
}
