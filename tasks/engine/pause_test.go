package engine_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"legwork/bot"
	"legwork/llm"
	"legwork/planner"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/enginetest"
)

// TestPause: running calls end and no other call begins, also after a restart;
// boards say so, the time stands still, and afterwards all tasks go on.
func TestPause(t *testing.T) {
	converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
		restart := func() {
			env.Stop()
			env.Inbox.Flush(t.Context())
			var err error
			if env.Pause, err = tasks.OpenPause(t.Context(), env.Store.(*memory.Store)); err != nil {
				t.Fatal(err)
			}
			env.Use(env.Store)
			env.Start(build)
		}
		restart()
		var calls atomic.Int64
		answer := enginetest.Planned(twoLooks)
		env.Model.Answer = slowly(func(ctx context.Context, r llm.Request, s func(llm.Delta)) (llm.Reply, error) {
			calls.Add(1)
			return answer(ctx, r, s)
		})
		env.Ask(t, enginetest.Message("1", "find both", time.Now()))
		pass(1500 * time.Millisecond) // it has planned, and two sub-tasks call the model
		if _, err := env.Pause.Set(t.Context(), tasks.Paused{Name: "Boss", At: time.Now()}); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		if n := calls.Load(); n != 3 || !strings.Contains(m.picture(), "board: Paused") {
			t.Errorf("%d calls of the model, want the plan and the two that were under way, and a board that says so:\n%s", n, m.picture())
		}
		env.Ask(t, enginetest.Message("2", "and this?", time.Now()))
		restart()
		pass(10 * time.Hour) // far beyond every limit of working time
		if n := calls.Load(); n != 3 {
			t.Errorf("%d calls of the model in a pause that was kept over a restart, want none more", n)
		}
		if _, was, err := env.Pause.Resume(t.Context()); !was || err != nil {
			t.Fatalf("lifting: %v, %v", was, err)
		}
		if err := tasks.Idle(t.Context(), env.Store, ""); err != nil {
			t.Fatal(err)
		}
		got := m.picture()
		if !strings.Contains(got, "board: Done: 2 sub-tasks in 4.0 s\n") || !strings.Contains(got, "answer: review saw") || !strings.Contains(got, "and this?") {
			t.Errorf("%d calls of the model, the chat is\n%s\nwant an answer that heeds all, after the seconds that were worked", calls.Load(), got)
		}
	})
}

// TestPauseDoesNotFail: a call that fails while everything is paused is made
// again when it goes on.
func TestPauseDoesNotFail(t *testing.T) {
	converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
		env.Stop()
		env.Pause, _ = tasks.OpenPause(t.Context(), env.Store)
		env.Use(env.Store)
		env.Start(build)
		tries := 0
		env.Model.Answer = func(ctx context.Context, r llm.Request, s func(llm.Delta)) (llm.Reply, error) {
			if tries++; tries == 1 {
				pass(time.Second)
				return llm.Reply{}, &llm.Error{Problem: llm.Held, Err: tasks.ErrPaused}
			}
			return enginetest.Plain("hello")(ctx, r, s)
		}
		env.Ask(t, enginetest.Message("1", "hi", time.Now()))
		pass(500 * time.Millisecond)
		_, _ = env.Pause.Set(t.Context(), tasks.Paused{Name: "Boss"})
		pass(time.Hour)
		if got := m.picture(); !strings.Contains(got, "board: Paused") {
			t.Errorf("the chat is\n%s\nwant a board that says that it is paused", got)
		}
		_, _, _ = env.Pause.Resume(t.Context())
		if err := tasks.Idle(t.Context(), env.Store, ""); err != nil {
			t.Fatal(err)
		}
		if got := m.picture(); got != "answer: hello\n" || tries != 2 {
			t.Errorf("after %d tries the chat is\n%s\nwant the answer", tries, got)
		}
	})
}

// TestRest: tasks that wait for people take no room, and go on when they are
// answered, or when their question expires.
func TestRest(t *testing.T) {
	converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
		env.Stop()
		env.InMemory, env.Concurrent = 1, 1
		env.Use(env.Store)
		env.Start(build)
		env.Model.Answer = func(ctx context.Context, r llm.Request, s func(llm.Delta)) (llm.Reply, error) {
			if r.Role == llm.RoleWork && r.Messages[len(r.Messages)-1].Role != llm.ToolRole {
				return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "c", Name: planner.ToolAskPerson, Arguments: `{"question":"which?"}`}}}, nil
			}
			return enginetest.Planned(`{"plan":[{"id":"a","name":"look","description":"one"}]}`)(ctx, r, s)
		}
		const chats = 5
		ask := func(i int, key, text string) bot.Message {
			q := enginetest.Message(key+string(rune('0'+i)), text, time.Now())
			q.Chat.ID = "room" + string(rune('0'+i))
			return q
		}
		for i := range chats {
			env.Ask(t, ask(i, "q", "find it"))
		}
		pass(time.Minute)
		if got := strings.Count(m.picture(), "question: which?"); got != chats {
			t.Fatalf("%d questions, want one in each of %d chats:\n%s", got, chats, m.picture())
		}
		for i := range chats {
			env.Ask(t, ask(chats-1-i, "a", "this one"))
		}
		if err := tasks.Idle(t.Context(), env.Store, ""); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(m.picture(), "answer: "); got != chats {
			t.Errorf("%d answers, want %d:\n%s", got, chats, m.picture())
		}
	})
}
