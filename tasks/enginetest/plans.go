package enginetest

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"legwork/llm"
	"legwork/planner"
	"legwork/tools"
)

const twoLooks = `{"plan":[{"id":"a","name":"look","description":"one"},{"id":"b","name":"look","description":"two"}]}`

func testParallel(t *testing.T, env *Env) {
	env.Model.Answer = Planned(twoLooks)
	both := make(chan struct{})
	var n atomic.Int32
	env.Tools.Make = func(ctx context.Context, _, a string) (tools.Result, error) {
		if n.Add(1) == 2 {
			close(both)
		}
		select {
		case <-both: // only when both run at once
			return tools.Result{Text: "found " + a}, nil
		case <-ctx.Done():
			return tools.Result{}, ctx.Err()
		}
	}
	ask(t, env, "1", "find both")
	got := env.Answers(t, 1)[0].Text
	for _, want := range []string{`id="1/a"`, `id="1/b"`, `"q":"one"`, `"q":"two"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the review saw %q, want it to hold %s", got, want)
		}
	}
}

func testLone(t *testing.T, env *Env) {
	env.Model.Answer = Planned(`{"plan":[{"name":"look","description":"one"}]}`)
	ask(t, env, "1", "find it")
	if got := env.Answers(t, 1)[0].Text; !strings.HasPrefix(got, "work saw:") {
		t.Errorf("answer = %q, want the sub-task's own words", got)
	}
	if n := len(env.Model.Requests(llm.RoleReview)); n != 0 {
		t.Errorf("%d reviews, want none", n)
	}
}

func testDependencies(t *testing.T, env *Env) {
	env.Model.Answer = Planned(`{"plan":[{"id":"a","name":"look","description":"one"},{"id":"b","name":"llm_tool","description":"sum up"}]}`)
	ask(t, env, "1", "find and sum up")
	env.Answers(t, 1)
	for _, r := range env.Model.Requests(llm.RoleWork) {
		text := r.Messages[len(r.Messages)-1].Content
		if strings.Contains(text, "sum up") && !strings.Contains(text, `<result id="1/a" group="look" state="done">`) {
			t.Errorf("llm_tool saw %q, want the result of 1/a", text)
		}
	}
}

func testRefused(t *testing.T, env *Env) {
	env.Model.Answer = Planned(`{"plan":[{"name":"locked","description":"one"}]}`)
	ask(t, env, "1", "open it")
	if got := env.Answers(t, 1)[0].Text; !strings.Contains(got, "locked.away needs an approval") {
		t.Errorf("answer = %q, want the refusal in what the model saw", got)
	}
	if system := env.Model.Requests(llm.RolePlan)[0].Messages[0].Content; strings.Contains(system, "secret") {
		t.Errorf("a group of others is offered: %q", system)
	}
	if calls := env.Tools.Calls(); len(calls) != 0 {
		t.Errorf("calls = %q, want none", calls)
	}
}

func testUnreadable(t *testing.T, env *Env) {
	env.Model.Answer = func(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
		if r.Role == llm.RoleAnswer {
			return llm.Reply{Text: "I could not plan this."}, nil
		}
		return llm.Reply{Text: `{"plan":[{"name":"nowhere","description":"x"}]}`}, nil
	}
	ask(t, env, "1", "go")
	if got := env.Answers(t, 1)[0].Text; got != "I could not plan this." {
		t.Errorf("answer = %q", got)
	}
	plans := env.Model.Requests(llm.RolePlan)
	if len(plans) != 3 {
		t.Fatalf("%d planning calls, want 3", len(plans))
	}
	if last := plans[2].Messages[len(plans[2].Messages)-1]; !strings.Contains(last.Content, "nowhere") {
		t.Errorf("the reason given back is %q, want it to name the group", last.Content)
	}
}

func testSamePlan(t *testing.T, env *Env) {
	planned := Planned(twoLooks)
	env.Model.Answer = func(ctx context.Context, r llm.Request, s func(llm.Delta)) (llm.Reply, error) {
		if r.Role == llm.RoleReview {
			r.Role = llm.RolePlan
		}
		return planned(ctx, r, s)
	}
	ask(t, env, "1", "go")
	if got := env.Answers(t, 1)[0].Text; !strings.HasPrefix(got, "answer saw") {
		t.Errorf("answer = %q, want a closing answer", got)
	}
	if calls := env.Tools.Calls(); len(calls) != 2 {
		t.Errorf("calls = %q, want each look once", calls)
	}
}

func testDelegate(t *testing.T, env *Env) {
	env.Model.Answer = func(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
		last := r.Messages[len(r.Messages)-1]
		switch {
		case r.Role == llm.RolePlan:
			return llm.Reply{Text: `{"plan":[{"name":"look","description":"one"},{"name":"look","description":"two"}]}`}, nil
		case r.Role == llm.RoleReview:
			return llm.Reply{Text: last.Content}, nil
		case Between(last.Content, "task") == "one":
			return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "c", Name: planner.ToolDelegate, Arguments: `{"name":"llm_tool","description":"think"}`}}}, nil
		case Between(last.Content, "task") == "think":
			return llm.Reply{Text: "thought"}, nil
		}
		return llm.Reply{Text: "got " + last.Content}, nil
	}
	ask(t, env, "1", "go")
	if got := env.Answers(t, 1)[0].Text; !strings.Contains(got, "thought") || strings.Contains(got, `<result id="1/d1" group="llm_tool" state="done">\nthought\n</result>\n\n`) {
		t.Errorf("the review saw %q, want the delegated result", got)
	}
}
