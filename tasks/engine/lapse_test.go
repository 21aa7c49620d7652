package engine_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/bot"
	"legwork/llm"
	"legwork/planner"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/enginetest"
)

// ending is a store whose process ends as a certain event is stored: before it is, or
// after.
type ending struct {
	tasks.Store
	end   func()
	after bool
	at    func(planner.Event) bool
}

func (s *ending) Append(ctx context.Context, id tasks.ID, after int, fence int64, e ...planner.Event) error {
	if !s.at(e[0]) {
		return s.Store.Append(ctx, id, after, fence, e...)
	}
	if !s.after {
		s.end()
	}
	err := s.Store.Append(ctx, id, after, fence, e...)
	s.end()
	return err
}

// TestReviewLapsesOverACrash: a review without a decision ends once, and its task
// with one answer, also when the process ends in that moment.
func TestReviewLapsesOverACrash(t *testing.T) {
	for name, after := range map[string]bool{"before it is stored": false, "after it is stored": true} {
		t.Run(name, func(t *testing.T) {
			converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
				env.Stop()
				env.Expire = time.Hour
				env.Model.Answer = slowly(func(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
					switch r.Role {
					case llm.RolePlan:
						return llm.Reply{Text: `{"plan":[{"name":"look","description":"one"}]}`}, nil
					case llm.RoleWork:
						return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "c", Name: planner.ToolUpdateState, Arguments: `{"values":{"draft":"so","status":"NEEDS_HUMAN_REVIEW"}}`}}}, nil
					}
					return llm.Reply{Text: "a draft"}, nil
				})
				store := env.Store.(*memory.Store)
				crashed := make(chan struct{})
				var once sync.Once
				env.Use(&ending{store, func() { once.Do(func() { store = store.Reopen(); close(crashed) }) }, after, func(e planner.Event) bool { return e.Type == planner.Expired }})
				env.Start(build)
				env.Ask(t, enginetest.Message("1", "draft it", time.Now()))
				<-crashed
				env.Stop()
				env.Use(store)
				env.Start(build)
				if err := tasks.Idle(t.Context(), env.Store, enginetest.Chat.Key()); err != nil {
					t.Fatal(err)
				}
				got := m.picture()
				if strings.Count(got, "answer: a draft\n") != 1 || strings.Count(got, env.Texts.Text("en", "review.expired", nil)) != 1 || strings.Contains(got, string(bot.KindQuestion)+": ") {
					t.Errorf("the chat is\n%s", got)
				}
				lapsed(t, env)
			})
		})
	}
}

// lapsed checks that the only task's review lapsed once, and that nothing that
// it held was begun.
func lapsed(t *testing.T, env *enginetest.Env) {
	t.Helper()
	turns, err := env.Store.History(t.Context(), enginetest.Chat.Key(), "", 1<<20)
	if err != nil || len(turns) != 1 {
		t.Fatalf("history %+v, %v", turns, err)
	}
	events, err := env.Store.Load(t.Context(), turns[0].Task, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range events {
		if e.Type == planner.Expired {
			n++
		}
	}
	state := planner.Fold(events)
	if n != 1 || state.Reason != planner.ReasonReview || state.Outcome != planner.Done {
		t.Errorf("the time ended %d times; outcome %q, why %q", n, state.Outcome, state.Reason)
	}
	if work := len(env.Model.Requests(llm.RoleWork)); work != 1 {
		t.Errorf("%d turns of the sub-task, want the one before the review", work)
	}
}
