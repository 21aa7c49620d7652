package bolt_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"legwork/bot"
	"legwork/internal/test/need"
	"legwork/planner"
	"legwork/store/bolt"
	"legwork/tasks"
)

const (
	forgetTasks = 2000 // several transactions
	secret      = "tattletale"
)

func forgetID(n int) tasks.ID { return tasks.ID(fmt.Sprintf("%026d", n)) }

// talk fills one conversation with finished tasks that tell a secret.
func talk(ctx context.Context, t *testing.T, s *bolt.Store, c bot.Chat) {
	t.Helper()
	var batch []tasks.Inbound
	for n := range forgetTasks {
		batch = append(batch, question(c, forgetID(n), fmt.Sprintf("%s %d %s", secret, n, strings.Repeat("x", n%300))))
		for _, e := range ending() {
			batch = append(batch, tasks.Inbound{To: forgetID(n), Event: e})
		}
	}
	receipts, err := s.Open(ctx, batch)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range receipts {
		if r.Err != nil {
			t.Fatalf("delivering: %+v", r)
		}
	}
}

func ending() []planner.Event {
	return []planner.Event{
		{Type: planner.Stopped},
		{Type: planner.SendStarted, Slot: planner.SlotAnswer},
		{Type: planner.Sent, Slot: planner.SlotAnswer, Message: "m", Last: true},
	}
}

// TestForgotten: reachable pages hold no forgotten data; data left in freed
// pages is logged, because the package's comment speaks of it.
func TestForgotten(t *testing.T) {
	t.Parallel()
	dir, c := t.TempDir(), bot.Chat{Platform: "test", ID: "c"}
	s := open(t, dir, bolt.Options{})
	talk(t.Context(), t, s, c)
	other := bot.Chat{Platform: "test", ID: "other"}
	if _, err := s.Open(t.Context(), []tasks.Inbound{question(other, "other", "keepsake")}); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if n, err := s.Forget(t.Context(), c.Key()); err != nil || n != forgetTasks {
		t.Fatalf("Forget: got %d, %v, want %d", n, err, forgetTasks)
	}
	t.Logf("forgetting %d tasks took %v", forgetTasks, time.Since(start))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, bolt.FileName)
	if err := bolt.Verify(path); err != nil {
		t.Fatal(err)
	}
	whole, reachable := read(t, path), read(t, compacted(t, path))
	t.Logf("the secret's copies in freed pages of the file's %d bytes: %d", len(whole), bytes.Count(whole, []byte(secret)))
	if got := bytes.Count(reachable, []byte(secret)); got != 0 {
		t.Errorf("copies of the secret in what is reachable: got %d, want 0", got)
	}
	if !bytes.Contains(reachable, []byte("keepsake")) {
		t.Error("the other conversation's goal is gone")
	}
}

// compacted is a copy of a file without its free pages.
func compacted(t *testing.T, path string) string {
	t.Helper()
	from, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close() }() // it was only read
	copied := filepath.Join(t.TempDir(), "copy.db")
	to, err := bbolt.Open(copied, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := bbolt.Compact(to, from, 1<<20); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return copied
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestKilledForgetting kills a process that forgets a conversation: turns and
// journals go together, and another call deletes the rest.
func TestKilledForgetting(t *testing.T) {
	t.Parallel()
	need.Check(t)
	full, c := t.TempDir(), bot.Chat{Platform: "test", ID: "c"}
	s := open(t, full, bolt.Options{})
	talk(t.Context(), t, s, c)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	cut := 0
	for kill := range 8 {
		dir := filepath.Join(t.TempDir(), "copy")
		if err := os.CopyFS(dir, os.DirFS(full)); err != nil {
			t.Fatal(err)
		}
		forgetUntilKilled(t, dir, time.Duration(kill*5)*time.Millisecond)
		if err := bolt.Verify(filepath.Join(dir, bolt.FileName)); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir, bolt.Options{})
		turns, err := s.History(t.Context(), c.Key(), "", 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		if len(turns) > 0 && len(turns) < forgetTasks {
			cut++
		}
		for n := range forgetTasks {
			_, err := s.Load(t.Context(), forgetID(n), 0)
			if listed := n >= forgetTasks-len(turns); listed != (err == nil) {
				t.Fatalf("task %d, %d turns left: listed is %t, Load says %v", n, len(turns), listed, err)
			}
		}
		if n, err := s.Forget(t.Context(), c.Key()); err != nil || n != len(turns) {
			t.Fatalf("forgetting the rest: got %d, %v, want %d", n, err, len(turns))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("killed between two transactions: %d of 8", cut)
}

// forgetUntilKilled runs a forgetting child and kills it after a time that
// counts from its beginning to forget.
func forgetUntilKilled(t *testing.T, dir string, after time.Duration) {
	t.Helper()
	p := child(t, "forget", dir)
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatalf("starting child: %v", err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatalf("waiting for the child: %v", err)
	}
	timer := time.AfterFunc(after, func() { _ = p.Process.Kill() })
	defer timer.Stop()
	_ = p.Wait() // killed, or done before
}

// childForgets forgets the conversation that talk filled.
func childForgets(ctx context.Context, dir string) {
	s, err := bolt.Open(ctx, dir, bolt.Options{})
	if err != nil {
		leave(err)
	}
	fmt.Println("forgetting")
	if _, err := s.Forget(ctx, bot.Chat{Platform: "test", ID: "c"}.Key()); err != nil {
		leave(err)
	}
	leave(s.Close())
}

// TestForgetDamaged: a damaged text and a damaged row of a task keep nothing
// from being moved and forgotten.
func TestForgetDamaged(t *testing.T) {
	dir := sound(t)
	spoilRow(t, dir, 1)
	spoilText(t, dir, 5)
	s := open(t, dir, bolt.Options{})
	moved := bot.Chat{Platform: "test", ID: "moved"}
	if err := s.Move(t.Context(), damageChat(1).Key(), moved); err != nil {
		t.Fatalf("Move: %v", err)
	}
	live, err := s.Live(t.Context(), moved.Key())
	if err != nil || len(live) != damageTasks/damageChats-1 || live[0].Task != damageTask(5) {
		t.Fatalf("live tasks that moved: got %+v, %v, want all but the damaged one", live, err)
	}
	for _, l := range live {
		if err := s.Append(t.Context(), l.Task, -1, 0, ending()...); err != nil {
			t.Fatalf("ending %s: %v", l.Task, err)
		}
	}
	if n, err := s.Forget(t.Context(), moved.Key()); err != nil || n != damageTasks/damageChats {
		t.Fatalf("Forget: got %d, %v, want %d", n, err, damageTasks/damageChats)
	}
	for _, n := range []int{1, 5, 9} {
		if _, err := s.Load(t.Context(), damageTask(n), 0); !errors.Is(err, tasks.ErrNoTask) {
			t.Errorf("Load(%s), forgotten: got %v, want ErrNoTask", damageTask(n), err)
		}
	}
	if rest, err := s.Live(t.Context(), ""); err != nil || len(rest) != damageTasks-damageTasks/damageChats {
		t.Errorf("live tasks of other conversations: got %d, %v", len(rest), err)
	}
}

// TestKeysOfPrograms: a request with a key that a program chose is recognised for as
// long as others are, and the file does not tell the key.
func TestKeysOfPrograms(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, bolt.Options{})
	in := question(bot.Chat{Platform: "api", ID: "ci", Thread: "t"}, "t", "goal")
	in.Key = "api:ci:" + secret
	for n, want := range []tasks.Receipt{{Task: "t", Seq: 1, Opened: true}, {Task: "t", Again: true}} {
		if n > 0 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(read(t, damageFile(dir)), []byte(secret)) {
				t.Error("the file tells the key")
			}
			s = open(t, dir, bolt.Options{})
		}
		got, err := s.Open(t.Context(), []tasks.Inbound{in})
		if err != nil || got[0] != want {
			t.Errorf("delivery %d: got %+v, %v, want %+v", n+1, got, err, want)
		}
	}
}

// TestLeavingEarly: who does not wait for the end of what is deleted shares nothing
// with the writer any more, which goes on.
func TestLeavingEarly(t *testing.T) {
	s := open(t, t.TempDir(), bolt.Options{})
	someone := bot.Person{Platform: "slack", ID: "U1"}
	for n := range 100 {
		id := string(rune('a' + n%26))
		if err := s.PutSchedule(t.Context(), tasks.Schedule{ID: id, Chat: bot.Chat{Platform: "slack", ID: "C1"}, From: someone, Next: time.Now().Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
		if err := s.PutSetting(t.Context(), someone.Key(), "language", id); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Duration(n)*10*time.Microsecond, cancel)
		d, err := s.Erase(ctx, someone.Key())
		cancel()
		if errors.Is(err, context.Canceled) { // the schedule may be left
			_, err = s.Erase(t.Context(), someone.Key())
			d.Schedules = 1
		}
		if err != nil {
			t.Fatal(err)
		}
		if d.Schedules != 1 {
			t.Errorf("%d schedules were deleted, want 1", d.Schedules)
		}
	}
}
