package api_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"legwork/llm"
	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/tasks/enginetest"
)

// TestInspector: the steps of a task, its prompts as they were sent, and its summary, for
// those whose role may have them.
func TestInspector(t *testing.T) {
	env := newEnv(t, func(k *enginetest.Env) {
		planned := enginetest.Planned(oneLook)
		k.Model.Answer = func(ctx context.Context, r llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
			if last := r.Messages[len(r.Messages)-1].Content; strings.Contains(last, "sum this task up") {
				return llm.Reply{Text: "1. It was looked up.\n\n* 2 of 3 agree.\n3\n4\n5\n6", Usage: llm.Usage{Input: 7}}, nil
			}
			return planned(ctx, r, stream)
		}
	})
	task := env.ends(env.starts(operator, api.NewTask{Goal: "Look up the offers"}).ID)
	inspector := &api.Inspector{Service: env.Service, Models: env.kit.Executor}
	list, err := inspector.Steps(env.ctx(), viewer, task.ID)
	if err != nil {
		t.Fatal(err)
	}
	kinds, calls := map[string]bool{}, 0
	var input int
	for _, s := range list.Items {
		kinds[string(s.Kind)] = true
		input += s.Usage.InputTokens
		if s.Kind != "plan" && s.Kind != "work" && s.Kind != "review" {
			continue
		}
		calls++
		prompt, err := inspector.Prompt(env.ctx(), viewer, task.ID, s.ID)
		if err != nil || !prompt.Exact || prompt.Note != "" || len(prompt.Messages) == 0 {
			t.Errorf("prompt of %s: exact %v, %q, %d messages, %v", s.ID, prompt.Exact, prompt.Note, len(prompt.Messages), err)
		}
	}
	if !kinds["plan"] || !kinds["work"] || !kinds["tool"] || !kinds["show"] || calls < 3 || input != task.Usage.InputTokens || list.Critical.All > 0 && list.Critical.Model == 0 && list.Critical.Tool == 0 {
		t.Errorf("steps are %+v, want those of a plan with a tool call, and %d tokens", list, task.Usage.InputTokens)
	}
	lines, err := inspector.Outline(env.ctx(), operator, task.ID)
	if want := "It was looked up.|2 of 3 agree.|3|4|5"; err != nil || strings.Join(lines, "|") != want {
		t.Errorf("summary: got %q, %v, want %q", lines, err, want)
	}
	for name, failed := range map[string]struct{ got, want error }{
		"summary for a viewer":   {second(inspector.Outline(env.ctx(), viewer, task.ID)), api.ErrForbidden},
		"prompt for an agent":    {second(inspector.Prompt(env.ctx(), agent, task.ID, "plan 1.0")), api.ErrForbidden},
		"steps for a stranger":   {second(inspector.Steps(env.ctx(), stranger, task.ID)), api.ErrNotFound},
		"prompt of no step":      {second(inspector.Prompt(env.ctx(), admin, task.ID, "plan 9.0")), api.ErrNotFound},
		"prompt without a model": {second((&api.Inspector{Service: env.Service}).Prompt(env.ctx(), admin, task.ID, "plan 1.0")), api.ErrNotFound},
	} {
		if !errors.Is(failed.got, failed.want) {
			t.Errorf("%s: got %v, want %v", name, failed.got, failed.want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestPromptThatChanged: a prompt that cannot be built as it was is not called exact.
func TestPromptThatChanged(t *testing.T) {
	env := newEnv(t, plans(oneLook))
	task := env.ends(env.starts(operator, api.NewTask{Goal: "Look up the offers"}).ID)
	env.kit.Executor.Use(tasks.PromptRules{Instructions: "Answer in verse."})
	prompt, err := (&api.Inspector{Service: env.Service, Models: env.kit.Executor}).Prompt(env.ctx(), admin, task.ID, "plan 1.0")
	if err != nil || prompt.Exact || !strings.Contains(prompt.Note, "instructions") {
		t.Errorf("got exact %v, %q, %v, want a note that the instructions may have changed", prompt.Exact, prompt.Note, err)
	}
}

// TestFilters: lists find tasks by who asked, by group and by words.
func TestFilters(t *testing.T) {
	env := newEnv(t, plans(oneLook))
	first := env.ends(env.starts(operator, api.NewTask{Goal: "Look up the Paris offers"}).ID)
	env.ends(env.starts(admin, api.NewTask{Goal: "Look up the Rome offers"}).ID)
	for _, c := range []struct {
		q    api.Query
		want int
	}{
		{api.Query{Person: operator.Key()}, 1},
		{api.Query{Person: "slack:U1"}, 0},
		{api.Query{Group: "look"}, 2},
		{api.Query{Group: "web"}, 0},
		{api.Query{Words: "OFFERS paris"}, 1},
		{api.Query{Words: "paris rome"}, 0},
		{api.Query{Words: "offers", Group: "look", Person: operator.Key()}, 1},
	} {
		list, next, err := env.List(env.ctx(), viewer, c.q)
		if err != nil || len(list) != c.want || next != "" {
			t.Errorf("%+v: got %d tasks, next %q, %v, want %d", c.q, len(list), next, err, c.want)
		}
	}
	list, next, err := env.List(env.ctx(), viewer, api.Query{Words: "offers", Limit: 1})
	if err != nil || len(list) != 1 || next == "" {
		t.Fatalf("the first page: got %+v, %q, %v", list, next, err)
	}
	if list, next, err = env.List(env.ctx(), viewer, api.Query{Words: "offers", Limit: 1, Before: next}); err != nil || len(list) != 1 || list[0].ID != first.ID || next != "" {
		t.Errorf("the second page: got %+v, %q, %v, want %s", list, next, err, first.ID)
	}
}
