package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"legwork/bot"
	"legwork/llm"
	"legwork/planner"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/enginetest"
	"legwork/tools"
)

// TestWaitingForOthersCostsNoTime: the time of a task that waits for its turn
// does not run.
func TestWaitingForOthersCostsNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := enginetest.NewEnv(t, memory.New(nil))
		env.Concurrent, env.Limits.TaskTimeout = 1, time.Minute
		env.Model.Answer = func(ctx context.Context, _ llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
			select {
			case <-ctx.Done():
				return llm.Reply{}, ctx.Err()
			case <-time.After(40 * time.Second):
				return llm.Reply{Text: "hello"}, nil
			}
		}
		env.Use(env.Store)
		env.Start(build)
		defer env.Stop()
		for i := range 4 {
			m := enginetest.Message(fmt.Sprint(i), "hi", time.Now())
			m.Chat.ID = m.Key
			env.Ask(t, m)
		}
		pass(time.Hour)
		got := env.Platform.Posts(bot.KindAnswer)
		if len(got) != 4 {
			t.Fatalf("%d answers, want 4", len(got))
		}
		for _, p := range got {
			if p.Text != "hello" {
				t.Errorf("answer in %s = %q, want hello", p.Chat.ID, p.Text)
			}
		}
	})
}

// damaging is a store of which a journal cannot be read any more at some time.
type damaging struct {
	*memory.Store
	damaged atomic.Bool
}

func (d *damaging) Load(ctx context.Context, id tasks.ID, from int) ([]planner.Event, error) {
	if d.damaged.Load() {
		return nil, fmt.Errorf("task %s: %w", id, tasks.ErrDamaged)
	}
	return d.Store.Load(ctx, id, from)
}

// TestDamagedWhileItRuns: a task whose journal turns out to be damaged gets out
// of the way of the next one, and its chat is told.
func TestDamagedWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &damaging{Store: memory.New(nil)}
		env := enginetest.NewEnv(t, store)
		env.Model.Answer = func(ctx context.Context, r llm.Request, s func(llm.Delta)) (llm.Reply, error) {
			store.damaged.Store(true)
			return enginetest.Plain("hello")(ctx, r, s)
		}
		env.Start(build)
		defer env.Stop()
		env.Ask(t, enginetest.Message("1", "hi", time.Now()))
		pass(time.Minute)
		live, err := env.Store.Live(t.Context(), "")
		if err != nil || len(live) != 0 {
			t.Errorf("live = %+v, %v; want none", live, err)
		}
		notices := env.Platform.Posts(bot.KindNotice)
		if len(notices) != 1 || !strings.Contains(notices[0].Text, "damaged") {
			t.Errorf("notices = %+v, want one about the damage", notices)
		}
	})
}

// TestNoSpinning: an action that ends as if it had been cancelled, and was not, is
// tried again with pauses.
func TestNoSpinning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := enginetest.NewEnv(t, memory.New(nil))
		env.Model.Answer = enginetest.Planned(`{"plan":[{"name":"look","description":"one"}]}`)
		start := time.Now()
		env.Tools.Make = func(ctx context.Context, _, _ string) (tools.Result, error) {
			if time.Since(start) < time.Minute && len(env.Tools.Calls()) < 1000 {
				return tools.Result{}, context.Canceled
			}
			return tools.Result{Text: "found"}, ctx.Err()
		}
		env.Start(build)
		defer env.Stop()
		env.Ask(t, enginetest.Message("1", "hi", time.Now()))
		pass(5 * time.Minute)
		env.Answers(t, 1)
		if n := len(env.Tools.Calls()); n > 20 {
			t.Errorf("%d calls within a minute of failures, want a few", n)
		}
	})
}

// fencing is a store that another process has taken over when a call returns.
type fencing struct{ *memory.Store }

func (f *fencing) Append(ctx context.Context, id tasks.ID, after int, fence int64, e ...planner.Event) error {
	if e[0].Type == planner.Returned {
		return tasks.ErrFenced
	}
	return f.Store.Append(ctx, id, after, fence, e...)
}

// TestFencedBeginsNothing: a call whose result this process may not store any more is
// not made again.
func TestFencedBeginsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := enginetest.NewEnv(t, &fencing{memory.New(nil)})
		env.Model.Answer = enginetest.Planned(`{"plan":[{"name":"look","description":"one"}]}`)
		env.Start(build)
		defer env.Stop()
		env.Ask(t, enginetest.Message("1", "hi", time.Now()))
		pass(5 * time.Minute)
		if calls := env.Tools.Calls(); len(calls) != 1 {
			t.Errorf("calls = %q, want one", calls)
		}
	})
}
