package bolt_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
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

// What the file under damage holds.
const (
	damageTasks = 60
	damageChats = 4
)

func damageTask(n int) tasks.ID  { return tasks.ID(fmt.Sprintf("%026d", n)) }
func damageChat(n int) bot.Chat  { return bot.Chat{Platform: "test", ID: fmt.Sprint(n % damageChats)} }
func damageGoal(n int) string    { return fmt.Sprintf("goal %d %s", n, strings.Repeat("ab", 100)) }
func damageFile(d string) string { return filepath.Join(d, bolt.FileName) }

// sound makes a data directory with a known content.
func sound(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir, bolt.Options{})
	for n := range damageTasks {
		if _, err := s.Open(t.Context(), []tasks.Inbound{storetest.Question(damageChat(n), damageTask(n), damageGoal(n))}); err != nil {
			t.Fatal(err)
		}
		if err := s.Append(t.Context(), damageTask(n), -1, 0, planner.Event{Type: planner.GuidanceAdded, Text: "hint"}); err != nil {
			t.Fatal(err)
		}
	}
	closeStore(t, s)
	return dir
}

// TestDamagedRecord flips a byte of one record: its task is damaged by name,
// the process stays up and all other tasks are unharmed.
func TestDamagedRecord(t *testing.T) {
	dir := sound(t)
	spoil(t, dir, func(file []byte) {
		at := bytes.LastIndex(file, []byte(`"goal":"goal 7 `))
		file[at+10] ^= 1
	})
	if err := bolt.Verify(damageFile(dir)); !errors.Is(err, tasks.ErrDamaged) || !strings.Contains(err.Error(), string(damageTask(7))) {
		t.Fatalf("Verify: got %v, want the damage of task 7", err)
	}
	if err := bolt.VerifyQuick(damageFile(dir)); err != nil {
		t.Fatalf("VerifyQuick: got %v, want nil: one record must not keep the rest from being used", err)
	}
	s := open(t, dir, bolt.Options{})
	where := fmt.Sprintf("task %s, event 1: ", damageTask(7))
	_, errLoad := s.Load(t.Context(), damageTask(7), 0)
	_, errEvent := s.Event(t.Context(), damageTask(7), 1)
	_, errState := s.State(t.Context(), damageTask(7))
	errAppend := s.Append(t.Context(), damageTask(7), -1, 0, planner.Event{Type: planner.GuidanceAdded, Text: "x"})
	for what, err := range map[string]error{"Load": errLoad, "Event": errEvent, "State": errState, "Append": errAppend} {
		if !errors.Is(err, tasks.ErrDamaged) || !strings.Contains(err.Error(), where) {
			t.Errorf("%s: got %v, want ErrDamaged with %q", what, err, where)
		}
	}
	for n := range damageTasks {
		if events, err := s.Load(t.Context(), damageTask(n), 0); n != 7 && (err != nil || len(events) != 2) {
			t.Errorf("task %d: got %d events, %v", n, len(events), err)
		}
	}
	// A message for it opens a new task instead, in the same batch as others.
	in := storetest.Question(damageChat(7), "new", "goal")
	in.To, in.Event = damageTask(7), planner.Event{Type: planner.GuidanceAdded, Text: "x"}
	lost := tasks.Inbound{Key: "lost", To: damageTask(7), Event: in.Event}
	got, err := s.Open(t.Context(), []tasks.Inbound{lost, in})
	if err != nil || !errors.Is(got[0].Err, tasks.ErrDamaged) || !got[1].Opened {
		t.Fatalf("messages for a damaged task: got %+v, %v", got, err)
	}
}

// TestDamagedInQueue: a damaged task holds up no task behind it.
func TestDamagedInQueue(t *testing.T) {
	dir := sound(t)
	spoil(t, dir, func(file []byte) { // the second in the queue of chat 0, after task 0
		file[bytes.LastIndex(file, []byte(`"goal":"goal 4 `))+10] ^= 1
	})
	s := open(t, dir, bolt.Options{})
	told := s.Changed(damageTask(4))
	end(t, s, 0)
	<-told
	state, err := s.State(t.Context(), damageTask(8))
	if err != nil || state.Phase != planner.PhaseDeciding {
		t.Fatalf("the third in the queue: got phase %q, %v, want deciding", state.Phase, err)
	}
	live, err := s.Live(t.Context(), damageChat(0).Key())
	if err != nil || len(live) != damageTasks/damageChats-2 || live[0].Task != damageTask(8) {
		t.Fatalf("live: got %+v, %v, want all from the third on", live, err)
	}
}

// TestDamagedRow flips a byte of a task's row: nothing is done for it, but it
// can be dropped, and the next in its conversation goes on.
func TestDamagedRow(t *testing.T) {
	dir := sound(t)
	spoilRow(t, dir, 0)
	s := open(t, dir, bolt.Options{})
	if _, err := s.Load(t.Context(), damageTask(0), 0); !errors.Is(err, tasks.ErrDamaged) {
		t.Fatalf("Load: got %v, want ErrDamaged", err)
	}
	if err := s.Drop(t.Context(), damageTask(0)); err != nil {
		t.Fatalf("Drop: %v", err)
	}
	state, err := s.State(t.Context(), damageTask(4))
	if err != nil || state.Phase != planner.PhaseDeciding {
		t.Fatalf("the next in the queue: got phase %q, %v, want deciding", state.Phase, err)
	}
}

// TestDamagedHistory: a damaged turn is left out, the others are read.
func TestDamagedHistory(t *testing.T) {
	dir := sound(t)
	spoilText(t, dir, 5)
	s := open(t, dir, bolt.Options{})
	turns, err := s.History(t.Context(), damageChat(5).Key(), "", 1<<20)
	if err != nil || len(turns) != damageTasks/damageChats-1 {
		t.Fatalf("history: got %d turns, %v, want all but one", len(turns), err)
	}
	for _, turn := range turns {
		if turn.Task == damageTask(5) {
			t.Fatalf("history holds the damaged turn %+v", turn)
		}
	}
}

// TestDamagedPages zeroes each page, cuts the file at random places and flips
// random bytes. A child that then uses the file gets what was written or an
// error; a file that is opened after a crash is looked at from a child first.
func TestDamagedPages(t *testing.T) {
	t.Parallel()
	dir := sound(t)
	whole, err := os.ReadFile(damageFile(dir))
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	used := len(bytes.TrimRight(whole, "\x00"))/page + 1
	random := rand.New(rand.NewPCG(3, 4))
	step := need.Times(9, 2)
	// Without one of the two header pages, 0 and 1, bbolt goes back by one
	// transaction, as after a crash in mid-commit: that is no damage.
	for n := 2; n < used; n += step {
		zeroed := bytes.Clone(whole)
		clear(zeroed[n*page : (n+1)*page])
		useDamaged(t, fmt.Sprintf("page %d zeroed", n), zeroed)

		cut := random.IntN(used * page)
		useDamaged(t, fmt.Sprintf("cut after %d bytes", cut), bytes.Clone(whole[:cut]))

		flipped, at := bytes.Clone(whole), random.IntN(used*page)
		flipped[at] ^= 1 << random.IntN(8)
		useDamaged(t, fmt.Sprintf("byte %d flipped", at), flipped)
	}
}

// useDamaged lets one child use a file and another one verify it.
func useDamaged(t *testing.T, what string, file []byte) {
	t.Helper()
	dir := damaged(t, file)
	verify, errVerify := child(t, "verify", damageFile(dir)).CombinedOutput()
	use := child(t, "read", dir)
	var said, trouble strings.Builder
	use.Stdout, use.Stderr = &said, &trouble
	errUse := use.Run()
	if said.Len() > 0 {
		t.Errorf("%s: the reader said %s", what, said.String())
	}
	if errUse != nil && errVerify == nil {
		t.Errorf("%s: Verify found nothing (%s), the reader %v: %.2000s", what, verify, errUse, trouble.String())
	}
	if text := trouble.String(); strings.Contains(text, "goroutine ") {
		t.Errorf("%s: the reader crashed: %.1500s", what, text)
	}
}

// damaged makes a data directory with a file of that content.
func damaged(t *testing.T, file []byte) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(damageFile(dir), file, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// crashed leaves the lock file of an owner that did not close the store.
func crashed(t *testing.T, dir string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "lock.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// checker is this program as a command that does a child's task with a file.
func checker(t *testing.T, task string) []string {
	t.Helper()
	t.Setenv(childTask, task)
	return child(t, task).Args[:1]
}

// spoil changes the bytes of a data file.
func spoil(t *testing.T, dir string, change func([]byte)) {
	t.Helper()
	file, err := os.ReadFile(damageFile(dir))
	if err != nil {
		t.Fatal(err)
	}
	change(file)
	if err := os.WriteFile(damageFile(dir), file, 0o600); err != nil {
		t.Fatal(err)
	}
}

// spoilRow flips a byte of a task's row.
func spoilRow(t *testing.T, dir string, n int) {
	t.Helper()
	spoil(t, dir, func(file []byte) {
		at := 0 // rows begin with their chat, behind a key that is the task's id and a checksum
		for {
			at += bytes.Index(file[at:], []byte(`{"chat":`))
			if string(file[at-30:at-4]) == string(damageTask(n)) {
				file[at+3] ^= 1
				return
			}
			at++
		}
	})
}

// spoilText flips a byte of a task's goal in the history.
func spoilText(t *testing.T, dir string, n int) {
	t.Helper()
	goal := damageGoal(n)
	spoil(t, dir, func(file []byte) {
		at := 0
		for { // the copy that is not in the journal's JSON
			next := bytes.Index(file[at:], []byte(goal))
			if next < 0 {
				break
			}
			at += next + len(goal)
			if file[at-len(goal)-1] != '"' {
				file[at-1] ^= 1
			}
		}
	})
}

// TestSuspect: after a crash the file is looked at from a child, and what the
// child says decides; after a clean end it is not.
func TestSuspect(t *testing.T) {
	dir := sound(t)
	good := bolt.Options{CheckCommand: checker(t, "verify quick")}
	bad := bolt.Options{CheckCommand: []string{"false"}}

	s := open(t, dir, bad) // a clean end: the file is not checked
	closeStore(t, s)
	crashed(t, dir)
	if _, err := bolt.Open(t.Context(), dir, bad); !errors.Is(err, tasks.ErrDamaged) {
		t.Fatalf("a child that fails: got %v, want ErrDamaged", err)
	}
	if _, err := bolt.Open(t.Context(), dir, bad); !errors.Is(err, tasks.ErrDamaged) {
		t.Fatalf("the second try: got %v, want ErrDamaged still", err)
	}
	missing := bolt.Options{CheckCommand: []string{filepath.Join(dir, "no-such-command")}}
	if _, err := bolt.Open(t.Context(), dir, missing); err == nil || errors.Is(err, tasks.ErrDamaged) {
		t.Fatalf("a command that cannot be run: got %v, want an error that is not damage", err)
	}
	impatient, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	slow := bolt.Options{CheckCommand: []string{"sh", "-c", "exec sleep 60"}}
	if _, err := bolt.Open(impatient, dir, slow); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, tasks.ErrDamaged) {
		t.Fatalf("a check that had to end: got %v, want the context's error and no damage", err)
	}
	s = open(t, dir, good)
	closeStore(t, s)
	crashed(t, dir)
	if err := os.Truncate(damageFile(dir), 5*4096); err != nil {
		t.Fatal(err)
	}
	if _, err := bolt.Open(t.Context(), dir, good); !errors.Is(err, tasks.ErrDamaged) {
		t.Fatalf("a file that was cut: got %v, want ErrDamaged", err)
	}
}

// TestCutOff: for a file of any length that was cut off, the error says what to do and
// holds no error of Go.
func TestCutOff(t *testing.T) {
	for _, pages := range []int64{2, 9, 40, 80} {
		dir := sound(t)
		if err := os.Truncate(damageFile(dir), pages*4096); err != nil {
			t.Fatal(err)
		}
		for name, verify := range map[string]func(string) error{"Verify": bolt.Verify, "VerifyQuick": bolt.VerifyQuick} {
			err := verify(damageFile(dir))
			if !errors.Is(err, tasks.ErrDamaged) || strings.Contains(err.Error(), "runtime error") || !strings.Contains(err.Error(), "legwork data restore") {
				t.Errorf("%s of %d pages: got %v, want ErrDamaged with what to do and without an error of Go", name, pages, err)
			}
		}
	}
}

// TestHiddenBuckets: a file whose table of contents lost a name is not taken
// for a new one.
func TestHiddenBuckets(t *testing.T) {
	dir := sound(t)
	spoil(t, dir, func(file []byte) {
		for i := range file {
			if bytes.HasPrefix(file[i:], []byte("meta")) {
				file[i] = 'M'
			}
		}
	})
	if err := bolt.Verify(damageFile(dir)); !errors.Is(err, tasks.ErrDamaged) {
		t.Errorf("Verify: got %v, want ErrDamaged", err)
	}
	if _, err := bolt.Open(t.Context(), dir, bolt.Options{}); !errors.Is(err, tasks.ErrDamaged) {
		t.Errorf("Open: got %v, want ErrDamaged", err)
	}
}

// TestForeignFiles: a file that is no data file of this version is refused.
func TestForeignFiles(t *testing.T) {
	for name, file := range map[string][]byte{
		"text": bytes.Repeat([]byte("This is not a data file. "), 1000), "short": []byte("x"), "zeros": make([]byte, 32768),
	} {
		dir := damaged(t, file)
		if _, err := bolt.Open(t.Context(), dir, bolt.Options{}); !errors.Is(err, tasks.ErrDamaged) {
			t.Errorf("%s: got %v, want ErrDamaged", name, err)
		}
	}
}

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
		dir := damaged(t, read(t, damageFile(source)))
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

// TestDamageThatIsMet: after a clean end the store does not check the file.
// Who then meets a page that cannot be read lets the next start look, and
// replace it.
func TestDamageThatIsMet(t *testing.T) {
	source, backup := aged(t)
	whole := read(t, damageFile(source))
	check := checker(t, "verify")
	o := bolt.Options{CheckCommand: check, VerifyCommand: check, Backups: func() []string { return []string{backup} }}
	met := 0
	for page := 2; page < len(whole)/4096; page += 3 {
		broken := bytes.Clone(whole)
		clear(broken[page*4096 : (page+1)*4096])
		dir := damaged(t, broken)
		s, err := bolt.Open(t.Context(), dir, o)
		if err != nil {
			t.Fatalf("page %d: %v", page, err)
		}
		if s.Loss() != nil { // it could not even be opened
			closeStore(t, s)
			continue
		}
		_, err = s.Open(t.Context(), []tasks.Inbound{storetest.Question(damageChat(0), "new", "goal")})
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
		if r, err := s.Open(t.Context(), []tasks.Inbound{storetest.Question(damageChat(0), "new", "goal")}); err != nil || !r[0].Opened {
			t.Errorf("page %d: after the next start: %+v, %v", page, r, err)
		}
		closeStore(t, s)
	}
	if met == 0 {
		t.Error("no page kept a message from being stored: nothing is tested")
	}
	t.Logf("%d pages were met", met)
}
