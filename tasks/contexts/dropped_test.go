package contexts_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"legwork/planner"
	"legwork/tasks/contexts"
)

// TestDropped: a task that was dropped because its journal is damaged is over for
// all who follow it or wait for it.
func TestDropped(t *testing.T) {
	w := newWorld(t, nil)
	id := w.shares().ID
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	ends := make(chan error, 3)
	begun := make(chan any, 1)
	go func() {
		ends <- w.Follow(ctx, agent, id, 0, nil, time.Minute, func(contexts.Message) error { begun <- nil; return nil }, quietly)
	}()
	<-begun
	go func() {
		task, err := w.Wait(ctx, agent, id)
		if err == nil && task.State != "failed" {
			t.Errorf("whoever waits reads %+v, want that it failed", task)
		}
		ends <- err
	}()
	go func() {
		_, err := w.AwaitShared(ctx, agent, id, nil, 0)
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
	if err != nil || task.State != "failed" || task.Finished == nil || task.Reason != planner.WhyDropped || task.Problem == "" {
		t.Errorf("it reads %+v, %v; want that it was given up", task, err)
	}
	_, err = w.Merge(t.Context(), agent, id, nil, values{"a": raw("1")})
	refused(t, "a change", err, contexts.ErrConflict)
	if err != nil && !strings.Contains(err.Error(), "over") {
		t.Errorf("a change: %v, want that it is over", err)
	}
	_, _, err = w.Add(t.Context(), agent, id, contexts.NewMessage{Type: "thought", Content: raw("1")})
	refused(t, "a message", err, contexts.ErrConflict)
	if ctx.Err() != nil {
		t.Error("the task has ended for nobody")
	}
}
