package engine_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"legwork/bot"
	"legwork/internal/test/need"
	"legwork/llm"
	"legwork/planner"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/engine"
	"legwork/tasks/enginetest"
	"legwork/tools"
)

var taskCount = flag.Int("tasks", need.Times(200, 1000), "how many tasks TestManyTasksLeaveNothing runs; make simulate wants 10,000")

// TestManyTasksLeaveNothing: tasks that are answered, fail, are stopped, ask and
// are allowed a call leave no goroutine, no descriptor and no watcher behind.
func TestManyTasksLeaveNothing(t *testing.T) {
	store := memory.New(nil)
	env := enginetest.NewEnv(t, store)
	env.Platform.Keeps, env.Concurrent = true, 16
	asked := make(chan bot.Draft, *taskCount)
	env.Platform.Refuse = func(d bot.Draft) error {
		if d.Kind == bot.KindQuestion {
			asked <- d
		}
		return nil
	}
	env.Model.Answer = mixed
	env.Tools.Judge = func(string, string) tools.Verdict { return tools.Verdict{Ask: true} }
	env.Use(store)
	env.Start(build)
	defer env.Stop()
	begin := countedNow(store)
	ctx := t.Context()
	for n := range *taskCount {
		env.Ask(t, in(n, "ask", kinds[n%len(kinds)]))
		if kinds[n%len(kinds)] == "hang" {
			env.Ask(t, in(n, "stop", "/stop"))
		}
	}
	for range *taskCount / len(kinds) {
		select {
		case d := <-asked:
			m := in(0, "press "+d.Task, "")
			if live, err := store.State(ctx, tasks.ID(d.Task)); err != nil || live.Finished() {
				t.Fatalf("a question of a task that is over: %v", err)
			}
			first, err := store.Event(ctx, tasks.ID(d.Task), 1)
			if err != nil {
				t.Fatal(err)
			}
			m.Kind, m.Chat, m.Data = bot.MessagePress, first.Opening.Chat, d.Buttons[0].Data
			env.Ask(t, m)
		case <-ctx.Done():
			t.Fatal("a question was never asked")
		}
	}
	if err := tasks.Idle(ctx, store, ""); err != nil {
		t.Fatalf("%d tasks are live: %v", env.Engine.(*engine.Engine).Load(), err)
	}
	env.Inbox.Flush(ctx)
	for {
		end := countedNow(store)
		left := env.Engine.(*engine.Engine).Load()
		if end.watched <= 1 && left == 0 && end.goroutines <= begin.goroutines+2 && end.files <= begin.files {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%+v before, %+v and %d tasks in the dispatcher after %d tasks", begin, end, left, *taskCount)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// kinds are the ways in which the tasks of TestManyTasksLeaveNothing end.
var kinds = []string{"answer", "fail", "hang", "call"}

// mixed does what the goal says.
func mixed(ctx context.Context, r llm.Request, s func(llm.Delta)) (llm.Reply, error) {
	switch goal := enginetest.Between(r.Messages[len(r.Messages)-1].Content, "goal"); {
	case goal == "fail":
		return llm.Reply{}, &llm.Error{Problem: llm.Unreachable, Err: errors.New("down")}
	case goal == "hang":
		<-ctx.Done()
		return llm.Reply{}, ctx.Err()
	case goal == "call", r.Role == llm.RoleWork:
		return enginetest.Planned(`{"plan":[{"id":"a","name":"book","description":"open it"}]}`)(ctx, r, s)
	}
	return enginetest.Plain("hello")(ctx, r, s)
}

// in is a message in the chat of that number.
func in(n int, key, text string) bot.Message {
	m := enginetest.Message(fmt.Sprint(key, n), text, time.Now())
	m.Chat.ID = fmt.Sprintf("chat%d", n)
	return m
}

// counted is what must not grow; the engine itself follows the store.
type counted struct{ goroutines, files, watched int }

func countedNow(store *memory.Store) counted {
	files, _ := os.ReadDir("/proc/self/fd") // none elsewhere than on Linux
	return counted{runtime.NumGoroutine(), len(files), store.Watched()}
}

// TestSlowOnesHoldUpNobody: chats with a slow model, a slow tool or a platform
// that lets them wait, more of them than there is room for, leave the time of
// the others' answers as it is.
func TestSlowOnesHoldUpNobody(t *testing.T) {
	for _, slow := range []string{"model", "tool", "chat", "person"} {
		t.Run(slow, func(t *testing.T) {
			converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
				env.Stop()
				env.InMemory, env.Concurrent = 16, 8
				env.Model.Answer = func(ctx context.Context, r llm.Request, s func(llm.Delta)) (llm.Reply, error) {
					text := r.Messages[len(r.Messages)-1].Content
					took := 20 * time.Millisecond
					if slow == "model" && strings.Contains(text, "slow") {
						took = 5 * time.Minute
					}
					select {
					case <-ctx.Done():
						return llm.Reply{}, ctx.Err()
					case <-time.After(took):
					}
					switch last := r.Messages[len(r.Messages)-1]; {
					case slow == "person" && r.Role == llm.RoleWork && last.Role != llm.ToolRole:
						return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "c", Name: planner.ToolAskPerson, Arguments: `{"question":"which?"}`}}}, nil
					case (slow == "tool" || slow == "person") && (r.Role != llm.RolePlan || strings.Contains(text, "slow")):
						return enginetest.Planned(`{"plan":[{"id":"a","name":"look","description":"slow"}]}`)(ctx, r, s)
					}
					return enginetest.Plain("hello")(ctx, r, s)
				}
				env.Tools.Make = func(ctx context.Context, _, _ string) (tools.Result, error) {
					select {
					case <-ctx.Done():
						return tools.Result{}, ctx.Err()
					case <-time.After(5 * time.Minute):
						return tools.Result{Text: "seen"}, nil
					}
				}
				hold := make(chan struct{})
				m.before = func(_ bool, d bot.Draft) error {
					if slow == "chat" && strings.Contains(d.Text, "slow") {
						<-hold
					}
					return nil
				}
				env.Use(env.Store)
				env.Start(build)
				slowOnes := 6 // fewer than may work at a time: each of them is one
				if slow == "person" {
					slowOnes = 100 // more than there is room for
				}
				for n := range slowOnes {
					env.Ask(t, in(n, "slow", "slow"))
				}
				pass(10 * time.Second)
				start := time.Now()
				for n := range 50 {
					env.Ask(t, in(1000+n, "quick", "quick"))
				}
				for n := range 50 {
					if err := tasks.Idle(t.Context(), env.Store, in(1000+n, "", "").Chat.Key()); err != nil {
						t.Fatal(err)
					}
				}
				if took := time.Since(start); took > 5*time.Second {
					t.Errorf("50 others took %v beside a slow %s, want at most 5s", took, slow)
				}
				close(hold)
				if slow == "person" {
					for n := range slowOnes {
						env.Ask(t, in(n, "answer", "this one"))
					}
				}
			})
		})
	}
}
