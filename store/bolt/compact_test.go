package bolt_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"legwork/bot"
	"legwork/planner"
	"legwork/store"
	"legwork/store/bolt"
	"legwork/store/storetest"
	"legwork/tasks"
)

// TestCompact: forgotten data is in no file afterwards, the file is smaller,
// and data that was written meanwhile is there, in this process and the next
// one.
func TestCompact(t *testing.T) {
	dir, c := t.TempDir(), bot.Chat{Platform: "test", ID: "c"}
	s := open(t, dir, bolt.Options{})
	talk(t.Context(), t, s, c)
	if s.Freed() {
		t.Fatal("bytes are said to be free before anything was deleted")
	}
	if _, err := s.Forget(t.Context(), c.Key()); err != nil {
		t.Fatal(err)
	}
	if !s.Freed() || !bytes.Contains(read(t, damageFile(dir)), []byte(secret)) {
		t.Fatal("the secret left the file before the compaction: nothing is tested")
	}
	ctx, stop := context.WithCancel(t.Context())
	written := writeBesides(ctx, t, s)
	before := damageSize(t, dir)
	for range 3 {
		done, err := s.Compact(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%+v", done)
	}
	stop()
	acknowledged := written()
	if len(acknowledged) < 10 {
		t.Fatalf("only %d tasks were written meanwhile", len(acknowledged))
	}
	if after := damageSize(t, dir); after >= before/2 || s.Freed() {
		t.Errorf("the file has %d bytes after the compaction, %d before", after, before)
	}
	noneHolds(t, dir, secret)
	for range 2 {
		checkAcknowledged(t, s, acknowledged)
		closeStore(t, s)
		if err := bolt.Verify(damageFile(dir)); err != nil {
			t.Fatal(err)
		}
		s = open(t, dir, bolt.Options{})
	}
}

// writeBesides writes until ctx ends; the function returns what was
// acknowledged: the last event of each task.
func writeBesides(ctx context.Context, t *testing.T, s *bolt.Store) func() map[tasks.ID]int {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	acknowledged := map[tasks.ID]int{}
	for w := range 4 {
		wg.Go(func() {
			c := bot.Chat{Platform: "test", ID: fmt.Sprint("besides", w)}
			for n := 0; ctx.Err() == nil; n++ {
				id := tasks.ID(fmt.Sprintf("besides.%d.%d", w, n))
				if _, err := s.Open(context.WithoutCancel(ctx), []tasks.Inbound{storetest.Question(c, id, "goal")}); err != nil {
					t.Errorf("opening %s: %v", id, err)
					return
				}
				events := []planner.Event{{Type: planner.GuidanceAdded, Text: "more"}}
				if n%3 > 0 { // others end, those behind them go on
					events = append(events, storetest.Ending()...)
				}
				if err := s.Append(context.WithoutCancel(ctx), id, -1, 0, events...); err != nil {
					t.Errorf("appending to %s: %v", id, err)
					return
				}
				mu.Lock()
				acknowledged[id] = 1 + len(events)
				mu.Unlock()
			}
		})
	}
	return func() map[tasks.ID]int { wg.Wait(); return acknowledged }
}

func damageSize(t *testing.T, dir string) int64 {
	t.Helper()
	info, err := os.Stat(damageFile(dir))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// noneHolds fails when a file below dir holds the text.
func noneHolds(t *testing.T, dir, text string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if bytes.Contains(read(t, path), []byte(text)) {
			t.Errorf("%s holds %q", path, text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCompactGivesUp: one that must end changes nothing, and leaves nothing.
func TestCompactGivesUp(t *testing.T) {
	dir := sound(t)
	s := open(t, dir, bolt.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Compact(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want the context's error", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("left in the directory: %v, %v", left, err)
	}
	if err := s.Append(t.Context(), damageTask(1), -1, 0, planner.Event{Type: planner.GuidanceAdded, Text: "on"}); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	if _, err := s.Compact(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("compacting a closed store: got %v", err)
	}
}

// TestCompactLeftOver: a copy that a kill left is removed.
func TestCompactLeftOver(t *testing.T) {
	dir := sound(t)
	left := damageFile(dir) + ".compact"
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	open(t, dir, bolt.Options{})
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the copy is there: %v", err)
	}
}
