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
	"legwork/store/bolt"
	"legwork/store/storetest"
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
		batch = append(batch, storetest.Question(c, forgetID(n), fmt.Sprintf("%s %d %s", secret, n, strings.Repeat("x", n%300))))
		for _, e := range storetest.Ending() {
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

// TestForgotten: reachable pages hold no forgotten data; data left in freed
// pages is logged, because the package's comment speaks of it.
func TestForgotten(t *testing.T) {
	t.Parallel()
	dir, c := t.TempDir(), bot.Chat{Platform: "test", ID: "c"}
	s := open(t, dir, bolt.Options{})
	talk(t.Context(), t, s, c)
	other := bot.Chat{Platform: "test", ID: "other"}
	if _, err := s.Open(t.Context(), []tasks.Inbound{storetest.Question(other, "other", "keepsake")}); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if n, err := s.Forget(t.Context(), c.Key()); err != nil || n != forgetTasks {
		t.Fatalf("Forget: got %d, %v, want %d", n, err, forgetTasks)
	}
	t.Logf("forgetting %d tasks took %v", forgetTasks, time.Since(start))
	closeStore(t, s)
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
	closeStore(t, s)
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
		closeStore(t, s)
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
		if err := s.Append(t.Context(), l.Task, -1, 0, storetest.Ending()...); err != nil {
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

// TestKeysOfPrograms: the file does not tell the key of a request, which a program
// chose.
func TestKeysOfPrograms(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, bolt.Options{})
	in := storetest.Question(bot.Chat{Platform: "api", ID: "ci", Thread: "t"}, "t", "goal")
	in.Key = "api:ci:" + secret
	if got, err := s.Open(t.Context(), []tasks.Inbound{in}); err != nil || !got[0].Opened {
		t.Fatalf("Open: got %+v, %v", got, err)
	}
	closeStore(t, s)
	noneHolds(t, dir, secret)
}
