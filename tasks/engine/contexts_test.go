package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/engine"
	"legwork/tasks/enginetest"
	"legwork/tasks/inbox"
)

// TestManyContextsCostNothing: contexts that agents from outside work on take no
// goroutine, count for no limit, go on with each appended event, and are parked
// again after a restart.
func TestManyContextsCostNothing(t *testing.T) {
	store := memory.New(nil)
	env := enginetest.NewEnv(t, store)
	env.Use(store)
	env.Start(build)
	defer func() { env.Stop() }()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	before := runtime.NumGoroutine()
	ids := make([]tasks.ID, *taskCount)
	for n := range ids {
		program := bot.Person{Platform: tasks.PlatformAgent, ID: fmt.Sprintf("agent%d", n%10)}
		r, err := inbox.StartTask(ctx, env.Inbox, inbox.TaskRequest{From: program, Goal: "write", External: true})
		if err != nil {
			t.Fatal(err)
		}
		ids[n] = r.Task
	}
	rest := func() {
		t.Helper()
		for runtime.NumGoroutine() > before+4 || env.Engine.(*engine.Engine).Load() > 0 {
			select {
			case <-ctx.Done():
				t.Fatalf("%d goroutines, %d before; %d tasks are said to work", runtime.NumGoroutine(), before, env.Engine.(*engine.Engine).Load())
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
	rest()
	env.Stop()
	env.Use(store)
	env.Start(build)
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
	if got := fmt.Sprint(types); got != "[opened answered send_started sent]" {
		t.Errorf("the journal of a context is %s", got)
	}
}

// TestNotifyOverACrash: a chat that a program named has the question and the
// outcome once each, also when the process ends before it knows that they were
// sent.
func TestNotifyOverACrash(t *testing.T) {
	for _, kind := range []bot.DraftKind{bot.KindQuestion, bot.KindAnswer} {
		t.Run(string(kind), func(t *testing.T) {
			converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
				env.Model.Answer = slowly(enginetest.Plain("the answer"))
				store := env.Store.(*memory.Store)
				crashed := make(chan struct{})
				var once sync.Once
				m.after = func(d bot.Draft) error {
					if d.Kind == kind {
						once.Do(func() { store = store.Reopen(); close(crashed) })
					}
					return nil
				}
				r, err := inbox.StartTask(t.Context(), env.Inbox, inbox.TaskRequest{
					From: bot.Person{Platform: tasks.PlatformAPI, ID: "ops", Name: "ops"}, Goal: "greet", Notify: &planner.Notify{Chat: &enginetest.Chat},
				})
				if err != nil {
					t.Fatal(err)
				}
				review := planner.Event{Type: planner.StateSet, By: "api:ops", Values: map[string]json.RawMessage{planner.KeyStatus: json.RawMessage(`"NEEDS_HUMAN_REVIEW"`)}}
				if err := env.Store.Append(t.Context(), r.Task, -1, 0, review); err != nil {
					t.Fatal(err)
				}
				approve := func() {
					pass(10 * time.Second)
					e := planner.Event{Type: planner.Decided, By: "recorder:boss", Action: planner.AskID(planner.SubjectReview, 2), Values: planner.ReviewValues(true), Decision: &planner.Decision{Approve: true, Name: "Boss"}}
					if err := env.Store.Append(t.Context(), r.Task, -1, 0, e); err != nil {
						t.Fatal(err)
					}
				}
				if kind == bot.KindAnswer {
					approve()
				}
				<-crashed
				env.Stop()
				env.Use(store)
				env.Start(build)
				if kind == bot.KindQuestion {
					approve()
				}
				if err := tasks.Idle(t.Context(), env.Store, ""); err != nil {
					t.Fatal(err)
				}
				got := m.picture()
				want := "answer: A task of the program ops: greet\n\nthe answer\n"
				if !strings.HasSuffix(got, want) || strings.Count(got, "answer: ") != 1 || strings.Count(got, "Approved by Boss") != 1 || strings.Contains(got, "question: ") || strings.Contains(got, "board: ") {
					t.Errorf("the chat is\n%s", got)
				}
			})
		})
	}
}

// counting is a store that counts how often a whole journal is read.
type counting struct {
	*memory.Store
	loads atomic.Int32
}

// Load counts.
func (c *counting) Load(ctx context.Context, id tasks.ID, from int) ([]planner.Event, error) {
	if from == 0 {
		c.loads.Add(1)
	}
	return c.Store.Load(ctx, id, from)
}

// TestLongContextIsNotRead: an agent's event does not cause the whole context to be
// read, except for a review that a chat must show, and its end.
func TestLongContextIsNotRead(t *testing.T) {
	for _, notify := range []*planner.Notify{nil, {Chat: &enginetest.Chat}} {
		store := &counting{Store: memory.New(nil)}
		env := enginetest.NewEnv(t, store)
		env.Platform.Keeps = true
		env.Use(store)
		env.Start(build)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		r, err := inbox.StartTask(ctx, env.Inbox, inbox.TaskRequest{From: bot.Person{Platform: tasks.PlatformAgent, ID: "a"}, Goal: "write", External: true, Notify: notify})
		if err != nil {
			t.Fatal(err)
		}
		tell := func(e planner.Event) {
			t.Helper()
			if err := store.Append(ctx, r.Task, -1, 0, e); err != nil {
				t.Fatalf("%s: %v", e.Type, err)
			}
		}
		note := planner.Event{Type: planner.NoteAdded, By: "agent:a", Note: &planner.Note{Type: "thought", Content: json.RawMessage(`"so"`)}}
		for n := range 300 {
			tell(note)
			if n == 100 {
				tell(planner.Event{Type: planner.StateSet, By: "agent:a", Values: map[string]json.RawMessage{planner.KeyStatus: json.RawMessage(`"NEEDS_HUMAN_REVIEW"`)}})
				if notify != nil {
					if err := env.Platform.Await(ctx, func() bool { return len(env.Platform.Posts(bot.KindQuestion)) == 1 }); err != nil {
						t.Fatal(err)
					}
				}
			}
			if n == 200 {
				tell(planner.Event{Type: planner.Decided, By: "recorder:boss", Action: planner.AskID(planner.SubjectReview, 103), Values: planner.ReviewValues(true), Decision: &planner.Decision{Approve: true}})
				if notify != nil {
					if err := env.Platform.Await(ctx, func() bool { return len(env.Platform.Posts(bot.KindNotice)) == 1 }); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		tell(planner.Event{Type: planner.Answered, By: "agent:a", Text: "written"})
		if err := tasks.Idle(ctx, store, ""); err != nil {
			t.Fatal(err)
		}
		env.Stop()
		cancel()
		most := int32(10) // for the review, its end, the outcome, and what comes before those are stored
		if n := store.loads.Load(); n > most {
			t.Errorf("notify %v: the journal was read %d times, want at most %d", notify != nil, n, most)
		}
	}
}
