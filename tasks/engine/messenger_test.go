package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"legwork/bot"
	"legwork/llm"
	"legwork/planner"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/enginetest"
	"legwork/tasks/presenter"
)

// messenger is a chat whose messages last and can be changed, as those of
// Telegram or Slack.
type messenger struct {
	// before, when set, is called ahead of each request; an error refuses it.
	before func(edit bool, d bot.Draft) error
	// after, when set, is called when it is done; an error hides that.
	after func(d bot.Draft) error

	mu    sync.Mutex
	chat  []bot.Draft // message number n is chat[n-1]
	finds int
}

func (m *messenger) Name() string { return enginetest.Chat.Platform }

func (m *messenger) Limits() bot.Limits { return bot.Limits{Edits: true} }

func (m *messenger) Run(ctx context.Context, _ func(context.Context, []bot.Message) error) error {
	<-ctx.Done()
	return nil
}

// from has before called from now on, while others send.
func (m *messenger) from(before func(edit bool, d bot.Draft) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = before
}

func (m *messenger) do(edit bool, d bot.Draft, change func()) error {
	m.mu.Lock()
	before := m.before
	m.mu.Unlock()
	if before != nil {
		if err := before(edit, d); err != nil {
			return err
		}
	}
	m.mu.Lock()
	change()
	m.mu.Unlock()
	if m.after != nil {
		return m.after(d)
	}
	return nil
}

func (m *messenger) Post(_ context.Context, _ bot.Chat, d bot.Draft) (id string, err error) {
	err = m.do(false, d, func() {
		m.chat = append(m.chat, d)
		id = fmt.Sprint(len(m.chat))
	})
	return id, err
}

func (m *messenger) Edit(_ context.Context, _ bot.Chat, id string, d bot.Draft) error {
	n := 0
	_, err := fmt.Sscan(id, &n)
	if err != nil {
		return err
	}
	return m.do(true, d, func() { m.chat[n-1] = d })
}

// Find implements bot.Finder.
func (m *messenger) Find(_ context.Context, _ bot.Chat, mark string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.finds++
	for i, d := range m.chat {
		if d.Mark == mark {
			return fmt.Sprint(i + 1), nil
		}
	}
	return "", nil
}

// picture is the chat as people see it, one line per message.
func (m *messenger) picture() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := ""
	for _, d := range m.chat {
		s += fmt.Sprintf("%s: %s\n", d.Kind, d.Text)
	}
	return s
}

// converse runs talk in simulated time over a messenger, until no task is left.
func converse(t *testing.T, talk func(t *testing.T, env *enginetest.Env, m *messenger)) {
	synctest.Test(t, func(t *testing.T) {
		env, m := enginetest.NewEnv(t, memory.New(nil)), &messenger{}
		env.Chats = tasks.Chats{m.Name(): m}
		env.Use(env.Store)
		env.Start(build)
		defer func() { env.Stop() }()
		synctest.Wait() // a task that opens while the engine starts is one more event further
		talk(t, env, m)
		ctx, cancel := context.WithTimeout(t.Context(), 72*time.Hour)
		defer cancel()
		if err := tasks.Idle(ctx, env.Store, enginetest.Chat.Key()); err != nil {
			t.Fatalf("a task never ends: %v\n%s", err, m.picture())
		}
		synctest.Wait()
	})
}

// pass lets simulated time go by.
func pass(d time.Duration) { <-time.After(d) }

// slowly is a model that takes a second for each call.
func slowly(answer func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error)) func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) {
	return func(ctx context.Context, r llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
		select {
		case <-ctx.Done():
			return llm.Reply{}, ctx.Err()
		case <-time.After(time.Second):
		}
		return answer(ctx, r, stream)
	}
}

const twoLooks = `{"plan":[{"id":"a","name":"look","description":"one"},{"id":"b","name":"look","description":"two"}]}`

// TestAnswerTakesThePlaceOfTheBoard: however slow the chat, one message is left
// of a plain question.
func TestAnswerTakesThePlaceOfTheBoard(t *testing.T) {
	for _, slow := range []time.Duration{0, 300 * time.Millisecond, 5 * time.Second} {
		t.Run(slow.String(), func(t *testing.T) {
			converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
				env.Model.Answer = slowly(enginetest.Plain("hello"))
				m.before = func(bool, bot.Draft) error { pass(slow); return nil }
				env.Ask(t, enginetest.Message("1", "hi", time.Now()))
				if err := tasks.Idle(t.Context(), env.Store, enginetest.Chat.Key()); err != nil {
					t.Fatal(err)
				}
				if got, want := m.picture(), "answer: hello\n"; got != want {
					t.Errorf("the chat is\n%s\nwant\n%s", got, want)
				}
				if m.finds > 0 {
					t.Errorf("looked for messages %d times, want 0: nothing crashed", m.finds)
				}
			})
		})
	}
}

// TestBoardEndsDone: the board of a planned task does not stay at "Writing the
// answer".
func TestBoardEndsDone(t *testing.T) {
	converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
		plan := enginetest.Planned(twoLooks)
		env.Model.Answer = slowly(func(ctx context.Context, r llm.Request, s func(llm.Delta)) (llm.Reply, error) {
			if r.Role == llm.RoleReview {
				return llm.Reply{Text: "both"}, nil
			}
			return plan(ctx, r, s)
		})
		env.Ask(t, enginetest.Message("1", "find both", time.Now()))
		if err := tasks.Idle(t.Context(), env.Store, enginetest.Chat.Key()); err != nil {
			t.Fatal(err)
		}
		if got, want := m.picture(), "board: Done: 2 sub-tasks in 4.0 s\nanswer: both\n"; got != want {
			t.Errorf("the chat is\n%s\nwant\n%s", got, want)
		}
	})
}

// TestBoardFoldsAfterTrouble: a chat that takes no changes for a while gets the
// answer, and no board is left as it was.
func TestBoardFoldsAfterTrouble(t *testing.T) {
	converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
		env.Model.Answer = slowly(enginetest.Planned(twoLooks))
		refused := 0
		m.before = func(edit bool, d bot.Draft) error {
			if edit && d.Kind == bot.KindBoard && !d.Partial && refused < 7 {
				refused++
				return errors.New("bad gateway")
			}
			return nil
		}
		env.Ask(t, enginetest.Message("1", "find both", time.Now()))
		if err := tasks.Idle(t.Context(), env.Store, enginetest.Chat.Key()); err != nil {
			t.Fatal(err)
		}
		if got := m.picture(); !strings.HasPrefix(got, "board: Done: 2 sub-tasks") || strings.Count(got, "answer: ") != 1 || refused != 7 {
			t.Errorf("after %d refused changes the chat is\n%s\nwant a folded board and one answer after 7", refused, got)
		}
	})
}

// TestFoundWordsAreFinished: a message that holds the first words of an answer,
// and whose id got lost, becomes the whole answer.
func TestFoundWordsAreFinished(t *testing.T) {
	converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
		plan := enginetest.Planned(twoLooks)
		env.Model.Answer = slowly(func(ctx context.Context, r llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
			if r.Role != llm.RoleReview {
				return plan(ctx, r, stream)
			}
			stream(llm.Delta{Text: pieces[0]})
			pass(200 * time.Millisecond)
			return llm.Reply{Text: strings.Join(pieces, "")}, nil
		})
		lost := false
		m.after = func(d bot.Draft) error {
			if d.Kind == bot.KindAnswer && d.Partial {
				lost = true
				return errors.New("timeout")
			}
			return nil
		}
		env.Ask(t, enginetest.Message("1", "find both", time.Now()))
		if err := tasks.Idle(t.Context(), env.Store, enginetest.Chat.Key()); err != nil {
			t.Fatal(err)
		}
		if got, want := m.picture(), "board: Done: 2 sub-tasks in 4.2 s\nanswer: "+strings.Join(pieces, "")+"\n"; got != want || !lost {
			t.Errorf("the chat is\n%s\nwant\n%sand its first words lost, which is %v", got, want, lost)
		}
	})
}

// TestChatInTrouble: an answer reaches a chat that refuses changes or is down
// for hours, once; a chat that is gone ends the task.
func TestChatInTrouble(t *testing.T) {
	for _, test := range []struct {
		name   string
		before func(start time.Time) func(bool, bot.Draft) error
		after  func(start time.Time) func(bot.Draft) error
		want   string
	}{
		{"the board was deleted", func(time.Time) func(bool, bot.Draft) error {
			return func(edit bool, _ bot.Draft) error {
				if edit {
					return errors.New("message to edit not found")
				}
				return nil
			}
		}, nil, "board: Planning\nanswer: hello\n"},
		{"down for three hours", func(start time.Time) func(bool, bot.Draft) error {
			return func(bool, bot.Draft) error {
				if time.Since(start) < 3*time.Hour {
					return errors.New("bad gateway")
				}
				return nil
			}
		}, nil, "answer: hello\n"},
		{"sent, though it says otherwise", nil, func(start time.Time) func(bot.Draft) error {
			return func(bot.Draft) error {
				if time.Since(start) < 20*time.Second {
					return errors.New("timeout")
				}
				return nil
			}
		}, "answer: hello\n"},
		{"the bot was blocked", func(time.Time) func(bool, bot.Draft) error {
			return func(bool, bot.Draft) error { return fmt.Errorf("forbidden: %w", bot.ErrGone) }
		}, nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
				env.Model.Answer = slowly(enginetest.Plain("hello"))
				if test.before != nil {
					m.before = test.before(time.Now())
				}
				if test.after != nil {
					m.after = test.after(time.Now())
				}
				env.Ask(t, enginetest.Message("1", "hi", time.Now()))
				if err := tasks.Idle(t.Context(), env.Store, enginetest.Chat.Key()); err != nil {
					t.Fatal(err)
				}
				if got := m.picture(); got != test.want {
					t.Errorf("the chat is\n%s\nwant\n%s", got, test.want)
				}
			})
		})
	}
}

// TestCrashBeforeTheIdIsStored: a board, question or answer that was sent just
// before a crash is found again and not sent twice.
func TestCrashBeforeTheIdIsStored(t *testing.T) {
	for _, kind := range []bot.DraftKind{bot.KindBoard, bot.KindQuestion, bot.KindAnswer} {
		t.Run(string(kind), func(t *testing.T) {
			converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
				env.Model.Answer = slowly(func(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
					last := r.Messages[len(r.Messages)-1]
					switch {
					case r.Role == llm.RolePlan:
						return llm.Reply{Text: twoLooks}, nil
					case r.Role == llm.RoleWork && last.Role != llm.ToolRole && enginetest.Between(last.Content, "task") == "one":
						pass(100 * time.Millisecond) // the other sub-task is over and stored before anything is asked
						return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "c", Name: planner.ToolAskPerson, Arguments: `{"question":"Which?"}`}}}, nil
					}
					return llm.Reply{Text: "text"}, nil
				})
				store := env.Store.(*memory.Store)
				crashed := make(chan struct{})
				var once sync.Once
				m.after = func(d bot.Draft) error {
					if d.Kind == kind {
						once.Do(func() { store = store.Reopen(); close(crashed) })
					}
					return nil
				}
				env.Ask(t, enginetest.Message("1", "go", time.Now()))
				answer := func() { env.Ask(t, enginetest.Message("2", "blue", time.Now())) }
				if kind == bot.KindAnswer {
					pass(10 * time.Second)
					answer()
				}
				<-crashed
				env.Stop()
				env.Use(store)
				env.Start(build)
				if kind != bot.KindAnswer {
					pass(10 * time.Second)
					answer()
				}
				if err := tasks.Idle(t.Context(), env.Store, enginetest.Chat.Key()); err != nil {
					t.Fatal(err)
				}
				if got, want := m.picture(), "board: Done: 2 sub-tasks in 4.1 s\nnotice: Which?\n\nAnswered: blue\nanswer: text\n"; got != want {
					t.Errorf("the chat is\n%s\nwant\n%s", got, want)
				}
			})
		})
	}
}

// TestRefusedBoardRepeatsNoAnswer: a chat without edits that refuses the last board of
// a task has its answer once.
func TestRefusedBoardRepeatsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := enginetest.NewEnv(t, memory.New(nil))
		env.Model.Answer = enginetest.Planned(twoLooks)
		env.Platform.Refuse = func(d bot.Draft) error {
			if d.Kind == bot.KindBoard {
				return errors.New("the chat is busy")
			}
			return nil
		}
		env.Use(env.Store)
		env.Start(build)
		defer env.Stop()
		env.Ask(t, enginetest.Message("1", "look", time.Now()))
		if err := tasks.Idle(t.Context(), env.Store, ""); err != nil {
			t.Fatal(err)
		}
		if got := env.Platform.Posts(bot.KindAnswer); len(got) != 1 {
			t.Errorf("%d answers, want 1", len(got))
		}
	})
}

// TestNoticesOfTheEngine: a notice that a chat does not take is tried six times.
func TestNoticesOfTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env, m := enginetest.NewEnv(t, memory.New(nil)), &messenger{}
		var log strings.Builder
		ps := presenter.New(presenter.Config{
			Store: env.Store, Texts: env.Texts, Chats: tasks.Chats{m.Name(): m}, Now: time.Now, Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		p, err := ps.Open("T1", &planner.Opening{Chat: enginetest.Chat})
		if err != nil {
			t.Fatal(err)
		}
		for _, failures := range []int{5, 6} {
			left := failures
			m.before = func(bool, bot.Draft) error {
				if left--; left >= 0 {
					return errors.New("bad gateway")
				}
				return nil
			}
			p.Notice(t.Context(), "en", "problem.damaged")
			gaveUp := strings.Contains(log.String(), "notice not shown") && strings.Contains(log.String(), "task=T1")
			if len(m.chat) != 1 || gaveUp != (failures == 6) {
				t.Errorf("after %d failures the chat is\n%s\nand the log is\n%s", failures, m.picture(), log.String())
			}
		}
	})
}

// tidy is a messenger where the bot can delete its messages.
type tidy struct {
	*messenger
	refuses error // of deletions
}

func (d *tidy) Removes(bot.Chat) bool { return true }

func (d *tidy) Remove(_ context.Context, _ bot.Chat, id string) error {
	n := 0
	if _, err := fmt.Sscan(id, &n); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refuses == nil {
		d.chat[n-1] = bot.Draft{Kind: "deleted"}
	}
	return d.refuses
}

// TestNoBoardIsLeft: no message says for ever that a task works. A board that cannot be
// deleted is changed, one that cannot be changed is deleted, and so is one that another
// message replaces.
func TestNoBoardIsLeft(t *testing.T) {
	refused := errors.New("refused for ever")
	for _, test := range []struct {
		name    string
		planned bool
		deletes error
		edit    func(m *messenger, d bot.Draft) error // of a board
		want    string
	}{
		{"not deleted", false, refused, nil, "board: Done\nanswer: text\n"},
		{"not changed", true, nil, func(*messenger, bot.Draft) error { return refused }, "deleted: \nanswer: text\n"},
		{"neither", true, refused, func(*messenger, bot.Draft) error { return refused }, "board: Planning\nanswer: text\n"},
		{"replaced", true, nil, func(m *messenger, d bot.Draft) error {
			m.mu.Lock()
			defer m.mu.Unlock()
			if len(m.chat) > 1 {
				return nil
			}
			m.chat = append(m.chat, d)
			return &bot.MovedError{ID: fmt.Sprint(len(m.chat))}
		}, "deleted: \nboard: Done: 2 sub-tasks in 3.0 s\nanswer: text\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
				env.Chats[m.Name()] = &tidy{m, test.deletes}
				env.Model.Answer = slowly(enginetest.Plain("text"))
				if test.planned {
					env.Model.Answer = slowly(func(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
						if r.Role == llm.RolePlan {
							return llm.Reply{Text: twoLooks}, nil
						}
						return llm.Reply{Text: "text"}, nil
					})
				}
				m.before = func(edit bool, d bot.Draft) error {
					if edit && d.Kind == bot.KindBoard && test.edit != nil {
						return test.edit(m, d)
					}
					return nil
				}
				env.Ask(t, enginetest.Message("1", "hi", time.Now()))
				if err := tasks.Idle(t.Context(), env.Store, enginetest.Chat.Key()); err != nil {
					t.Fatal(err)
				}
				if got := m.picture(); got != test.want {
					t.Errorf("the chat is\n%s\nwant\n%s", got, test.want)
				}
			})
		})
	}
}
