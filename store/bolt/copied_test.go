package bolt_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"legwork/planner"
	"legwork/store/bolt"
	"legwork/tasks"
)

// TestBackupInPlace: in a backup that was put in the place of the data, no task
// goes on that was under way when it was made. It could have called a tool since,
// and would call it again.
func TestBackupInPlace(t *testing.T) {
	dir := sound(t)
	s := open(t, dir, bolt.Options{})
	backup := backUp(t, s)
	if err := bolt.MarkCopy(backup, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	if err := bolt.Verify(backup); err != nil {
		t.Fatal(err)
	}
	before, err := s.Live(t.Context(), "")
	if err != nil || len(before) == 0 {
		t.Fatalf("%d tasks are under way, %v; want some", len(before), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(damageFile(dir), read(t, backup), 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, bolt.Options{})
	if live, err := s.Live(t.Context(), ""); err != nil || len(live) > 0 {
		t.Errorf("%d of %d tasks are taken up again, %v, want none", len(live), len(before), err)
	}
	id := before[0].Task
	if err := s.Append(t.Context(), id, -1, 0, planner.Event{Type: planner.Said, Text: "on"}); !errors.Is(err, tasks.ErrRefused) {
		t.Errorf("a word to such a task: %v, want that it is refused", err)
	}
	if events, err := s.Load(t.Context(), id, 0); err != nil || len(events) == 0 {
		t.Errorf("its journal has %d events, %v, want what it did", len(events), err)
	}
	in := question(damageChat(0), "new", "goal")
	if r, err := s.Open(t.Context(), []tasks.Inbound{in}); err != nil || !r[0].Opened {
		t.Fatalf("a new task: %+v, %v", r, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, bolt.Options{})
	if live, err := s.Live(t.Context(), ""); err != nil || len(live) != 1 {
		t.Errorf("after another start %d tasks are under way, %v, want the new one", len(live), err)
	}
}
