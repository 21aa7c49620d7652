package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"legwork/bot"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/enginetest"
	"legwork/tools"
)

// proposes opens a task whose first plan a person decides about.
func proposes(t *testing.T, env *enginetest.Env, goal string) tasks.ID {
	t.Helper()
	asked := enginetest.Message("1", goal, time.Now())
	id := tasks.NewID(time.Now())
	if _, err := env.Store.Open(t.Context(), []tasks.Inbound{{Key: "1", Chat: asked.Chat, ID: id, Open: &planner.Event{
		Type: planner.Opened, At: time.Now(), Opening: &planner.Opening{
			Goal: asked.Text, Chat: asked.Chat, From: asked.From, Language: "en", Timezone: "UTC", Limits: env.Limits, Preview: true,
		},
	}}}); err != nil {
		t.Fatal(err)
	}
	if err := env.Engine.Wake(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	return id
}

// drafts are the messages of the chat as they are now.
func (m *messenger) drafts() []bot.Draft {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.chat)
}

// TestNobodyIsThereToAsk: a task with a question ends when its chat is gone.
func TestNobodyIsThereToAsk(t *testing.T) {
	converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
		env.Model.Answer = slowly(enginetest.Planned(twoLooks))
		var tries atomic.Int64
		m.before = func(_ bool, d bot.Draft) error {
			if d.Kind == bot.KindBoard {
				return nil
			}
			tries.Add(1)
			return fmt.Errorf("forbidden: %w", bot.ErrGone)
		}
		id := proposes(t, env, "find both")
		if err := tasks.Idle(t.Context(), env.Store, enginetest.Chat.Key()); err != nil {
			t.Fatal(err)
		}
		if s, err := env.Store.State(t.Context(), id); err != nil || s.Outcome != planner.Halted || tries.Load() > 3 {
			t.Errorf("outcome %q, %v, after %d tries; want stopped after at most 3", s.Outcome, err, tries.Load())
		}
	})
}

// TestQuestionIsAskedAtLast: a chat that is down for a day costs the journal no
// event for each try, and the question is closed although that takes tries, too.
func TestQuestionIsAskedAtLast(t *testing.T) {
	converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
		env.Model.Answer = slowly(enginetest.Planned(twoLooks))
		start := time.Now()
		var closings atomic.Int64
		m.before = func(edit bool, d bot.Draft) error {
			if edit && d.Kind == bot.KindNotice {
				if closings.Add(1) < 3 {
					return errors.New("bad gateway")
				}
			}
			if time.Since(start) < 24*time.Hour {
				return errors.New("bad gateway")
			}
			return nil
		}
		id := proposes(t, env, "find both")
		pass(25 * time.Hour)
		if s, err := env.Store.State(t.Context(), id); err != nil || s.Seq > 10 {
			t.Errorf("the journal has %d events, %v; want at most 10", s.Seq, err)
		}
		chat := m.drafts()
		question := chat[len(chat)-1]
		press := enginetest.Message("2", "", time.Now())
		press.Kind, press.Data = bot.MessagePress, question.Buttons[0].Data
		env.Ask(t, press)
		if err := tasks.Idle(t.Context(), env.Store, enginetest.Chat.Key()); err != nil {
			t.Fatal(err)
		}
		if got := m.picture(); strings.Contains(got, "question: ") || !strings.Contains(got, "Agreed.") {
			t.Errorf("the chat is\n%s\nwant the question closed", got)
		}
	})
}

// TestLongQuestionIsClosedInOneMessage however long it was.
func TestLongQuestionIsClosedInOneMessage(t *testing.T) {
	converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
		looks := make([]string, 10)
		for i := range looks {
			looks[i] = fmt.Sprintf(`{"id":"l%d","name":"llm_tool","description":"look %d %s"}`, i, i, strings.Repeat("long ", 300))
		}
		env.Model.Answer = slowly(enginetest.Planned("[" + strings.Join(looks, ",") + "]"))
		proposes(t, env, "find both")
		pass(time.Minute)
		chat := m.drafts()
		question := chat[len(chat)-1]
		if len(question.Text) < 9_000 {
			t.Fatalf("the question has %d bytes, want every sub-task of the plan", len(question.Text))
		}
		press := enginetest.Message("2", "", time.Now())
		press.Kind, press.Data = bot.MessagePress, question.Buttons[0].Data
		env.Ask(t, press)
		pass(10 * time.Second)
		n := 0
		for _, d := range m.drafts() {
			if strings.HasSuffix(d.Text, "Agreed.") {
				if n++; len(d.Text) > 3000 {
					t.Errorf("the closed question has %d bytes, want at most 3000", len(d.Text))
				}
			}
		}
		if n != 1 {
			t.Errorf("%d messages say how it was decided, want 1:\n%.1000s", n, m.picture())
		}
	})
}

// TestOutageLeavesNothingBehind: whenever a chat comes back that was down when
// the outcome was to be shown, it takes the place of the board of a plain
// question, and the board of a planned one folds.
func TestOutageLeavesNothingBehind(t *testing.T) {
	for _, planned := range []bool{false, true} {
		for _, down := range []time.Duration{time.Second, 5 * time.Second, 36 * time.Second, 43 * time.Second, 60 * time.Second, 75 * time.Second, 110 * time.Second, time.Hour} {
			t.Run(fmt.Sprintf("%v, planned %v", down, planned), func(t *testing.T) {
				converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
					env.Model.Answer = slowly(enginetest.Plain("hello"))
					if planned {
						env.Model.Answer = slowly(enginetest.Planned(twoLooks))
					}
					start := time.Now()
					m.before = func(bool, bot.Draft) error {
						if since := time.Since(start); since > 500*time.Millisecond && since < 3500*time.Millisecond+down {
							return errors.New("bad gateway")
						}
						return nil
					}
					env.Ask(t, enginetest.Message("1", "hi", start))
					if err := tasks.Idle(t.Context(), env.Store, enginetest.Chat.Key()); err != nil {
						t.Fatal(err)
					}
					want := 1
					if planned {
						want = 2
					}
					if chat := m.drafts(); len(chat) != want || chat[want-1].Kind != bot.KindAnswer || planned && chat[0].Partial {
						t.Errorf("the chat is\n%s\nwant %d messages, the last one the answer, a board folded", m.picture(), want)
					}
				})
			})
		}
	}
}

// TestPanicIsOneTasksOwn: what panics in one task ends that task, and the others
// go on.
func TestPanicIsOneTasksOwn(t *testing.T) {
	for _, where := range []string{"model", "tool", "frame", "outcome"} {
		t.Run(where, func(t *testing.T) {
			converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
				var planted, calls atomic.Int64
				fault := func(here bool) {
					if here {
						planted.Add(1)
						panic("planted")
					}
				}
				plan := enginetest.Planned(twoLooks)
				env.Model.Answer = slowly(func(ctx context.Context, r llm.Request, s func(llm.Delta)) (llm.Reply, error) {
					fault(calls.Add(1) == 1 && where == "model")
					if where == "tool" && r.Role == llm.RoleWork && r.Messages[len(r.Messages)-1].Role != llm.ToolRole {
						return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "c", Name: "look", Arguments: "{}"}}}, nil
					}
					return plan(ctx, r, s)
				})
				env.Tools.Make = func(context.Context, string, string) (tools.Result, error) {
					fault(where == "tool")
					return tools.Result{Text: "seen"}, nil
				}
				m.before = func(_ bool, d bot.Draft) error {
					fault(planted.Load() == 0 && (where == "frame" && d.Partial || where == "outcome" && d.Kind == bot.KindAnswer))
					return nil
				}
				env.Ask(t, enginetest.Message("1", "find both", time.Now()))
				pass(time.Minute)
				env.Ask(t, enginetest.Message("2", "and again", time.Now()))
				if err := tasks.Idle(t.Context(), env.Store, enginetest.Chat.Key()); err != nil {
					t.Fatal(err)
				}
				if got := m.picture(); !strings.Contains(got, "answer: ") || planted.Load() == 0 || calls.Load() > 20 {
					t.Errorf("after %d panics and %d calls of the model the chat is\n%s", planted.Load(), calls.Load(), got)
				}
			})
		})
	}
}

// TestBoardIsMeantOnce: the tries to show a board in a chat that is down leave
// no trace in the journal but that it was meant to be shown.
func TestBoardIsMeantOnce(t *testing.T) {
	converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
		answer := enginetest.Plain("hello")
		env.Model.Answer = func(ctx context.Context, r llm.Request, s func(llm.Delta)) (llm.Reply, error) {
			pass(9 * time.Minute)
			return answer(ctx, r, s)
		}
		start := time.Now()
		var tries atomic.Int64
		m.before = func(bool, bot.Draft) error {
			if tries.Add(1); time.Since(start) < 8*time.Minute {
				return errors.New("bad gateway")
			}
			return nil
		}
		env.Ask(t, enginetest.Message("1", "hi", start))
		pass(time.Second)
		live, err := env.Store.Live(t.Context(), "")
		if err != nil || len(live) != 1 {
			t.Fatalf("live tasks %v, %v", live, err)
		}
		if err := tasks.Idle(t.Context(), env.Store, enginetest.Chat.Key()); err != nil {
			t.Fatal(err)
		}
		s, err := env.Store.State(t.Context(), live[0].Task)
		if err != nil || s.Seq > 7 || tries.Load() < 10 {
			t.Errorf("%d events in the journal after %d tries, %v; want at most 7", s.Seq, tries.Load(), err)
		}
		if got, want := m.picture(), "answer: hello\n"; got != want {
			t.Errorf("the chat is\n%s\nwant\n%s", got, want)
		}
	})
}
