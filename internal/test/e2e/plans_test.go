package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"legwork/internal/test/fakes/llmfake"
)

// badPlans are plans that must not run, and the reason that the model is given.
var badPlans = map[string]struct{ plan, reason string }{
	"unknown group":     {`{"plan": [{"name": "astrology", "description": "look"}]}`, `"astrology"`},
	"cycle":             {`{"plan": [{"id": "a", "name": "desk", "description": "x", "after": ["b"]}, {"id": "b", "name": "desk", "description": "y", "after": ["a"]}]}`, "wait for each other"},
	"10,000 sub-tasks":  {`{"plan": [` + strings.Repeat(`{"name": "desk", "description": "x"},`, 9999) + `{"name": "desk", "description": "x"}]}`, "12"},
	"dangling after":    {`{"plan": [{"name": "desk", "description": "x", "after": ["missing"]}]}`, `"missing"`},
	"no description":    {`{"plan": [{"name": "desk"}]}`, "description"},
	"repeated id":       {`{"plan": [{"id": "a", "name": "desk", "description": "x"}, {"id": "a", "name": "desk", "description": "y"}]}`, `"a"`},
	"not a plan at all": {`{"plan": "later"}`, "plan"},
}

// writes is a reply with a plan that is streamed in a few large pieces.
func writes(plan string) llmfake.Response {
	response := llmfake.Call("plan", plan)
	response.Token = 1 << 16
	return response
}

// TestBadPlanIsCorrected: the model is told what is wrong, and corrects it;
// nothing of the bad plan runs.
func TestBadPlanIsCorrected(t *testing.T) {
	t.Parallel()
	for name, c := range badPlans {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t, options{think: steps{plan: func(r llmfake.Request) llmfake.Response {
				if strings.Contains(prompt(r), "Your last reply could not be used") {
					return llmfake.Say("Then I answer without a plan.")
				}
				return writes(c.plan)
			}}.think})
			p := w.start("chat", "--json")
			answer := p.ask("q", "first: a question")
			p.says(answer, false, "Then I answer without a plan.")
			p.logged("task="+answer.Task, "a reply cannot be used", strings.Trim(c.reason, `"`))
			told := w.asked("Your last reply could not be used")
			if len(told) != 1 || !strings.Contains(told[0].Messages[len(told[0].Messages)-1].Content, c.reason) {
				t.Errorf("the model was told so %d times, want once with %s: %.1000s", len(told), c.reason, lastMessages(told))
			}
			if calls := w.calls("lookup"); len(calls) > 0 {
				t.Errorf("the bad plan ran: %q", calls)
			}
			p.goesOn()
		})
	}
}

func lastMessages(all []llmfake.Request) string {
	var b strings.Builder
	for _, r := range all {
		fmt.Fprintln(&b, r.Messages[len(r.Messages)-1].Content)
	}
	return b.String()
}

// TestBadPlanForEver: a model that never writes a plan that can run costs three
// calls, and the person reads a sentence and never the plan.
func TestBadPlanForEver(t *testing.T) {
	t.Parallel()
	for name, c := range badPlans {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t, options{think: always(writes(c.plan))})
			p := w.start("chat", "--json")
			answer := p.ask("q", "first: a question")
			p.says(answer, true, w.text("problem.garbage", nil))
			if strings.Contains(answer.Text, "desk") || strings.Contains(answer.Text, `"plan"`) {
				t.Errorf("the person reads the plan: %.300s", answer.Text)
			}
			p.logged("task="+answer.Task, "a reply cannot be used", strings.Trim(c.reason, `"`))
			if n := len(w.asked("first: a question")); n > 6 {
				t.Errorf("the model was called %d times, want three for the plan and three for an answer at most", n)
			}
			p.goesOn()
		})
	}
}

// TestSamePlanForEver: finished sub-tasks are not repeated; the person gets an
// answer from them, or the results when the model does nothing but plan.
func TestSamePlanForEver(t *testing.T) {
	t.Parallel()
	plan := always(llmfake.Call("plan", `{"plan": [{"name": "desk", "description": "alpha"}, {"name": "desk", "description": "beta"}]}`))
	for name, c := range map[string]struct {
		answer func(llmfake.Request) llmfake.Response
		failed bool
		want   string
	}{
		"but answers":      {nil, false, "value of alpha"},
		"and nothing else": {plan, true, "value of alpha"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t, options{think: steps{plan: plan, review: plan, answer: c.answer}.think})
			p := w.start("chat", "--json")
			answer := p.ask("q", "first: a question")
			p.says(answer, c.failed, c.want)
			p.logged("task="+answer.Task, "a reply cannot be used", "has been done already")
			if calls := w.calls("lookup"); len(calls) != 2 {
				t.Errorf("got the calls %q, want one for each sub-task", calls)
			}
			if c.failed && !strings.Contains(answer.Text, w.text("partial.intro", nil)) {
				t.Errorf("got %q, want it to say what was found", answer.Text)
			}
			p.goesOn()
		})
	}
}

// TestNewPlansForEver: the rounds end, and the person gets an answer from what
// was found.
func TestNewPlansForEver(t *testing.T) {
	t.Parallel()
	plan := func(r llmfake.Request) llmfake.Response {
		return llmfake.Call("plan", fmt.Sprintf(`{"plan": [{"name": "desk", "description": "part %d x"}, {"name": "desk", "description": "part %d y"}]}`, r.Seq, r.Seq))
	}
	w := newEnv(t, options{think: steps{plan: plan, review: plan}.think, more: "limits: {rounds: 3}\n"})
	p := w.start("chat", "--json")
	p.says(p.ask("q", "first: a question"), false, "value of part")
	if calls := w.calls("lookup"); len(calls) != 6 {
		t.Errorf("got %d calls, want two in each of three rounds", len(calls))
	}
	if n := len(w.asked("There are no more planning rounds.")); n != 1 {
		t.Errorf("the model was told %d times that the rounds are used up, want once", n)
	}
	p.goesOn()
}

// TestToolCallsForEver: a sub-task whose model only calls tools ends with its
// turns, whether it stops calling at the end or not.
func TestToolCallsForEver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		last   llmfake.Response
		failed bool
		want   string
	}{
		"until the last turn":   {llmfake.Say("What I have so far."), false, "What I have so far."},
		"even in the last turn": {llmfake.Call("desk__lookup", `{"key": "more"}`), true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t, options{
				think: steps{
					plan: always(llmfake.Call("plan", `{"plan": [{"name": "desk", "description": "dig"}]}`)),
					work: func(r llmfake.Request) llmfake.Response {
						if len(r.Tools) == 0 {
							return c.last
						}
						return llmfake.Call("desk__lookup", fmt.Sprintf(`{"key": "%d"}`, r.Seq))
					},
					review: always(llmfake.Call("plan", `{"plan": []}`)),
				}.think,
				more: "limits: {turns: 4}\n",
			})
			p := w.start("chat", "--json")
			answer := p.ask("q", "first: a question")
			if c.failed {
				c.want = w.text("problem.turns", nil)
			}
			p.says(answer, false, c.want)
			if calls := w.calls("lookup"); len(calls) != 3 {
				t.Errorf("got %d calls, want three before the last turn", len(calls))
			}
			p.goesOn()
		})
	}
}
