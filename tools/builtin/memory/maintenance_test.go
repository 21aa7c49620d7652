package memory_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"legwork/tools/builtin/caller"
	"legwork/tools/builtin/memory"
)

// TestCompact: forgotten notes are in the file until it is compacted; notes
// written meanwhile are not lost, and ids are not given twice.
func TestCompact(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, file := open(t, memory.Options{}, dir), filepath.Join(dir, memory.FileName)
	ann, bob := caller.Caller{Chat: "test:1", Person: "test:ann", Private: true}, caller.Caller{Chat: "test:2", Person: "test:bob", Private: true}
	for i := range 40 {
		d.must(ann, "remember", args{"text": fmt.Sprintf("tattletale %d %s", i, strings.Repeat("x", 500))})
	}
	d.must(bob, "remember", args{"text": "keepsake"})
	if n, err := memory.Forget(dir, "test:ann"); err != nil || n != 40 {
		t.Fatalf("Forget: %d, %v", n, err)
	}
	if !holds(t, file, "tattletale") {
		t.Fatal("the notes left the file before the compaction: nothing is tested")
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 30 {
			d.must(bob, "remember", args{"text": fmt.Sprintf("meanwhile %d", i)})
		}
	})
	for range 5 {
		if err := memory.Compact(dir); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	if holds(t, file, "tattletale") || !holds(t, file, "keepsake") {
		t.Error("the file holds what was forgotten, or not what was kept")
	}
	if got := d.must(bob, "recall", args{"limit": 50}); strings.Count(got, "\n")+1 != 31 {
		t.Errorf("bob's notes: got %q, want 31", got)
	}
	if got := d.must(bob, "remember", args{"text": "last"}); got != "Remembered as p32." {
		t.Errorf("the next note: %q", got)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("files: %v, %v", left, err)
	}
}

// TestSnapshot: a copy of the notes is whole, and a damaged one is found.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := memory.Compact(dir); err != nil {
		t.Errorf("compacting nothing: %v", err)
	}
	if size, err := memory.Size(dir); err != nil || size != 0 {
		t.Errorf("size of nothing: %d, %v", size, err)
	}
	d := open(t, memory.Options{}, dir)
	d.must(caller.Caller{Chat: "test:1", Person: "test:ann"}, "remember", args{"text": "keepsake"})
	var copied bytes.Buffer
	if err := memory.Snapshot(t.Context(), dir, &copied); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(path, copied.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := memory.Verify(path); err != nil {
		t.Error(err)
	}
	spoiled := bytes.Replace(copied.Bytes(), []byte("keepsake"), []byte("keepsafe"), 1)
	if err := os.WriteFile(path, spoiled, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := memory.Verify(path); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a changed note: got %v", err)
	}
}

func holds(t *testing.T, file, text string) bool {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Contains(content, []byte(text))
}
