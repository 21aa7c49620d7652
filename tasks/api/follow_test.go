package api_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/api"
)

var errCut = errors.New("the line was cut")

func quietly() error { return nil }

func TestFollow(t *testing.T) {
	w := newEnv(t, plans(oneLook))
	id := w.starts(operator, api.NewTask{Goal: "x"}).ID
	var got []api.Message
	for after := 0; ; { // each line is cut after three messages
		n := 0
		err := w.Follow(t.Context(), operator, id, after, nil, time.Minute, func(m api.Message) error {
			if n++; n > 3 {
				return errCut
			}
			got, after = append(got, m), m.Seq
			return nil
		}, quietly)
		if err == nil {
			break
		}
		if !errors.Is(err, errCut) {
			t.Fatal(err)
		}
	}
	all := w.messages(id)
	if len(got) != len(all) {
		t.Fatalf("%d messages were sent, want %d", len(got), len(all))
	}
	for i, m := range got {
		if m.Seq != i+1 || m.Type != all[i].Type || string(m.Content) != string(all[i].Content) {
			t.Errorf("message %d was sent as %+v, the context has %+v", i+1, m, all[i])
		}
	}
	var kinds []string
	err := w.Follow(t.Context(), operator, id, 0, []string{api.TypeGoal, api.TypeAnswer}, time.Minute, func(m api.Message) error {
		kinds = append(kinds, m.Type)
		return nil
	}, quietly)
	if err != nil || !slices.Equal(kinds, []string{api.TypeGoal, api.TypeAnswer}) {
		t.Errorf("by type: got %v, %v", kinds, err)
	}
}

func TestFollowQuiet(t *testing.T) {
	w := newEnv(t, nil)
	id := w.shares().ID
	beats := 0
	err := w.Follow(t.Context(), agent, id, 1, nil, time.Millisecond, func(api.Message) error { return errors.New("something came") }, func() error {
		if beats++; beats == 3 {
			return errCut
		}
		return nil
	})
	refused(t, "three heartbeats", err, errCut)
	ctx, cancel := context.WithCancel(t.Context())
	err = w.FollowAll(ctx, agent, nil, nil, time.Millisecond, func(api.FeedMessage) error { return errors.New("something came") }, func(cursor uint64) error {
		if beats++; beats == 6 {
			cancel()
		}
		if cursor == 0 {
			t.Error("a heartbeat tells cursor 0, want where it began")
		}
		return nil
	}, nil)
	refused(t, "a caller that goes", err, context.Canceled)
}

// TestFollowAll: programs write to many contexts at once while followers are cut
// and come again: each reads everything that it may see once, and in order.
func TestFollowAll(t *testing.T) {
	w := newEnv(t, nil)
	const contextsCount, notes, followers = 10, 30, 20
	var ids []tasks.ID
	for range contextsCount {
		ids = append(ids, w.shares().ID)
	}
	hidden := w.starts(operator, api.NewTask{Goal: "hidden", External: true}).ID
	mine := agent
	mine.Chats = []string{"api:scout"}
	want := contextsCount * (notes + 1)
	var all sync.WaitGroup
	for f := range followers {
		random := rand.New(rand.NewPCG(1, uint64(f)))
		all.Go(func() {
			var after *uint64
			start := uint64(0)
			after = &start
			next := map[tasks.ID]int{}
			for got := 0; got < want; {
				left := 1 + random.IntN(40)
				err := w.FollowAll(t.Context(), mine, after, nil, time.Minute, func(m api.FeedMessage) error {
					if m.TaskID == hidden {
						t.Errorf("follower %d reads what it may not see", f)
					}
					if left--; left < 0 || got == want {
						return errCut
					}
					if next[m.TaskID]++; m.Seq != next[m.TaskID] || m.Cursor <= *after {
						t.Errorf("follower %d: after cursor %d came %d, message %d of %s, want message %d", f, *after, m.Cursor, m.Seq, m.TaskID, next[m.TaskID])
						return errors.New("out of order")
					}
					cursor := m.Cursor
					after = &cursor
					if got++; got == want {
						return errCut
					}
					return nil
				}, func(uint64) error { return nil }, func(uint64) error { return errors.New("something was lost") })
				if !errors.Is(err, errCut) {
					t.Errorf("follower %d: %v", f, err)
					return
				}
			}
		})
	}
	for i, id := range ids {
		all.Go(func() {
			for n := range notes {
				if _, _, err := w.Add(t.Context(), agent, id, api.NewMessage{Type: "observation", Content: raw(fmt.Sprint(n))}); err != nil {
					t.Error(err)
				}
				if i == 0 {
					if _, _, err := w.Add(t.Context(), operator, hidden, api.NewMessage{Type: "observation", Content: raw("1")}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
}

// TestFollowGap: a follower whose cursor is not known learns that messages may
// be lost, and goes on with new ones.
func TestFollowGap(t *testing.T) {
	w := newEnv(t, nil)
	id := w.shares().ID
	future, lost := uint64(1_000_000), uint64(0)
	err := w.FollowAll(t.Context(), agent, &future, nil, time.Minute, func(m api.FeedMessage) error {
		if m.Type != api.TypeThought || lost == 0 {
			t.Errorf("got %+v after a gap up to %d", m, lost)
		}
		return errCut
	}, func(uint64) error { return nil }, func(newest uint64) error {
		lost = newest
		_, _, err := w.Add(t.Context(), agent, id, api.NewMessage{Type: "thought", Content: raw("1")})
		return err
	})
	refused(t, "a cursor of the future", err, errCut)
}

// TestFollowers: an event reaches 200 followers at once, of one task and of all.
func TestFollowers(t *testing.T) {
	w := newEnv(t, nil)
	id := w.shares().ID
	const followers, events = 200, 10
	ctx, cancel := context.WithCancel(t.Context())
	reached, ready := make(chan any, 2*followers), make(chan any, followers)
	var all sync.WaitGroup
	for i := range 2 * followers {
		all.Go(func() {
			if i%2 == 0 {
				_ = w.Follow(ctx, agent, id, 1, nil, time.Minute, func(api.Message) error { reached <- nil; return nil }, quietly)
				return
			}
			_ = w.FollowAll(ctx, agent, nil, nil, time.Minute, func(api.FeedMessage) error { reached <- nil; return nil },
				func(uint64) error { ready <- nil; return nil }, nil)
		})
	}
	for range followers {
		<-ready
	}
	var took []time.Duration
	for range events {
		begin := time.Now()
		if _, _, err := w.Add(t.Context(), agent, id, api.NewMessage{Type: "thought", Content: raw(`"x"`)}); err != nil {
			t.Fatal(err)
		}
		for range 2 * followers {
			<-reached
		}
		took = append(took, time.Since(begin))
	}
	cancel()
	all.Wait()
	slices.Sort(took)
	t.Logf("an event reached %d followers within %v (median), %v (longest)", 2*followers, took[events/2], took[events-1])
	if took[0] > 10*time.Second {
		t.Errorf("an event took %v at least to reach everybody", took[0])
	}
}

// TestFollowDeleted: who follows a task that is deleted is told so.
func TestFollowDeleted(t *testing.T) {
	w := newEnv(t, nil)
	task := w.shares()
	if _, err := w.Answer(t.Context(), agent, task.ID, "x"); err != nil {
		t.Fatal(err)
	}
	w.until(task.ID, "it is over", func(s planner.State) bool { return s.Finished() })
	if _, err := w.kit.Store.Forget(t.Context(), task.Chat); err != nil {
		t.Fatal(err)
	}
	err := w.Follow(t.Context(), agent, task.ID, 0, nil, time.Minute, func(api.Message) error { return nil }, quietly)
	refused(t, "a deleted task", err, api.ErrNotFound)
	begin := uint64(0)
	other := w.shares()
	err = w.FollowAll(t.Context(), agent, &begin, nil, time.Minute, func(m api.FeedMessage) error {
		if m.TaskID != other.ID {
			t.Errorf("got %+v of a deleted task", m)
		}
		return errCut
	}, func(uint64) error { return nil }, func(uint64) error { return nil })
	refused(t, "following all", err, errCut)
}

// TestFollowForgotten: a task that was deleted reaches no follower any more,
// although others still follow.
func TestFollowForgotten(t *testing.T) {
	w := newEnv(t, nil)
	var later atomic.Int64
	w.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	ctx, cancel := context.WithCancel(t.Context())
	told, ready := make(chan tasks.ID, 100), make(chan any, 1)
	var all sync.WaitGroup
	all.Go(func() {
		_ = w.FollowAll(ctx, agent, nil, nil, time.Minute, func(m api.FeedMessage) error { told <- m.TaskID; return nil }, func(uint64) error { ready <- nil; return nil }, nil)
	})
	<-ready
	task := w.shares()
	if _, err := w.Answer(t.Context(), agent, task.ID, "a secret"); err != nil {
		t.Fatal(err)
	}
	w.until(task.ID, "it is over", func(s planner.State) bool { return s.Finished() })
	other := w.shares()
	for id := range told {
		if id == other.ID {
			break
		}
	}
	if _, err := w.kit.Store.Forget(t.Context(), task.Chat); err != nil {
		t.Fatal(err)
	}
	later.Store(int64(time.Minute))
	begin := uint64(0)
	err := w.FollowAll(t.Context(), agent, &begin, nil, time.Minute, func(m api.FeedMessage) error {
		if m.TaskID == task.ID {
			t.Errorf("got %s %s of a task that was deleted", m.Type, m.Content)
		}
		if m.TaskID == other.ID {
			return errCut
		}
		return nil
	}, func(uint64) error { return nil }, nil)
	refused(t, "following all", err, errCut)
	cancel()
	all.Wait()
}
