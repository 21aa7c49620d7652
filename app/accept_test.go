package app

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestCodes: a code is shown once, fits its own change alone, once, expires, and is gone
// after five wrong tries.
func TestCodes(t *testing.T) {
	var a codes
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	if a.fits("c1", "", now) {
		t.Error("an empty code fits a change without a code")
	}
	issue := func(id string, at time.Time) (string, bool) {
		t.Helper()
		c, fresh, err := a.issue(id, at)
		if err != nil {
			t.Fatalf("issue(%s): %v", id, err)
		}
		return c.text, fresh
	}
	code, fresh := issue("c1", now)
	if again, second := issue("c1", now.Add(codeTime-1)); !fresh || second || again != code || len(code) != codeLength {
		t.Errorf("got %q, %v, then %q, %v; want one code, and only the first time fresh", code, fresh, again, second)
	}
	if issue("c2", now); a.fits("c2", code, now) || a.fits("c1", "", now) {
		t.Error("a code of another change, or none, fits")
	}
	if a.fits("c1", code, now.Add(codeTime)) {
		t.Error("an expired code fits")
	}
	if !a.fits("c1", " "+code+"\n", now) || a.fits("c1", code, now) {
		t.Error("the code does not fit exactly once")
	}
	code, _ = issue("c3", now)
	for range codeTries {
		a.fits("c3", "WRONG", now)
	}
	if a.fits("c3", code, now) {
		t.Errorf("the code fits after %d wrong ones", codeTries)
	}
	for i := range maxCodes {
		_, _, _ = a.issue(fmt.Sprint(i), now)
	}
	if _, _, err := a.issue("one more", now); err == nil {
		t.Errorf("more than %d codes are valid at once", maxCodes)
	}
	issue("later", now.Add(codeTime))
}

// TestOutputInFile: a code is not printed where programs can read it later.
func TestOutputInFile(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if !isFile(file) || isFile(&bytes.Buffer{}) {
		t.Errorf("a file: %v, a buffer: %v; want true, false", isFile(file), isFile(&bytes.Buffer{}))
	}
}
