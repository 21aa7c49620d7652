package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"legwork/internal/test/fakes/llmfake"
)

// TestOddReplies: what models write instead of what they should.
func TestOddReplies(t *testing.T) {
	t.Parallel()
	lookup := func(what string) string {
		return fmt.Sprintf(`{"plan": [{"name": "desk", "description": "%s"}, {"name": "desk", "description": "%s too"}]}`, what, what)
	}
	for name, c := range map[string]struct {
		plan   llmfake.Response
		failed bool
		want   string // key of a text, or words
		calls  string // part of the tool's arguments; empty: it is not called
	}{
		"whitespace":             {llmfake.Say(" \n\t "), true, "problem.garbage", ""},
		"thinking alone":         {llmfake.Response{Thinking: story}, true, "problem.garbage", ""},
		"two plans in the text":  {llmfake.Say("First " + lookup("old") + " or rather " + lookup("new")), false, "value of new", "new"},
		"two plans as calls":     {llmfake.Response{ToolCalls: []llmfake.ToolCall{{Name: "plan", Arguments: lookup("old")}, {Name: "plan", Arguments: lookup("new")}}}, false, "value of new", "new"},
		"a plan that is cut off": {llmfake.Response{ToolCalls: []llmfake.ToolCall{{Name: "plan", Arguments: lookup("old")[:60]}}, Finish: "length"}, true, "problem.cut_off", ""},
		"a plan cut in the text": {llmfake.Response{Text: lookup("old")[:60], Finish: "length"}, true, "problem.cut_off", ""},
		"a plan cut by the line": {llmfake.Response{Text: lookup("old"), Fault: llmfake.Fault{Kind: llmfake.FaultCut, After: 4}}, true, "problem.cut_off", ""},
		"thinking, then a plan":  {llmfake.Response{Text: "<think>" + lookup("old") + "</think>" + lookup("new")}, false, "value of new", "new"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t, options{think: steps{plan: always(c.plan)}.think})
			p := w.start("chat", "--json")
			answer := p.ask("q", "first: a question")
			if strings.HasPrefix(c.want, "problem.") {
				c.want = w.text(c.want, nil)
			}
			p.says(answer, c.failed, c.want)
			calls := w.calls("lookup")
			for _, call := range calls {
				if c.calls == "" || !strings.Contains(call, c.calls) {
					t.Errorf("a call of what was not to be done: %s", call)
				}
			}
			for _, e := range p.events() {
				if strings.Contains(e.Text, `"plan"`) || strings.Contains(e.Text, "river") {
					t.Errorf("a person saw %q", e.Text)
				}
			}
			p.goesOn()
		})
	}
}

// TestOddCalls: a sub-task's model is told what is wrong with its calls, and
// corrects them.
func TestOddCalls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ tool, arguments, told string }{
		"an unknown tool":       {"crystal_ball", `{"key": "x"}`, "there is no tool"},
		"arguments cut off":     {"desk__lookup", `{"key": "x`, ""},
		"arguments of no JSON":  {"desk__lookup", `key = x`, ""},
		"arguments that do not": {"desk__lookup", `{"keys": 7}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t, options{think: steps{
				plan: always(llmfake.Call("plan", `{"plan": [{"name": "desk", "description": "alpha"}, {"name": "desk", "description": "beta"}]}`)),
				work: func(r llmfake.Request) llmfake.Response {
					task, _ := r.Tagged("task")
					said, ok := toolResult(r)
					switch {
					case !ok:
						return llmfake.Call(c.tool, c.arguments)
					case strings.Contains(said, "value of"):
						return llmfake.Say("found: " + said)
					}
					if !strings.Contains(said, c.told) {
						t.Errorf("the model is told %q, want %q", said, c.told)
					}
					return llmfake.Call(exposed(r, "lookup"), fmt.Sprintf(`{"key": %q}`, task))
				},
			}.think})
			p := w.start("chat", "--json")
			p.says(p.ask("q", "first: a question"), false, "value of beta")
			p.goesOn()
		})
	}
}

// TestCallsInTheAnswer: a model that writes the closing answer has no tools;
// one that calls some all the same is told, and never makes people read calls.
func TestCallsInTheAnswer(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]llmfake.Response{
		"by the protocol": llmfake.Call("desk__lookup", `{"key": "more"}`),
		"in the text":     llmfake.Say(`{"tool_calls": [{"name": "desk__lookup", "arguments": {"key": "more"}}]}`),
		"a plan":          llmfake.Call("plan", `{"plan": [{"name": "desk", "description": "more"}]}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t, options{think: steps{
				plan:   always(llmfake.Call("plan", `{"plan": [{"name": "desk", "description": "alpha"}, {"name": "desk", "description": "beta"}]}`)),
				review: always(llmfake.Call("plan", `{"plan": []}`)),
				answer: func(r llmfake.Request) llmfake.Response {
					if strings.Contains(prompt(r), "Your last reply could not be used") {
						return llmfake.Brain{}.Respond(r)
					}
					return call
				},
			}.think})
			p := w.start("chat", "--json")
			answer := p.ask("q", "first: a question")
			p.says(answer, false, "value of alpha")
			p.logged("task="+answer.Task, "a reply cannot be used")
			if calls := w.calls("lookup"); len(calls) != 2 {
				t.Errorf("got the calls %q, want one for each sub-task", calls)
			}
			for _, e := range p.events() {
				if strings.Contains(e.Text, "tool_calls") || strings.Contains(e.Text, `"plan"`) {
					t.Errorf("a person saw %q", e.Text)
				}
			}
			p.goesOn()
		})
	}
}
