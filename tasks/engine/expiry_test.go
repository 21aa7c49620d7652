package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/enginetest"
	"legwork/tools"
)

// fullStore takes no note of an end of waiting while it is full.
type fullStore struct {
	tasks.Store
	full  atomic.Bool
	tries atomic.Int64
}

func (s *fullStore) Append(ctx context.Context, id tasks.ID, after int, fence int64, e ...planner.Event) error {
	if s.full.Load() && e[0].Type == planner.Expired {
		if s.tries.Add(1) > 10_000 {
			s.full.Store(false) // or the test would never end
		}
		return tasks.ErrFull
	}
	return s.Store.Append(ctx, id, after, fence, e...)
}

// TestExpiryOnFullDisk: a question that lapses while nothing can be stored is
// tried now and then, not all the time, and lapses when there is room.
func TestExpiryOnFullDisk(t *testing.T) {
	converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
		env.Stop()
		store := &fullStore{Store: env.Store}
		store.full.Store(true)
		env.Use(store)
		env.Executor.Use(tasks.PromptRules{Approvals: tasks.Approvals{Expire: time.Hour}})
		env.Tools.Judge = func(string, string) tools.Verdict { return tools.Verdict{Ask: true} }
		env.Model.Answer = enginetest.Planned(`{"plan":[{"id":"a","name":"book","description":"one"}]}`)
		env.Start(build)
		env.Ask(t, enginetest.Message("1", "book it", time.Now()))
		pass(2 * time.Hour)
		if n := store.tries.Load(); n < 10 || n > 300 {
			t.Errorf("within an hour it was tried %d times, want at most every %v\n%s", n, 30*time.Second, m.picture())
		}
		store.full.Store(false)
		pass(time.Minute)
		if live, err := env.Store.Live(t.Context(), ""); err != nil || len(live) > 0 {
			t.Errorf("%d tasks are live, %v, want none: there is room, and no answer came\n%s", len(live), err, m.picture())
		}
	})
}
