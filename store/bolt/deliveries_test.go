package bolt_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/store/bolt"
	"legwork/tasks"
)

// TestOutcomesAreKnown: a task whose outcome is to be delivered is over for
// every reader.
func TestOutcomesAreKnown(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), bolt.Options{})
	var readers sync.WaitGroup
	reading, stop := context.WithCancel(t.Context())
	for range 2 {
		readers.Go(func() { readOutcomes(reading, t, s) })
	}
	for n := range 60 {
		id := forgetID(n)
		in := question(bot.Chat{Platform: "test", ID: fmt.Sprint(n)}, id, "goal")
		in.Open.Opening.Notify = &planner.Notify{Webhook: "ops"}
		if _, err := s.Open(t.Context(), []tasks.Inbound{in}); err != nil {
			t.Fatal(err)
		}
		if err := s.Append(t.Context(), id, -1, 0, ending()...); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	readers.Wait()
}

// readOutcomes reads what is to be delivered until ctx ends.
func readOutcomes(ctx context.Context, t *testing.T, s *bolt.Store) {
	for ctx.Err() == nil {
		due, _, err := s.Outgoing(context.WithoutCancel(ctx), time.Now().Add(time.Hour), 1000)
		if err != nil {
			t.Error(err)
			return
		}
		for _, d := range due {
			state, err := s.State(context.WithoutCancel(ctx), d.Task)
			if err != nil {
				t.Error(err)
				return
			}
			if !state.Settled() {
				t.Errorf("the outcome of task %s is to be delivered, and its state knows %d events", d.Task, state.Seq)
				return
			}
		}
	}
}
