package engine_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/enginetest"
)

// TestStrayQuestionCloses: a question whose message was sent just before a kill,
// and whose task was stopped before another life could ask it again, is looked
// for, and loses its buttons.
func TestStrayQuestionCloses(t *testing.T) {
	converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
		env.Model.Answer = enginetest.Planned(twoLooks)
		asked, killed, done := make(chan any), make(chan any), false
		m.after = func(d bot.Draft) error {
			if d.Kind != bot.KindQuestion || done {
				return nil
			}
			done = true
			close(asked)
			<-killed
			return errors.New("the connection broke")
		}
		env.Ask(t, enginetest.Message("1", "/plan find both", time.Now()))
		<-asked
		live, err := env.Store.Live(t.Context(), "")
		if err != nil || len(live) != 1 {
			t.Fatalf("live tasks = %v, %v; want one", live, err)
		}
		stopped := make(chan any)
		go func() { defer close(stopped); env.Stop() }()
		pass(time.Second)
		close(killed)
		<-stopped
		if err := env.Store.Append(t.Context(), live[0].Task, -1, 0, planner.Event{Type: planner.Stopped, At: time.Now()}); err != nil {
			t.Fatal(err)
		}
		env.Start(build)
		if err := tasks.Idle(t.Context(), env.Store, enginetest.Chat.Key()); err != nil {
			t.Fatal(err)
		}
		for _, d := range m.chat {
			if len(d.Buttons) > 0 && strings.Contains(d.Mark, ".ask ") {
				t.Errorf("the question %q keeps its buttons\n%s", d.Text, m.picture())
			}
		}
	})
}
