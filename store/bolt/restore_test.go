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
	"time"

	"legwork/bot"
	"legwork/internal/test/need"
	"legwork/planner"
	"legwork/store/bolt"
	"legwork/store/storetest"
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
	if err := errors.Join(s.Backup(t.Context(), file), file.Close()); err != nil {
		t.Fatal(err)
	}
	if err := bolt.Verify(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// aged makes a directory whose store went on after its backup: task 1 ended, chat
// 2 was forgotten, and there are new tasks.
func aged(t *testing.T) (dir, backup string) {
	t.Helper()
	dir = sound(t)
	s := open(t, dir, bolt.Options{})
	for n := 2; n < damageTasks; n += damageChats {
		if err := s.Append(t.Context(), damageTask(n), -1, 0, storetest.Ending()...); err != nil {
			t.Fatal(err)
		}
	}
	backup = backUp(t, s)
	if err := s.Append(t.Context(), damageTask(1), -1, 0, storetest.Ending()...); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Forget(t.Context(), damageChat(2).Key()); err != nil {
		t.Fatal(err)
	}
	for n := range 20 {
		in := storetest.Question(bot.Chat{Platform: "test", ID: "young"}, youngTask(n), damageGoal(n))
		if _, err := s.Open(t.Context(), []tasks.Inbound{in}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Compact(t.Context()); err != nil { // so that every page is in use
		t.Fatal(err)
	}
	closeStore(t, s)
	return dir, backup
}

// youngTask is a task that was opened after the backup.
func youngTask(n int) tasks.ID { return tasks.ID(fmt.Sprintf("9%025d", n)) }

// TestRestored zeroes pages of a file. A file that is damaged then is replaced by
// the newest good backup as a whole, and nothing is done twice.
func TestRestored(t *testing.T) {
	source, backup := aged(t)
	whole := read(t, damageFile(source))
	const page = 4096
	used := len(bytes.TrimRight(whole, "\x00"))/page + 1
	replaced, step := 0, need.Times(9, 2)
	for n := 0; n < used; n += step {
		broken := bytes.Clone(whole)
		clear(broken[n*page : (n+1)*page])
		dir := damaged(t, broken)
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
	for n := range need.Times(5, 20) {
		broken := bytes.Clone(whole)
		if n%2 == 0 {
			broken = broken[:random.IntN(len(broken))]
		}
		for range min(len(broken), 1+random.IntN(5000)) {
			broken[random.IntN(len(broken))] = byte(random.IntN(256))
		}
		dir := damaged(t, broken)
		restored(t, fmt.Sprintf("random damage %d", n), dir, backup)
	}
}

// restored opens a damaged file as a daemon does after an unclean end, and
// reports that it was replaced.
func restored(t *testing.T, what, dir, backup string) bool {
	t.Helper()
	crashed(t, dir)
	check := checker(t, "verify") // all of it, or pages that this process never reads would stay damaged
	s, err := bolt.Open(t.Context(), dir, bolt.Options{
		CheckCommand: check, VerifyCommand: check, Backups: func() []string { return []string{"nowhere.db", backup} },
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
	if live, err := s.Live(t.Context(), ""); err != nil || len(live) > 0 || len(loss.Dropped) != damageTasks-damageTasks/damageChats {
		t.Errorf("%s: %d tasks continue, %v, and %d were dropped; want none and all that were running", what, len(live), err, len(loss.Dropped))
	}
	for n := range damageTasks {
		if events, err := s.Load(t.Context(), damageTask(n), 0); err != nil || events[0].Opening.Goal != damageGoal(n) {
			t.Errorf("%s: task %d: %d events, %v", what, n, len(events), err)
		}
	}
	if _, err := s.Load(t.Context(), youngTask(0), 0); !errors.Is(err, tasks.ErrNoTask) {
		t.Errorf("%s: a task that is newer than the backup: %v, want ErrNoTask", what, err)
	}
	checkIndex(t, s)
	in := storetest.Question(damageChat(0), "new", "goal")
	if r, err := s.Open(t.Context(), []tasks.Inbound{in}); err != nil || !r[0].Opened {
		t.Errorf("%s: a new task: %+v, %v", what, r, err)
	}
	return true
}

// TestNoBackup: without a good backup a damaged file is refused and stays as it is.
func TestNoBackup(t *testing.T) {
	dir := sound(t)
	spoil(t, dir, func(file []byte) {
		page := bytes.LastIndex(file, []byte(`"goal":"goal 20 `)) / 4096
		clear(file[page*4096 : (page+1)*4096])
	})
	crashed(t, dir)
	before := read(t, damageFile(dir))
	none := bolt.Options{CheckCommand: checker(t, "verify"), Backups: func() []string { return nil }}
	if _, err := bolt.Open(t.Context(), dir, none); !errors.Is(err, tasks.ErrDamaged) || !strings.Contains(err.Error(), "no good backup") {
		t.Fatalf("got %v, want damage and that there is no backup", err)
	}
	bad := filepath.Join(t.TempDir(), "bad.db")
	if err := os.WriteFile(bad, before, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := bolt.Restore(t.Context(), dir, []string{"nowhere.db", bad}, none); err == nil || !strings.Contains(err.Error(), "no good backup") {
		t.Fatalf("restoring by hand: got %v, want that there is no good backup", err)
	}
	if !bytes.Equal(before, read(t, damageFile(dir))) {
		t.Error("the damaged file was changed")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("left in the directory: %v, %v", left, err)
	}
}

// TestRestoreByHand: an operator goes back to a backup, also from a sound file,
// which is kept aside.
func TestRestoreByHand(t *testing.T) {
	dir, backup := aged(t)
	before := read(t, damageFile(dir))
	loss, err := bolt.Restore(t.Context(), dir, []string{"nowhere.db", backup}, bolt.Options{})
	if err != nil || loss.Backup != backup || !bytes.Equal(read(t, loss.Aside), before) {
		t.Fatalf("the loss is %+v, %v; want the backup, and the file as it was aside", loss, err)
	}
	s := open(t, dir, bolt.Options{})
	if live, err := s.Live(t.Context(), ""); err != nil || len(live) > 0 {
		t.Errorf("%d tasks continue, %v, want none", len(live), err)
	}
	if _, err := s.Load(t.Context(), youngTask(0), 0); !errors.Is(err, tasks.ErrNoTask) {
		t.Errorf("a task that is newer than the backup: %v, want ErrNoTask", err)
	}
}

// TestSuspected: a file that is marked as damaged is verified as a whole by the
// next start, though it was closed well, and replaced if it is damaged.
func TestSuspected(t *testing.T) {
	dir := sound(t)
	s := open(t, dir, bolt.Options{})
	backup := backUp(t, s)
	closeStore(t, s)
	options := bolt.Options{Backups: func() []string { return []string{backup} }}
	markDamaged(t, dir)
	s = open(t, dir, options)
	if s.Loss() != nil {
		t.Fatalf("a sound file was replaced: %+v", s.Loss())
	}
	closeStore(t, s)
	spoilText(t, dir, 5)
	s = open(t, dir, options)
	if s.Loss() != nil {
		t.Fatalf("a file without the mark was replaced: %+v", s.Loss())
	}
	closeStore(t, s)
	markDamaged(t, dir)
	s = open(t, dir, options)
	if loss := s.Loss(); loss == nil || loss.Backup != backup {
		t.Fatalf("the loss is %+v, want that the backup replaced the file", loss)
	}
	if turns, err := s.History(t.Context(), damageChat(5).Key(), "", 1<<20); err != nil || len(turns) != damageTasks/damageChats {
		t.Fatalf("history: got %d turns, %v, want all", len(turns), err)
	}
	closeStore(t, s)
	if s = open(t, dir, options); s.Loss() != nil {
		t.Errorf("it was replaced again: %+v", s.Loss())
	}
}

// markDamaged leaves the mark of a store that has met damage.
func markDamaged(t *testing.T, dir string) {
	t.Helper()
	if err := os.WriteFile(damageFile(dir)+".suspect", nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestBackupInPlace: in a backup that was put in the place of the data, no task
// continues that was running when it was made. It could have called a tool since,
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
	closeStore(t, s)
	if err := os.WriteFile(damageFile(dir), read(t, backup), 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, bolt.Options{})
	if live, err := s.Live(t.Context(), ""); err != nil || len(live) > 0 {
		t.Errorf("%d of %d tasks are taken up again, %v, want none", len(live), len(before), err)
	}
	id := before[0].Task
	if err := s.Append(t.Context(), id, -1, 0, planner.Event{Type: planner.GuidanceAdded, Text: "on"}); !errors.Is(err, tasks.ErrRefused) {
		t.Errorf("a word to such a task: %v, want that it is refused", err)
	}
	if events, err := s.Load(t.Context(), id, 0); err != nil || len(events) == 0 {
		t.Errorf("its journal has %d events, %v, want what it did", len(events), err)
	}
	in := storetest.Question(damageChat(0), "new", "goal")
	if r, err := s.Open(t.Context(), []tasks.Inbound{in}); err != nil || !r[0].Opened {
		t.Fatalf("a new task: %+v, %v", r, err)
	}
	closeStore(t, s)
	s = open(t, dir, bolt.Options{})
	if live, err := s.Live(t.Context(), ""); err != nil || len(live) != 1 {
		t.Errorf("after another start %d tasks are under way, %v, want the new one", len(live), err)
	}
}
