package bolt_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"legwork/store/bolt"
	"legwork/tasks"
)

// TestNoDataFile: a data file that is gone, or empty, is no reason to begin anew
// where there are backups; where there are none, it is a new directory.
func TestNoDataFile(t *testing.T) {
	source, made := aged(t)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	backup := filepath.Join(t.TempDir(), "legwork-20260102-030405.db") // a copy, as young as this test
	if err := os.WriteFile(backup, read(t, made), 0o600); err != nil {
		t.Fatal(err)
	}
	some := func() []string { return []string{backup} }
	for what, spoil := range map[string]func(path string) error{
		"gone": os.Remove, "empty": func(path string) error { return os.Truncate(path, 0) },
	} {
		dir := t.TempDir()
		if err := os.WriteFile(damageFile(dir), read(t, damageFile(source)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := spoil(damageFile(dir)); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir, bolt.Options{Backups: some})
		loss := s.Loss()
		if loss == nil || loss.Backup != backup || loss.Aside != "" && what == "gone" || !loss.From.Equal(at) {
			t.Fatalf("%s: the loss is %+v, want the backup of %v", what, loss, at)
		}
		if events, err := s.Load(t.Context(), damageTask(0), 0); err != nil || len(events) == 0 {
			t.Errorf("%s: task 0 has %d events, %v", what, len(events), err)
		}
	}
	bad := func() []string { return []string{"nowhere.db"} }
	if _, err := bolt.Open(t.Context(), t.TempDir(), bolt.Options{Backups: bad}); !errors.Is(err, tasks.ErrDamaged) {
		t.Errorf("gone, with a bad backup: got %v, want ErrDamaged", err)
	}
	s := open(t, t.TempDir(), bolt.Options{Backups: func() []string { return nil }})
	if s.Loss() != nil {
		t.Errorf("a new directory: the loss is %+v", s.Loss())
	}
}

// TestDamageThatIsMet: after a clean end nobody looks at the file. Who then meets
// a page that cannot be read lets the next start look, and replace it.
func TestDamageThatIsMet(t *testing.T) {
	source, backup := aged(t)
	whole := read(t, damageFile(source))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(childTask, "verify")
	o := bolt.Options{CheckCommand: []string{self}, VerifyCommand: []string{self}, Backups: func() []string { return []string{backup} }}
	met := 0
	for page := 2; page < len(whole)/4096; page += 3 {
		dir := t.TempDir()
		broken := bytes.Clone(whole)
		clear(broken[page*4096 : (page+1)*4096])
		if err := os.WriteFile(damageFile(dir), broken, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := bolt.Open(t.Context(), dir, o)
		if err != nil {
			t.Fatalf("page %d: %v", page, err)
		}
		if s.Loss() != nil { // it could not even be opened
			closeStore(t, s)
			continue
		}
		_, err = s.Open(t.Context(), []tasks.Inbound{question(damageChat(0), "new", "goal")})
		unsound := s.Corruption()
		_ = s.Close() // may say so as well
		if !errors.Is(err, tasks.ErrDamaged) {
			continue
		}
		met++
		if !errors.Is(unsound, tasks.ErrDamaged) {
			t.Errorf("page %d: a message could not be stored (%v), and Unsound is %v", page, err, unsound)
		}
		if s, err = bolt.Open(t.Context(), dir, o); err != nil {
			t.Fatalf("page %d, the next start: %v", page, err)
		}
		if s.Loss() == nil {
			t.Errorf("page %d: the next start replaced nothing", page)
		}
		if r, err := s.Open(t.Context(), []tasks.Inbound{question(damageChat(0), "new", "goal")}); err != nil || !r[0].Opened {
			t.Errorf("page %d: after the next start: %+v, %v", page, r, err)
		}
		closeStore(t, s)
	}
	if met == 0 {
		t.Error("no page kept a message from being stored: nothing is tested")
	}
	t.Logf("%d pages were met", met)
}

func closeStore(t *testing.T, s *bolt.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
}
