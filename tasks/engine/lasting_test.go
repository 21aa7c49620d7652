package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"legwork/bot"
	"legwork/llm"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/enginetest"
	"legwork/tools"
)

// writesSlowly plans two looks and streams its review in three pieces, a
// second apart.
func writesSlowly(pieces ...string) func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) {
	plan := enginetest.Planned(twoLooks)
	return slowly(func(ctx context.Context, r llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
		if r.Role != llm.RoleReview {
			return plan(ctx, r, stream)
		}
		for _, piece := range pieces {
			stream(llm.Delta{Text: piece})
			pass(time.Second)
		}
		return llm.Reply{Text: strings.Join(pieces, "")}, nil
	})
}

var pieces = []string{"These are the first words, ", "then come some more, ", "and this is the end."}

// TestPlannedAnswerGrows: where nothing but messages can be shown, the answer of
// a planned task is one new message that grows, with what can be done about it
// at the end.
func TestPlannedAnswerGrows(t *testing.T) {
	converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
		env.Model.Answer = writesSlowly(pieces...)
		var grown []string
		m.after = func(d bot.Draft) error {
			if d.Kind == bot.KindAnswer {
				grown = append(grown, fmt.Sprintf("%v %s", d.Partial, d.Text))
			}
			return nil
		}
		env.Ask(t, enginetest.Message("1", "find both", time.Now()))
		if err := tasks.Idle(t.Context(), env.Store, enginetest.Chat.Key()); err != nil {
			t.Fatal(err)
		}
		whole := strings.Join(pieces, "")
		if got, want := m.picture(), "board: Done: 2 sub-tasks in 7.0 s\nanswer: "+whole+"\n"; got != want {
			t.Errorf("the chat is\n%s\nwant\n%s", got, want)
		}
		want := []string{"true " + pieces[0], "true " + pieces[0] + pieces[1], "true " + whole, "false " + whole}
		if !slices.Equal(grown, want) {
			t.Errorf("the answer grew as %q, want %q", grown, want)
		}
		last := m.chat[1]
		if len(last.Buttons) != 1 || !strings.HasPrefix(last.Buttons[0].Data, "d:") || last.Footer == "" {
			t.Errorf("the answer has buttons %v and footer %q, want Details and a footer", last.Buttons, last.Footer)
		}
	})
}

// TestFramesGiveWay: a frame whose turn has not come is left out, and the newest
// one is drawn when it has.
func TestFramesGiveWay(t *testing.T) {
	converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
		env.Model.Answer = writesSlowly(pieces...)
		var last time.Time
		m.before = func(edit bool, d bot.Draft) error {
			if !edit || !d.Partial {
				return nil
			}
			if wait := 2*time.Second - time.Since(last); wait > 0 {
				return fmt.Errorf("editing: %w", &bot.LaterError{After: wait})
			}
			last = time.Now()
			return nil
		}
		frames := 0
		m.after = func(d bot.Draft) error {
			if d.Partial {
				frames++
			}
			return nil
		}
		env.Ask(t, enginetest.Message("1", "find both", time.Now()))
		if err := tasks.Idle(t.Context(), env.Store, enginetest.Chat.Key()); err != nil {
			t.Fatal(err)
		}
		if got, want := m.picture(), "board: Done: 2 sub-tasks in 7.0 s\nanswer: "+strings.Join(pieces, "")+"\n"; got != want {
			t.Errorf("the chat is\n%s\nwant\n%s", got, want)
		}
		if frames < 3 || frames > 7 {
			t.Errorf("%d frames in 7 s, want 3 to 7 with 2 s between edits", frames)
		}
	})
}

// TestBoardGivesWay: a board whose turn never comes while the task works is not
// missed, and none comes after the answer.
func TestBoardGivesWay(t *testing.T) {
	converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
		env.Model.Answer = writesSlowly(pieces...)
		refused := 0
		m.before = func(edit bool, d bot.Draft) error {
			if d.Kind != bot.KindBoard {
				return nil
			}
			if edit || !d.Partial {
				t.Errorf("a board that was never posted is to show %q", d.Text)
			}
			refused++
			return &bot.LaterError{After: time.Second}
		}
		env.Ask(t, enginetest.Message("1", "find both", time.Now()))
		if err := tasks.Idle(t.Context(), env.Store, enginetest.Chat.Key()); err != nil {
			t.Fatal(err)
		}
		if got, want := m.picture(), "answer: "+strings.Join(pieces, "")+"\n"; got != want {
			t.Errorf("the chat is\n%s\nwant\n%s", got, want)
		}
		if refused < 3 || m.finds > 0 {
			t.Errorf("offered a board %d times and looked for it %d times, want one a second and no look", refused, m.finds)
		}
	})
}

// TestMovedMessage: when a platform shows the board in another message, that is
// the one that changes from then on, also after a restart.
func TestMovedMessage(t *testing.T) {
	converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
		env.Model.Answer = writesSlowly(pieces...)
		moved := false
		m.before = func(edit bool, d bot.Draft) error {
			if !edit || moved || d.Kind != bot.KindBoard {
				return nil
			}
			moved = true
			m.mu.Lock()
			defer m.mu.Unlock()
			m.chat[0] = bot.Draft{Kind: bot.KindNotice, Text: "gone"}
			m.chat = append(m.chat, d)
			return &bot.MovedError{ID: fmt.Sprint(len(m.chat))}
		}
		env.Ask(t, enginetest.Message("1", "find both", time.Now()))
		pass(1500 * time.Millisecond)
		env.Stop()
		env.Use(env.Store.(*memory.Store).Reopen())
		env.Start(build)
		if err := tasks.Idle(t.Context(), env.Store, enginetest.Chat.Key()); err != nil {
			t.Fatal(err)
		}
		if got := m.picture(); !moved || !strings.HasPrefix(got, "notice: gone\nboard: Done: 2 sub-tasks in ") || strings.Count(got, "board: ") != 1 {
			t.Errorf("moved: %v, the chat is\n%s\nwant one board, in the new place", moved, got)
		}
	})
}

// TestPlaceInTheQueue: the board of a waiting task says how many tasks are before it,
// and that changes as they end.
func TestPlaceInTheQueue(t *testing.T) {
	converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
		env.Model.Answer = slowly(enginetest.Plain("text"))
		var said []string
		m.after = func(d bot.Draft) error {
			if d.Kind == bot.KindBoard && strings.HasSuffix(d.Board.Title, "three") {
				said = append(said, d.Text)
			}
			return nil
		}
		for _, goal := range []string{"one", "two", "three"} {
			env.Ask(t, enginetest.Message(goal, "/task "+goal, time.Now()))
		}
		if err := tasks.Idle(t.Context(), env.Store, enginetest.Chat.Key()); err != nil {
			t.Fatal(err)
		}
		want := []string{"Waiting for 2 tasks before it", "Waiting for 1 task before it", "Planning"}
		if !slices.Equal(said, want) {
			t.Errorf("the board of the third task said %q, want %q", said, want)
		}
	})
}

// drafting is a messenger that can show text which is no message yet.
type drafting struct {
	*messenger
	frames []bot.Draft
}

func (d *drafting) Streams(bot.Chat) bool { return true }

func (d *drafting) Stream(_ context.Context, _ bot.Chat, draft bot.Draft) error {
	d.frames = append(d.frames, draft)
	return nil
}

// TestStreamNeedsNoBoard: where text can be shown before it is a message, a
// plain question leaves nothing but its answer.
func TestStreamNeedsNoBoard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env, m := enginetest.NewEnv(t, memory.New(nil)), &drafting{messenger: &messenger{}}
		env.Chats = tasks.Chats{m.Name(): m}
		env.Use(env.Store)
		env.Start(build)
		defer func() { env.Stop() }()
		env.Model.Answer = slowly(enginetest.Plain("hello, this is the answer to it"))
		env.Ask(t, enginetest.Message("1", "hi", time.Now()))
		if err := tasks.Idle(t.Context(), env.Store, enginetest.Chat.Key()); err != nil {
			t.Fatal(err)
		}
		if got, want := m.picture(), "answer: hello, this is the answer to it\n"; got != want {
			t.Errorf("the chat is\n%s\nwant\n%s", got, want)
		}
		if len(m.frames) == 0 || m.frames[0].Board == nil || m.frames[0].Text != "" {
			t.Errorf("the first frame is %+v, want one that says that work has begun", m.frames)
		}
	})
}

// TestPlanIsShownFirst: nothing runs before the person agreed to the plan.
func TestPlanIsShownFirst(t *testing.T) {
	converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
		env.Model.Answer = slowly(enginetest.Planned(twoLooks))
		var calls atomic.Int64
		env.Tools.Make = func(context.Context, string, string) (tools.Result, error) {
			calls.Add(1)
			return tools.Result{Text: "seen"}, nil
		}
		proposes(t, env, "find both")
		pass(time.Minute)
		if got := m.picture(); calls.Load() > 0 || !strings.Contains(got, "question: This is the plan.") || !strings.Contains(got, "2. **look**: two") {
			t.Fatalf("%d calls, the chat is\n%s\nwant no call and the plan as a question", calls.Load(), got)
		}
		chat := m.drafts()
		question := chat[len(chat)-1]
		press := enginetest.Message("2", "", time.Now())
		press.Kind, press.Data = bot.MessagePress, question.Buttons[0].Data
		env.Ask(t, press)
		if err := tasks.Idle(t.Context(), env.Store, enginetest.Chat.Key()); err != nil {
			t.Fatal(err)
		}
		if got := m.picture(); calls.Load() != 2 || !strings.Contains(got, "Agreed.") || strings.Contains(got, "question: ") {
			t.Errorf("%d calls, the chat is\n%s\nwant two calls and the question closed", calls.Load(), got)
		}
	})
}
