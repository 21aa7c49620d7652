package enginetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"legwork/internal/form"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tools"
)

// colour is a question of a server.
func colour() form.Question {
	return form.Question{Message: "Which?", Fields: []form.Field{{Name: "colour"}, {Name: "size"}}}
}

// fill answers the two fields of colour.
func fill(t *testing.T, env *Env, before ...planner.ActionID) {
	t.Helper()
	_, first := asking(t, env, before...)
	decide(t, env, first, planner.Decision{Approve: true, Value: json.RawMessage(`"red"`)})
	_, second := asking(t, env, append(before, first.ID)...)
	decide(t, env, second, planner.Decision{Approve: true, Value: json.RawMessage(`3`)})
}

func testAskedInMidcall(t *testing.T, env *Env) {
	env.Tools.Serve = func(ctx context.Context, c tools.Call) (tools.Result, error) {
		answer, err := c.Ask(ctx, colour())
		return tools.Result{Text: fmt.Sprintf("%s %s %s", answer.Action, answer.Values["colour"], answer.Values["size"])}, err
	}
	env.Model.Answer = calling([]string{`{}`})
	ask(t, env, "1", "book it")
	fill(t, env)
	if got := env.Answers(t, 1)[0].Text; !strings.Contains(got, `accept "red" 3`) {
		t.Errorf("answer = %q, want what the server was told", got)
	}
	if calls := env.Tools.Calls(); len(calls) != 1 {
		t.Errorf("calls = %q, want one that waited", calls)
	}
}

func testAskedForLater(t *testing.T, env *Env) {
	env.Tools.Serve = func(_ context.Context, c tools.Call) (tools.Result, error) {
		if c.Resume == nil {
			q := colour()
			return tools.Result{Question: &q, State: json.RawMessage(`{"requestState":"s1"}`)}, nil
		}
		return tools.Result{Text: fmt.Sprintf("%s %s %s", c.Resume.State, c.Resume.Answer.Action, c.Resume.Answer.Values["size"])}, nil
	}
	env.Model.Answer = calling([]string{`{}`})
	ask(t, env, "1", "book it")
	fill(t, env)
	if got := env.Answers(t, 1)[0].Text; !strings.Contains(got, `{"requestState":"s1"} accept 3`) {
		t.Errorf("answer = %q, want state and answer back at the server", got)
	}
}

func testAsksOn(t *testing.T, env *Env) {
	env.Tools.Serve = func(context.Context, tools.Call) (tools.Result, error) {
		return tools.Result{Question: &form.Question{Message: "again?"}}, nil
	}
	env.Model.Answer = calling([]string{`{}`})
	ask(t, env, "1", "book it")
	var before []planner.ActionID
	for range 10 {
		_, a := asking(t, env, before...)
		before = append(before, a.ID)
		decide(t, env, a, planner.Decision{Approve: true})
	}
	if got := env.Answers(t, 1)[0].Text; !strings.Contains(got, "keeps asking") {
		t.Errorf("answer = %q, want that the call was given up", got)
	}
}

// testAskedAcrossRestart kills the engine while servers wait for answers: a
// call that does no harm is made again and gets them; a call that must not run
// twice is reported as unknown.
func testAskedAcrossRestart(t *testing.T, store Reopener, build func(Setup) tasks.Engine) {
	env := NewEnv(t, store)
	env.Tools.Judge = func(_, tool string) tools.Verdict { return tools.Verdict{Repeatable: true} }
	env.Tools.Serve = func(ctx context.Context, c tools.Call) (tools.Result, error) {
		answer, err := c.Ask(ctx, colour())
		return tools.Result{Text: fmt.Sprintf("told %s", answer.Values["colour"])}, err
	}
	env.Model.Answer = calling([]string{`{}`})
	env.Start(build)
	ask(t, env, "1", "book it")
	_, first := asking(t, env)
	decide(t, env, first, planner.Decision{Approve: true, Value: json.RawMessage(`"red"`)})
	_, second := asking(t, env, first.ID)
	again := store.Again()
	env.Stop()
	env.Use(again)
	env.Start(build)
	defer env.Stop()
	decide(t, env, second, planner.Decision{Approve: true, Value: json.RawMessage(`3`)})
	if got := env.Answers(t, 1)[0].Text; !strings.Contains(got, `told "red"`) {
		t.Errorf("answer = %q, want what was answered before the restart", got)
	}
	if calls := env.Tools.Calls(); len(calls) != 2 {
		t.Errorf("calls = %q, want the second one after the restart", calls)
	}
}

// testAskedMakesRoom lets one task work at a time, and the first wait.
func testAskedMakesRoom(t *testing.T, store Reopener, build func(Setup) tasks.Engine) {
	env := NewEnv(t, store)
	env.Concurrent = 1
	env.Tools.Serve = func(ctx context.Context, c tools.Call) (tools.Result, error) {
		answer, err := c.Ask(ctx, form.Question{Message: "Shall I?"})
		return tools.Result{Text: answer.Action}, err
	}
	booking := calling([]string{`{}`})
	env.Model.Answer = func(ctx context.Context, r llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
		if strings.Contains(r.Messages[len(r.Messages)-1].Content, "just talk") {
			return llm.Reply{Text: "talked"}, nil
		}
		return booking(ctx, r, stream)
	}
	env.Start(build)
	defer env.Stop()
	ask(t, env, "1", "book it")
	_, a := asking(t, env)
	id := onlyTask(t, env)
	other := Message("2", "just talk", env.Now())
	other.Chat.ID, other.Standalone = "another", true
	env.Ask(t, other)
	if got := env.Answers(t, 1)[0].Text; got != "talked" {
		t.Errorf("first answer = %q, want that of the task that could work meanwhile", got)
	}
	if err := env.Store.Append(t.Context(), id, -1, 0, planner.Event{Type: planner.Decided, Action: a.ID, Decision: &planner.Decision{Approve: true}}); err != nil {
		t.Fatal(err)
	}
	if got := env.Answers(t, 2)[1].Text; !strings.Contains(got, form.Accept) {
		t.Errorf("second answer = %q, want what the server was told", got)
	}
}

func testManyTools(t *testing.T, env *Env) {
	for i := range 40 {
		name := fmt.Sprintf("tool%d", i)
		env.Tools.Many = append(env.Tools.Many, tools.Tool{Name: "look." + name, Exposed: "look__" + name, Description: "Number.", Schema: json.RawMessage(`{"type":"object"}`)})
	}
	env.Model.Answer = func(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
		has := func(name string) bool {
			return slices.ContainsFunc(r.Tools, func(t llm.Tool) bool { return t.Name == name })
		}
		last := r.Messages[len(r.Messages)-1]
		switch {
		case r.Role == llm.RolePlan:
			return llm.Reply{Text: `{"plan":[{"name":"look","description":"do it"}]}`}, nil
		case last.Role != llm.ToolRole:
			if has("look__tool7") || !has("find_tools") || len(r.Tools) > 6 {
				return llm.Reply{}, fmt.Errorf("%d tools were offered", len(r.Tools))
			}
			return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "e", Name: "tool7", Arguments: `{}`}}}, nil
		case strings.HasPrefix(last.Content, "there is no tool"):
			if strings.Contains(last.Content, "look__") {
				return llm.Reply{}, fmt.Errorf("all tools were listed: %s", last.Content)
			}
			return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "f", Name: "find_tools", Arguments: `{"query":"tool7"}`}}}, nil
		case strings.Contains(last.Content, "look__tool7"):
			if !has("look__tool7") || has("look__tool8") {
				return llm.Reply{}, fmt.Errorf("%d tools were offered, or the wrong ones", len(r.Tools))
			}
			return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "g", Name: "look__tool7", Arguments: `{}`}}}, nil
		}
		return llm.Reply{Text: "last: " + last.Content}, nil
	}
	ask(t, env, "1", "use tool 7")
	if got := env.Answers(t, 1)[0].Text; !strings.Contains(got, "result of {}") {
		t.Errorf("answer = %q, want the result of the found tool", got)
	}
	if calls := env.Tools.Calls(); len(calls) != 1 || calls[0] != "look.tool7{}" {
		t.Errorf("calls = %q, want that of tool7", calls)
	}
}

func testServerPrompt(t *testing.T, env *Env) {
	env.Tools.Written = func(name string, arguments map[string]string) (string, error) {
		return "Say " + name + " in " + arguments["style"], nil
	}
	env.Model.Answer = func(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
		return llm.Reply{Text: Between(r.Messages[len(r.Messages)-1].Content, "goal")}, nil
	}
	id := tasks.NewID(env.Now())
	opening := &planner.Opening{
		Goal: "/prompt s/hello style=verse", Chat: Chat, From: Person, Language: "en", Timezone: "UTC", Limits: env.Limits,
		Prompt: &planner.PromptRef{Group: "look", Name: "s/hello", Arguments: map[string]string{"style": "verse"}},
	}
	_, err := env.Store.Open(t.Context(), []tasks.Inbound{{Key: "1", Chat: Chat, ID: id, Open: &planner.Event{Type: planner.Opened, At: env.Now(), Opening: opening}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := env.Engine.Wake(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if got := env.Answers(t, 1)[0].Text; got != "Say s/hello in verse" {
		t.Errorf("answer = %q, want the prompt that the server wrote out", got)
	}
}
