package api_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/watch"
	"legwork/planner"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/api"
)

// TestDropped: a task that was dropped because its journal is damaged is over for
// all who follow it or wait for it.
func TestDropped(t *testing.T) {
	w := newEnv(t, nil)
	id := w.shares().ID
	ctx, cancel := context.WithTimeout(t.Context(), watch.Patience)
	defer cancel()
	ends := make(chan error, 3)
	begun := make(chan any, 1)
	go func() {
		ends <- w.Follow(ctx, agent, id, 0, nil, time.Minute, func(api.Message) error { begun <- nil; return nil }, quietly)
	}()
	<-begun
	go func() {
		task, err := w.Wait(ctx, agent, id)
		if err == nil && task.State != "failed" {
			t.Errorf("the waiting caller reads %+v, want that it failed", task)
		}
		ends <- err
	}()
	go func() {
		_, err := w.AwaitState(ctx, agent, id, nil, 0)
		ends <- err
	}()
	if err := w.kit.Store.Drop(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := <-ends; err != nil {
			t.Errorf("got %v, want an end", err)
		}
	}
	task, err := w.Get(t.Context(), agent, id)
	if err != nil || task.State != "failed" || task.Finished == nil || task.Reason != planner.ReasonDropped || task.Problem == "" {
		t.Errorf("it reads %+v, %v; want that it was given up", task, err)
	}
	_, err = w.Merge(t.Context(), agent, id, nil, values{"a": raw("1")})
	refused(t, "a change", err, api.ErrConflict)
	if err != nil && !strings.Contains(err.Error(), "over") {
		t.Errorf("a change: %v, want that it is over", err)
	}
	_, _, err = w.Add(t.Context(), agent, id, api.NewMessage{Type: "thought", Content: raw("1")})
	refused(t, "a message", err, api.ErrConflict)
	if ctx.Err() != nil {
		t.Error("no follower learnt that the task has ended")
	}
}

// between is a store in which something happens after a state was read, once.
type between struct {
	*memory.Store
	happens func()
}

func (s *between) State(ctx context.Context, id tasks.ID) (planner.State, error) {
	state, err := s.Store.State(ctx, id)
	if happens := s.happens; happens != nil {
		s.happens = nil
		happens()
	}
	return state, err
}

// TestFailsMeanwhile: a task that fails while it is looked at was not dropped, and
// who follows it hears how it ended.
func TestFailsMeanwhile(t *testing.T) {
	store := &between{Store: memory.New(nil)}
	s := replica(t, store)
	task, _, err := s.Start(t.Context(), agent, api.NewTask{Goal: "x", External: true})
	if err != nil {
		t.Fatal(err)
	}
	ends := []planner.Event{
		{Type: planner.Expired, At: task.Created.AddDate(1, 0, 0)},
		{Type: planner.SendStarted, Slot: planner.SlotAnswer},
		{Type: planner.Sent, Slot: planner.SlotAnswer, Message: "m", Last: true},
	}
	store.happens = func() {
		if err := store.Append(t.Context(), task.ID, 1, 0, ends...); err != nil {
			t.Error(err)
		}
	}
	var got []string
	err = s.Follow(t.Context(), agent, task.ID, 1, nil, time.Minute, func(m api.Message) error {
		got = append(got, string(m.Content))
		return nil
	}, quietly)
	if err != nil || len(got) != len(ends) || !strings.Contains(got[0], "expired") || !strings.Contains(got[2], `"last":true`) {
		t.Errorf("heard %q, %v, want how it ended", got, err)
	}
	if task, err := s.Get(t.Context(), agent, task.ID); err != nil || task.Reason != planner.ReasonIdle {
		t.Errorf("it reads %+v, %v", task, err)
	}
}

// TestFollowDropped: who follows all tasks hears of the end of one that has no message
// about it, if the task is for them.
func TestFollowDropped(t *testing.T) {
	store := memory.New(nil)
	s := replica(t, store)
	task, _, err := s.Start(t.Context(), agent, api.NewTask{Goal: "x", External: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Drop(t.Context(), task.ID); err != nil {
		t.Fatal(err)
	}
	start := uint64(0)
	var got []api.FeedMessage
	for _, who := range []api.Principal{agent, stranger} {
		err = s.FollowAll(t.Context(), who, &start, []string{api.TypeStatus}, time.Millisecond, func(m api.FeedMessage) error {
			got = append(got, m)
			return nil
		}, func(cursor uint64) error {
			if cursor > 1 { // the first tells that it was opened
				return errCut
			}
			return nil
		}, nil)
		refused(t, "one who has read all", err, errCut)
	}
	if len(got) != 1 || got[0].TaskID != task.ID || got[0].Seq != 0 || string(got[0].Content) != `{"event":"dropped"}` || got[0].Timestamp.IsZero() {
		t.Errorf("got %+v, want once that it was dropped", got)
	}
}
