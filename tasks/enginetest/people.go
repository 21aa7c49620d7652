package enginetest

import (
	"context"
	"strings"
	"testing"
	"time"

	"legwork/bot"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks/inbox"
	"legwork/tools"
)

func testStop(t *testing.T, env *Env) {
	env.Model.Answer = Planned(twoLooks)
	running, cancelled := make(chan struct{}, 2), make(chan struct{}, 2)
	env.Tools.Make = func(ctx context.Context, _, _ string) (tools.Result, error) {
		running <- struct{}{}
		<-ctx.Done()
		cancelled <- struct{}{}
		return tools.Result{}, ctx.Err()
	}
	ask(t, env, "1", "find both")
	<-running
	<-running
	ask(t, env, "2", "/stop")
	<-cancelled
	<-cancelled
	if got := env.Answers(t, 1)[0]; got.Failed || got.Text != env.Texts.Text("en", "problem.stopped", nil) {
		t.Errorf("answer = %+v, want the sentence that it was stopped", got.Draft)
	}
}

// testStopUnknown stops while a call runs that must not be repeated.
func testStopUnknown(t *testing.T, env *Env) {
	env.Model.Answer = Planned(`{"plan":[{"name":"book","description":"one"}]}`)
	running := make(chan struct{}, 1)
	env.Tools.Make = func(ctx context.Context, _, _ string) (tools.Result, error) {
		running <- struct{}{}
		<-ctx.Done()
		return tools.Result{}, ctx.Err()
	}
	ask(t, env, "1", "book it")
	<-running
	ask(t, env, "2", "/stop")
	if got := env.Answers(t, 1)[0].Text; !strings.Contains(got, env.Texts.Text("en", "partial.unknown", map[string]any{"Tool": "book.it"})) {
		t.Errorf("answer = %q, want it to say that the outcome of book.it is unknown", got)
	}
}

func testSupersede(t *testing.T, env *Env) {
	began := make(chan struct{}, 1)
	env.Model.Answer = func(ctx context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
		text := r.Messages[len(r.Messages)-1].Content
		if !strings.Contains(text, "in metres") {
			began <- struct{}{}
			<-ctx.Done()
			return llm.Reply{}, ctx.Err()
		}
		return llm.Reply{Text: "10 m"}, nil
	}
	now := time.Now()
	env.Ask(t, Message("1", "how high?", now))
	<-began
	env.Ask(t, Message("2", "in metres", now.Add(500*time.Millisecond)))
	if got := env.Answers(t, 1); len(got) != 1 || got[0].Text != "10 m" {
		t.Errorf("answers = %+v, want one: 10 m", got)
	}
}

func testAskPerson(t *testing.T, env *Env) {
	env.Model.Answer = func(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
		last := r.Messages[len(r.Messages)-1]
		switch {
		case r.Role == llm.RolePlan:
			return llm.Reply{Text: `{"plan":[{"name":"look","description":"one"}]}`}, nil
		case last.Role != llm.ToolRole:
			return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "c", Name: planner.ToolAskPerson, Arguments: `{"question":"Which?","choices":["red","blue"]}`}}}, nil
		}
		return llm.Reply{Text: "chosen: " + Between(last.Content, "guidance")}, nil
	}
	ask(t, env, "1", "pick")
	ctx := t.Context()
	if err := env.Platform.Await(ctx, func() bool { return len(env.Platform.Posts(bot.KindQuestion)) > 0 }); err != nil {
		t.Fatal(err)
	}
	q := env.Platform.Posts(bot.KindQuestion)[0]
	if q.Text != "Which?" || len(q.Buttons) != 2 || len(q.Buttons[1].Data) > 64 {
		t.Fatalf("question = %+v", q.Draft)
	}
	press := Message("2", "", time.Now())
	press.Kind, press.Data = bot.MessagePress, q.Buttons[1].Data
	again := press
	again.Key = "3"
	env.Ask(t, press, again)
	if got := env.Answers(t, 1)[0].Text; got != "chosen: blue" {
		t.Errorf("answer = %q, want chosen: blue", got)
	}
}

func testRedelivered(t *testing.T, env *Env) {
	ask(t, env, "1", "hi")
	ask(t, env, "1", "hi")
	ask(t, env, "2", "bye")
	if got := env.Answers(t, 2); len(got) != 2 {
		t.Errorf("%d answers, want 2", len(got))
	}
	if n := len(env.Model.Requests("")); n != 2 {
		t.Errorf("%d model calls, want 2", n)
	}
}

func testCommands(t *testing.T, env *Env) {
	for i, c := range []struct{ text, want string }{
		{"/help", env.Texts.Text("en", "help.terminal", nil)},
		{"/status", env.Texts.Text("en", "statusline.none", nil)},
		{"/stop", env.Texts.Text("en", "error.nothing_running", nil)},
		{"/new", env.Texts.Text("en", "notice.new", nil)},
		{"/dance", env.Texts.Text("en", "error.unknown_command", map[string]any{"Command": "/dance"})},
		{"  ", env.Texts.Text("en", "error.empty_goal", nil)},
		{strings.Repeat("x", inbox.MaxGoal+1), env.Texts.Text("en", "error.goal_too_long", map[string]any{"Max": inbox.MaxGoal})},
		{"/lang klingon", env.Texts.Text("en", "error.no_language", map[string]any{"Allowed": "en, zh, ru"})},
		{"/lang ru", env.Texts.Text("ru", "notice.language", map[string]any{"Name": "Русский"})},
		{"/new", env.Texts.Text("ru", "notice.new", nil)},
	} {
		ask(t, env, "c"+string(rune('0'+i)), c.text)
		got := env.Platform.Posts(bot.KindNotice)
		if len(got) != i+1 || got[i].Text != c.want {
			t.Errorf("%.40q was answered %+v, want %q", c.text, got[len(got)-1].Text, c.want)
		}
	}
	ask(t, env, "q", "hi")
	env.Answers(t, 1)
	if system := env.Model.Requests("")[0].Messages[0].Content; strings.Contains(system, "sub-task") {
		t.Errorf("the prompt is in English after /lang ru: %.80q", system)
	}
}
