package bolt_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"legwork/bot"
	"legwork/planner"
	"legwork/store/bolt"
	"legwork/tasks"
)

// backUp copies an open store to a file.
func backUp(t *testing.T, s *bolt.Store) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "backup.db")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Snapshot(t.Context(), file), file.Close()); err != nil {
		t.Fatal(err)
	}
	if err := bolt.Verify(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// aged makes a directory whose store went on after its backup: task 1 ended,
// task 2 was forgotten with all of chat 2, and there are new tasks.
func aged(t *testing.T) (dir, backup string) {
	t.Helper()
	dir = sound(t)
	s := open(t, dir, bolt.Options{})
	for n := 2; n < damageTasks; n += damageChats {
		if err := s.Append(t.Context(), damageTask(n), -1, 0, ending()...); err != nil {
			t.Fatal(err)
		}
	}
	backup = backUp(t, s)
	if err := s.Append(t.Context(), damageTask(1), -1, 0, ending()...); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Forget(t.Context(), damageChat(2).Key()); err != nil {
		t.Fatal(err)
	}
	for n := range 20 {
		in := question(bot.Chat{Platform: "test", ID: "young"}, tasks.ID(fmt.Sprintf("9%025d", n)), damageGoal(n))
		if _, err := s.Open(t.Context(), []tasks.Inbound{in}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Compact(t.Context()); err != nil { // so that there is nothing but live pages
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, backup
}

// TestRestored zeroes each page of a file in turn. Opened with a backup, the
// store holds what can be read of the file and the rest from the backup; what was
// forgotten stays so where the file says it, and nothing is done twice.
func TestRestored(t *testing.T) {
	source, backup := aged(t)
	whole := read(t, damageFile(source))
	const page = 4096
	used := len(bytes.TrimRight(whole, "\x00"))/page + 1
	replaced, step := 0, 2
	if testing.Short() {
		step = 9
	}
	for n := 0; n < used; n += step {
		dir := t.TempDir()
		broken := bytes.Clone(whole)
		clear(broken[n*page : (n+1)*page])
		if err := os.WriteFile(damageFile(dir), broken, 0o600); err != nil {
			t.Fatal(err)
		}
		if restored(t, fmt.Sprintf("page %d zeroed", n), dir, backup) {
			replaced++
		}
	}
	if replaced < used/step/4 {
		t.Errorf("%d of %d files were replaced: nothing is tested", replaced, used/step)
	}
	t.Logf("%d of %d files were replaced", replaced, used/step)
}

// TestRestoredRandom does the same with files that are cut or have random bytes
// in a random place.
func TestRestoredRandom(t *testing.T) {
	source, backup := aged(t)
	whole := read(t, damageFile(source))
	random := rand.New(rand.NewPCG(5, 6))
	for n := range 20 {
		dir := t.TempDir()
		broken := bytes.Clone(whole)
		if n%2 == 0 {
			broken = broken[:random.IntN(len(broken))]
		}
		for range min(len(broken), 1+random.IntN(5000)) {
			broken[random.IntN(len(broken))] = byte(random.IntN(256))
		}
		if err := os.WriteFile(damageFile(dir), broken, 0o600); err != nil {
			t.Fatal(err)
		}
		restored(t, fmt.Sprintf("random damage %d", n), dir, backup)
	}
}

// restored opens a damaged file as a daemon does after an unclean end, and
// reports that it was replaced.
func restored(t *testing.T, what, dir, backup string) bool {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "lock.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(childTask, "verify") // all of it, or pages that are read by nobody here would stay damaged
	s, err := bolt.Open(t.Context(), dir, bolt.Options{
		CheckCommand: []string{self}, VerifyCommand: []string{self}, Backups: func() []string { return []string{"nowhere.db", backup} },
	})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Errorf("%s: Close: %v", what, err)
		}
		if err := bolt.Verify(damageFile(dir)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}()
	loss := s.Loss()
	if loss == nil {
		return false
	}
	if asides := bolt.Asides(dir); len(asides) == 0 || !slices.Contains(asides, loss.Aside) || loss.Backup != backup || loss.From.IsZero() || loss.To.IsZero() {
		t.Errorf("%s: the loss is %+v, aside are %v", what, loss, asides)
	}
	checkLive(t, s)
	checkLanes(t, s, what)
	for n := range damageTasks {
		events, err := s.Load(t.Context(), damageTask(n), 0)
		switch {
		case n%damageChats == 2:
			// Forgotten, or back where the file could not tell.
		case errors.Is(err, tasks.ErrDamaged) && (slices.Contains(loss.Broken, damageTask(n)) || slices.Contains(loss.Dropped, damageTask(n))):
		case err != nil || events[0].Opening.Goal != damageGoal(n):
			t.Errorf("%s: task %d: %d events, %v", what, n, len(events), err)
		case n == 1 && len(events) < 5 && !slices.Contains(loss.Dropped, damageTask(n)):
			t.Errorf("%s: task 1 is taken up again after %d events, though it had ended", what, len(events))
		}
	}
	in := question(damageChat(0), "new", "goal")
	if r, err := s.Open(t.Context(), []tasks.Inbound{in}); err != nil || !r[0].Opened {
		t.Errorf("%s: a new task: %+v, %v", what, r, err)
	}
	return true
}

// checkLanes lets everything end: nothing is held up behind what was dropped.
func checkLanes(t *testing.T, s *bolt.Store, what string) {
	t.Helper()
	for range 3 {
		live, err := s.Live(t.Context(), "")
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for _, l := range live {
			err := s.Append(t.Context(), l.Task, -1, 0, ending()...)
			if errors.Is(err, tasks.ErrRefused) { // it was stopped before
				err = s.Append(t.Context(), l.Task, -1, 0, ending()[1:]...)
			}
			if err != nil {
				t.Fatalf("%s: ending %s: %v", what, l.Task, err)
			}
		}
	}
	if live, err := s.Live(t.Context(), ""); err != nil || len(live) > 0 {
		t.Fatalf("%s: %d tasks do not end, %v", what, len(live), err)
	}
}

// TestNoBackup: without a good backup a damaged file is refused and stays where
// it is, until somebody asks for what is left of it.
func TestNoBackup(t *testing.T) {
	dir := sound(t)
	spoil(t, dir, func(file []byte) {
		page := bytes.LastIndex(file, []byte(`"goal":"goal 20 `)) / 4096
		clear(file[page*4096 : (page+1)*4096])
	})
	if err := os.WriteFile(filepath.Join(dir, "lock.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := read(t, damageFile(dir))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(childTask, "verify")
	none := bolt.Options{CheckCommand: []string{self}, Backups: func() []string { return nil }}
	if _, err := bolt.Open(t.Context(), dir, none); !errors.Is(err, tasks.ErrDamaged) || !strings.Contains(err.Error(), "no good backup") {
		t.Fatalf("got %v, want damage and that there is no backup", err)
	}
	if !bytes.Equal(before, read(t, damageFile(dir))) {
		t.Fatal("the damaged file was changed")
	}
	loss, err := bolt.Restore(t.Context(), dir, nil, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if loss.Kept == 0 || loss.Gaps == 0 || loss.Filled != 0 || !loss.From.IsZero() {
		t.Errorf("the loss is %+v", loss)
	}
	s := open(t, dir, bolt.Options{})
	checkLive(t, s)
	checkLanes(t, s, "without a backup")
}

// TestNothingLeft: of what is no data file nothing is restored.
func TestNothingLeft(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(damageFile(dir), bytes.Repeat([]byte("text"), 20_000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := bolt.Restore(t.Context(), dir, nil, bolt.Options{}); !errors.Is(err, tasks.ErrDamaged) {
		t.Fatalf("got %v, want ErrDamaged", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("left in the directory: %v, %v", left, err)
	}
}

// TestRepaired: a damaged event of a living store comes back from the backup.
func TestRepaired(t *testing.T) {
	dir := sound(t)
	s := open(t, dir, bolt.Options{})
	backup := backUp(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	spoil(t, dir, func(file []byte) {
		file[bytes.LastIndex(file, []byte(`"goal":"goal 7 `))+10] ^= 1
	})
	s = open(t, dir, bolt.Options{Backups: func() []string { return []string{"nowhere.db", backup} }})
	if err := s.Append(t.Context(), damageTask(7), -1, 0, planner.Event{Type: planner.Said, Text: "on"}); err != nil {
		t.Fatalf("Append: %v", err)
	}
	events, err := s.Load(t.Context(), damageTask(7), 0)
	if err != nil || len(events) != 3 || events[0].Opening.Goal != damageGoal(7) {
		t.Fatalf("Load: got %d events, %v", len(events), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := bolt.Verify(damageFile(dir)); err != nil {
		t.Errorf("the file after the repair: %v", err)
	}
}

// TestSuspected: damage that is found while the store is in use is mended when
// it is opened again, though it was closed well.
func TestSuspected(t *testing.T) {
	dir := sound(t)
	s := open(t, dir, bolt.Options{})
	backup := backUp(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	spoilText(t, dir, 5)
	options := bolt.Options{Backups: func() []string { return []string{backup} }}
	s = open(t, dir, options)
	if s.Loss() != nil {
		t.Fatalf("a file that nobody suspects was replaced: %+v", s.Loss())
	}
	if err := errors.Join(s.Suspect(), s.Close()); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, options)
	if loss := s.Loss(); loss == nil || loss.Gaps != 2 || loss.Filled != 2 || len(loss.Dropped)+len(loss.Broken) > 0 {
		t.Fatalf("the loss is %+v, want two gaps filled, in history and lists", loss)
	}
	if turns, err := s.History(t.Context(), damageChat(5).Key(), "", 1<<20); err != nil || len(turns) != damageTasks/damageChats {
		t.Fatalf("history: got %d turns, %v, want all", len(turns), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s = open(t, dir, options); s.Loss() != nil {
		t.Errorf("it was replaced again: %+v", s.Loss())
	}
}
