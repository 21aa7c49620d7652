package api_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"legwork/internal/test/watch"
	"legwork/store/bolt"
	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/tasks/enginetest"
)

// TestFollowRestored: who followed all tasks before the data came back from a backup
// reads what the backup has, then that something is lost, and then all that is new:
// no cursor that was given before stands for something else.
func TestFollowRestored(t *testing.T) {
	dir := t.TempDir()
	backup := filepath.Join(t.TempDir(), "backup.db")
	s, w := newStoredEnv(t, dir)
	id := w.shares().ID
	add := func(n int) {
		t.Helper()
		for range n {
			if _, _, err := w.Add(t.Context(), agent, id, api.NewMessage{Type: "thought", Content: raw("1")}); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(3)
	file, err := os.Create(backup)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Backup(t.Context(), file), file.Close(), bolt.MarkCopy(backup, time.Now())); err != nil {
		t.Fatal(err)
	}
	add(5)
	whole, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(), os.WriteFile(filepath.Join(dir, bolt.FileName), whole, 0o600)); err != nil {
		t.Fatal(err)
	}
	_, w = newStoredEnv(t, dir)
	for _, c := range []struct {
		after uint64
		want  []int
	}{{2, []int{3, 4}}, {4, nil}, {7, nil}, {9, nil}} {
		ctx, cancel := context.WithTimeout(t.Context(), watch.Patience)
		var got []int
		var fresh tasks.ID
		err := w.FollowAll(ctx, agent, &c.after, nil, time.Minute, func(m api.FeedMessage) error {
			if m.TaskID == id {
				got = append(got, m.Seq)
				return nil
			}
			if m.TaskID != fresh || m.Cursor <= 9 {
				t.Errorf("from %d on: got %+v, want what is new", c.after, m)
			}
			return errCut
		}, func(uint64) error { return nil }, func(uint64) error {
			fresh = w.shares().ID
			return nil
		})
		cancel()
		if !errors.Is(err, errCut) || !slices.Equal(got, c.want) {
			t.Errorf("from %d on: got messages %v and %v, want %v, a gap and what is new", c.after, got, err, c.want)
		}
	}
}

// newStoredEnv is an env over a data directory, without an engine.
func newStoredEnv(t *testing.T, dir string) (*bolt.Store, *env) {
	t.Helper()
	s, err := bolt.Open(t.Context(), dir, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	k := enginetest.NewEnv(t, s)
	k.Engine = idle{}
	return s, &env{kit: k, Service: api.New(api.Config{Store: s, Inbox: k.Inbox, Now: k.Now}), t: t}
}

// idle is an engine that does nothing.
type idle struct{ tasks.Engine }

func (idle) Wake(context.Context, tasks.ID) error { return nil }
