package bolt_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"legwork/bot"
	"legwork/planner"
	"legwork/store/bolt"
	"legwork/tasks"
)

// TestFeedAfterStart: State knows all events of the feed, also of the first
// transaction after the start.
func TestFeedAfterStart(t *testing.T) {
	dir, id := t.TempDir(), forgetID(0)
	s := open(t, dir, bolt.Options{})
	if _, err := s.Open(t.Context(), []tasks.Inbound{question(bot.Chat{Platform: "test", ID: "c"}, id, "goal")}); err != nil {
		t.Fatal(err)
	}
	for n := range 20 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, dir, bolt.Options{})
		if _, err := s.State(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		_, _, newest, err := s.Feed(t.Context(), 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		var readers sync.WaitGroup
		reading, stop := context.WithCancel(t.Context())
		for range 2 {
			readers.Go(func() { readFeed(reading, t, s, id, newest) })
		}
		if err := s.Append(t.Context(), id, -1, 0, planner.Event{Type: planner.GuidanceAdded, Text: fmt.Sprint("more ", n)}); err != nil {
			t.Error(err)
		}
		stop()
		readers.Wait()
	}
}

// readFeed reads the feed until ctx ends.
func readFeed(ctx context.Context, t *testing.T, s *bolt.Store, id tasks.ID, after uint64) {
	for ctx.Err() == nil {
		entries, _, _, err := s.Feed(context.WithoutCancel(ctx), after, 10)
		if err != nil {
			t.Error(err)
			return
		}
		state, err := s.State(context.WithoutCancel(ctx), id)
		if err != nil {
			t.Error(err)
			return
		}
		for _, e := range entries {
			if e.Seq > state.Seq {
				t.Errorf("the feed reports event %d, and the state knows %d", e.Seq, state.Seq)
				return
			}
		}
	}
}
