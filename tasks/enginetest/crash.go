package enginetest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tools"
)

// testCrash kills the engine while the second of two tools runs.
func testCrash(t *testing.T, store Reopener, build func(Setup) tasks.Engine) {
	env := NewEnv(t, store)
	env.Model.Answer = Planned(twoLooks)
	var crashed bool
	var mu sync.Mutex
	hang := make(chan struct{}, 1)
	env.Tools.Make = func(ctx context.Context, _, a string) (tools.Result, error) {
		mu.Lock()
		wait := strings.Contains(a, "two") && !crashed
		mu.Unlock()
		if wait {
			hang <- struct{}{}
			<-ctx.Done()
			return tools.Result{}, ctx.Err()
		}
		return tools.Result{Text: "found " + a}, nil
	}
	env.Start(build)
	ask(t, env, "1", "find both")
	<-hang
	id := onlyTask(t, env)
	awaitSub(t, env, id, "1/a", planner.SubDone)
	mu.Lock()
	crashed = true
	mu.Unlock()
	again := store.Again()
	env.Stop()
	plans, works := len(env.Model.Requests(llm.RolePlan)), len(env.Model.Requests(llm.RoleWork))
	env.Use(again)
	env.Start(build)
	defer env.Stop()
	env.Answers(t, 1)
	calls := env.Tools.Calls()
	one, two := 0, 0
	for _, c := range calls {
		if strings.Contains(c, "one") {
			one++
		}
		if strings.Contains(c, "two") {
			two++
		}
	}
	if one != 1 || two != 2 {
		t.Errorf("calls = %q, want the stored one once and the cut-off one twice", calls)
	}
	if n := len(env.Model.Requests(llm.RolePlan)); n != plans {
		t.Errorf("%d more planning calls after the crash, want none", n-plans)
	}
	if n := len(env.Model.Requests(llm.RoleWork)) - works; n != 1 {
		t.Errorf("%d work calls after the crash, want 1", n)
	}
}

// testUnknown kills the engine while a call runs that must not run twice.
func testUnknown(t *testing.T, store Reopener, build func(Setup) tasks.Engine) {
	env := NewEnv(t, store)
	env.Model.Answer = Planned(`{"plan":[{"name":"book","description":"one"}]}`)
	hang := make(chan struct{}, 1)
	env.Tools.Make = func(ctx context.Context, _, _ string) (tools.Result, error) {
		hang <- struct{}{}
		<-ctx.Done()
		return tools.Result{}, ctx.Err()
	}
	env.Start(build)
	ask(t, env, "1", "book it")
	<-hang
	again := store.Again()
	env.Stop()
	env.Use(again)
	env.Start(build)
	defer env.Stop()
	got := env.Answers(t, 1)[0].Text
	if want := env.Texts.Text("en", "prompt.result_unknown", nil); !strings.Contains(got, want) {
		t.Errorf("the model saw %q, want %q", got, want)
	}
	if calls := env.Tools.Calls(); len(calls) != 1 {
		t.Errorf("calls = %q, want one", calls)
	}
}

// testServerTask kills the engine while a call runs that must not run twice, and that its
// server does as a task of its own.
func testServerTask(t *testing.T, store Reopener, build func(Setup) tasks.Engine) {
	env := NewEnv(t, store)
	env.Model.Answer = Planned(`{"plan":[{"name":"book","description":"one"}]}`)
	begun, ended := make(chan string, 10), make(chan error, 10)
	env.Tools.Serve = func(ctx context.Context, c tools.Call) (tools.Result, error) {
		if c.Resume != nil {
			return tools.Result{Text: "went on with " + string(c.Resume.State)}, nil
		}
		if err := c.Began(ctx, json.RawMessage(`{"task":"job-1"}`)); err != nil {
			return tools.Result{}, err
		}
		begun <- c.Tool
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return tools.Result{}, ctx.Err()
	}
	env.Start(build)
	ask(t, env, "1", "book it")
	<-begun
	again := store.Again()
	env.Stop()
	if err := <-ended; errors.Is(err, tools.ErrWithdrawn) {
		t.Errorf("the end of the process withdraws the call: %v", err)
	}
	env.Use(again)
	env.Start(build)
	defer env.Stop()
	if got := env.Answers(t, 1)[0].Text; !strings.Contains(got, `went on with {"task":"job-1"}`) {
		t.Errorf("the model saw %q, want the result of the call that went on", got)
	}
	if calls := env.Tools.Calls(); len(calls) != 2 {
		t.Errorf("calls = %q, want one and the same again", calls)
	}
}

// testStoreFails lets the store refuse for a while what a call brought.
func testStoreFails(t *testing.T, store Reopener, build func(Setup) tasks.Engine) {
	failing := &full{Store: store}
	env := NewEnv(t, failing)
	env.Start(build)
	defer env.Stop()
	failing.set(2)
	ask(t, env, "1", "hi")
	if got := env.Answers(t, 1); len(got) != 1 || got[0].Text != "hello" {
		t.Errorf("answers = %+v, want one hello", got)
	}
}

// full is a store whose disk is full for the next few appends of outcomes.
type full struct {
	tasks.Store
	mu   sync.Mutex
	left int
}

func (f *full) set(n int) {
	f.mu.Lock()
	f.left = n
	f.mu.Unlock()
}

func (f *full) Append(ctx context.Context, id tasks.ID, after int, fence int64, e ...planner.Event) error {
	f.mu.Lock()
	refuse := f.left > 0
	if refuse {
		f.left--
	}
	f.mu.Unlock()
	if refuse {
		return tasks.ErrFull
	}
	return f.Store.Append(ctx, id, after, fence, e...)
}

func onlyTask(t *testing.T, env *Env) tasks.ID {
	t.Helper()
	live, err := env.Store.Live(t.Context(), "")
	if err != nil || len(live) != 1 {
		t.Fatalf("live = %v, %v; want one task", live, err)
	}
	return live[0].Task
}

// awaitSub waits until a sub-task is in a state.
func awaitSub(t *testing.T, env *Env, id tasks.ID, sub string, want planner.SubState) {
	t.Helper()
	for {
		changed := env.Store.Changed(id)
		s, err := env.Store.State(t.Context(), id)
		if err != nil {
			t.Fatalf("reading state: %v", err)
		}
		for _, w := range s.Subtasks {
			if w.ID == sub && w.State == want {
				return
			}
		}
		select {
		case <-changed:
		case <-t.Context().Done():
			t.Fatal(errors.Join(errors.New("sub-task "+sub+" never got there"), t.Context().Err()))
		}
	}
}
