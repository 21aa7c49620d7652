package local_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/enginetest"
	"legwork/tasks/local"
)

// TestManyContextsCostNothing: contexts that agents from outside work on take no
// goroutine, count for nobody's limit, go on by what is appended, and rest again
// after a restart.
func TestManyContextsCostNothing(t *testing.T) {
	store := memory.New(nil)
	k := enginetest.NewKit(t, store)
	k.Use(store)
	k.Start(build)
	defer func() { k.Stop() }()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	before := runtime.NumGoroutine()
	ids := make([]tasks.ID, *crowd)
	for n := range ids {
		program := bot.Person{Platform: tasks.PlatformAgent, ID: fmt.Sprintf("agent%d", n%10)}
		r, err := k.Inbox.Start(ctx, tasks.Order{From: program, Goal: "write", External: true})
		if err != nil {
			t.Fatal(err)
		}
		ids[n] = r.Task
	}
	rest := func() {
		t.Helper()
		for runtime.NumGoroutine() > before+4 || k.Engine.(*local.Engine).Load() > 0 {
			select {
			case <-ctx.Done():
				t.Fatalf("%d goroutines, %d before; %d tasks are said to work", runtime.NumGoroutine(), before, k.Engine.(*local.Engine).Load())
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
	rest()
	k.Stop()
	k.Use(store)
	k.Start(build)
	rest()
	for _, id := range ids {
		if err := store.Append(ctx, id, -1, 0, planner.Event{Type: planner.Answered, By: "agent:writer", Text: "written"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := tasks.Idle(ctx, store, ""); err != nil {
		t.Fatalf("a context that was answered is not over: %v", err)
	}
	events, err := store.Load(ctx, ids[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	var types []planner.EventType
	for _, e := range events {
		types = append(types, e.Type)
	}
	if got := fmt.Sprint(types); got != "[opened answered began shown]" {
		t.Errorf("the journal of a context is %s", got)
	}
}
