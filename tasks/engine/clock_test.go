package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"legwork/llm"
	"legwork/planner"
	"legwork/tasks/enginetest"
)

// TestClockIsOffAfterRestart: whether the clock stands a day ahead or behind
// after a restart, tasks go on with the time that they had left, and end when it
// is over.
func TestClockIsOffAfterRestart(t *testing.T) {
	for _, off := range []time.Duration{24 * time.Hour, -24 * time.Hour} {
		for _, hangs := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v, hangs %v", off, hangs), func(t *testing.T) {
				converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
					env.Limits.TaskTimeout, env.Limits.AnswerTime = time.Minute, 10*time.Second
					env.Use(env.Store)
					answer := enginetest.Planned(twoLooks)
					env.Model.Answer = func(ctx context.Context, r llm.Request, s func(llm.Delta)) (llm.Reply, error) {
						took := 12 * time.Second
						if hangs && r.Role != llm.RolePlan {
							took = time.Hour
						}
						select {
						case <-ctx.Done():
							return llm.Reply{}, ctx.Err()
						case <-time.After(took):
						}
						return answer(ctx, r, s)
					}
					env.Ask(t, enginetest.Message("1", "find both", time.Now()))
					pass(15 * time.Second)
					env.Stop()
					env.Now = func() time.Time { return time.Now().Add(off) }
					env.Use(env.Store)
					env.Start(build)
					pass(2 * time.Minute)
					live, err := env.Store.Live(t.Context(), "")
					if err != nil || len(live) > 0 {
						t.Errorf("%d tasks are live, %v; want the time to be over", len(live), err)
					}
					want := "answer: review saw"
					if hangs {
						want = "answer: " + env.Texts.Text("en", "problem."+planner.ReasonExpired, nil)[:20]
					}
					if got := m.picture(); !strings.Contains(got, want) {
						t.Errorf("the chat is\n%s\nwant %q", got, want)
					}
				})
			})
		}
	}
}
