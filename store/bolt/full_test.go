//go:build unix

package bolt_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"legwork/bot"
	"legwork/planner"
	"legwork/store/bolt"
	"legwork/store/storetest"
	"legwork/tasks"
)

// TestFull runs out of room, by the limit of the file's size that the kernel
// holds: stored data stays readable, and with room the store goes on.
func TestFull(t *testing.T) {
	t.Parallel()
	const inChild = "LEGWORK_STORE_FILL" // the limit is a whole process's
	if dir := os.Getenv(inChild); dir != "" {
		if err := fillDisk(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		return
	}
	dir := t.TempDir()
	c := child(t, "test", "-test.run=^TestFull$")
	c.Env = append(c.Env, inChild+"="+dir)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("the child that fills its disk: %v: %s", err, out)
	}
	if err := bolt.Verify(filepath.Join(dir, bolt.FileName)); err != nil {
		t.Fatal(err)
	}
}

// TestMaxSize runs out of room by the store's own limit.
func TestMaxSize(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, bolt.Options{MaxSize: 1 << 20})
	stored, err := fillUp(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	s = open(t, dir, bolt.Options{MaxSize: 8 << 20})
	if err := goesOn(t.Context(), s, stored); err != nil {
		t.Fatal(err)
	}
}

// TestFailing: a store tells that it cannot write for as long as that is so.
func TestFailing(t *testing.T) {
	s := open(t, t.TempDir(), bolt.Options{MaxSize: 1 << 20})
	put := func(size int) error { return s.PutSetting(t.Context(), "me", "long", strings.Repeat("x", size)) }
	if err := s.WriteFailure(); err != nil {
		t.Errorf("before anything is written: %v", err)
	}
	if err := put(4 << 20); !errors.Is(err, tasks.ErrFull) || !errors.Is(s.WriteFailure(), tasks.ErrFull) {
		t.Errorf("without room writing says %v, Failing %v", err, s.WriteFailure())
	}
	if err := put(1); err != nil || s.WriteFailure() != nil {
		t.Errorf("with room writing says %v, Failing %v", err, s.WriteFailure())
	}
}

// fillDisk fills the disk, makes room and goes on.
func fillDisk(ctx context.Context, dir string) error {
	signal.Ignore(syscall.SIGXFSZ)
	s, err := bolt.Open(ctx, dir, bolt.Options{})
	if err != nil {
		return err
	}
	var room syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &room); err != nil {
		return err
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 20, Max: room.Max}); err != nil {
		return err
	}
	stored, err := fillUp(ctx, s)
	if err != nil {
		return err
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &room); err != nil {
		return err
	}
	return errors.Join(goesOn(ctx, s, stored), s.Close())
}

// fillUp opens tasks until the disk is full, and returns those that were
// stored after checking that they are all there.
func fillUp(ctx context.Context, s *bolt.Store) ([]tasks.ID, error) {
	var stored []tasks.ID
	for n := range 100_000 {
		id := tasks.ID(fmt.Sprintf("%026d", n))
		_, err := s.Open(ctx, []tasks.Inbound{storetest.Question(bot.Chat{Platform: "test", ID: fmt.Sprint(n)}, id, strings.Repeat("long ", 2000))})
		if errors.Is(err, tasks.ErrFull) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", n, err)
		}
		stored = append(stored, id)
	}
	if len(stored) < 10 || len(stored) > 1000 {
		return nil, fmt.Errorf("%d tasks were stored in a file of 1 MiB", len(stored))
	}
	big := planner.Event{Type: planner.GuidanceAdded, Text: strings.Repeat("x", 2<<20)}
	if err := s.Append(ctx, stored[0], -1, 0, big); !errors.Is(err, tasks.ErrFull) {
		return nil, errors.Join(errors.New("appending 2 MiB to a full store: want ErrFull, got"), err)
	}
	return stored, allThere(ctx, s, stored, 1)
}

// goesOn appends to every task and opens a new one, with room again.
func goesOn(ctx context.Context, s *bolt.Store, stored []tasks.ID) error {
	for _, id := range stored {
		if err := s.Append(ctx, id, 1, 0, planner.Event{Type: planner.GuidanceAdded, Text: strings.Repeat("x", 5000)}); err != nil {
			return fmt.Errorf("appending with room again: %w", err)
		}
	}
	in := storetest.Question(bot.Chat{Platform: "test", ID: "new"}, "new", "goal")
	if _, err := s.Open(ctx, []tasks.Inbound{in}); err != nil {
		return fmt.Errorf("opening with room again: %w", err)
	}
	return allThere(ctx, s, stored, 2)
}

func allThere(ctx context.Context, s *bolt.Store, stored []tasks.ID, events int) error {
	for _, id := range stored {
		got, err := s.Load(ctx, id, 0)
		if err != nil {
			return fmt.Errorf("task %s: %w", id, err)
		}
		if len(got) != events {
			return fmt.Errorf("task %s: got %d events, want %d", id, len(got), events)
		}
	}
	live, err := s.Live(ctx, "")
	if err == nil && len(live) < len(stored) {
		err = fmt.Errorf("live: got %d tasks, want %d", len(live), len(stored))
	}
	return err
}
