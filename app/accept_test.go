package app

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestAcceptCodes: a code is shown once, fits its own change alone, once, and expires.
func TestAcceptCodes(t *testing.T) {
	var a acceptCodes
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	if a.fits("c1", "", now) {
		t.Error("an empty code fits a change without a code")
	}
	code, fresh := a.issue("c1", now)
	if again, second := a.issue("c1", now.Add(acceptTime-1)); !fresh || second || again != code || len(code) != acceptLength {
		t.Errorf("got %q, %v, then %q, %v; want one code, and only the first time fresh", code, fresh, again, second)
	}
	if a.issue("c2", now); a.fits("c2", code, now) || a.fits("c1", "", now) {
		t.Error("a code of another change, or none, fits")
	}
	if a.fits("c1", code, now.Add(acceptTime)) {
		t.Error("an expired code fits")
	}
	if !a.fits("c1", " "+code+"\n", now) || a.fits("c1", code, now) {
		t.Error("the code does not fit exactly once")
	}
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
