package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/fakes/llmfake"
)

// TestModelFaults: whatever a model does, the person reads a sentence, the log
// has the cause with the task, and the next question is answered.
func TestModelFaults(t *testing.T) {
	t.Parallel()
	broken := func(kind llmfake.FaultKind) llmfake.Response {
		return llmfake.Broken(kind, 3, "This is the beginning of an answer that never comes to its end.")
	}
	for name, c := range map[string]struct {
		response llmfake.Response
		key      string   // of the sentence
		log      []string // in the line that has the task's id
	}{
		"401":            {llmfake.Status(401), "problem.refused", []string{"401", "models.main.api_key"}},
		"403":            {llmfake.Status(403), "problem.refused", []string{"403"}},
		"404":            {llmfake.Status(404), "problem.not_found", []string{"404", "models.main.model"}},
		"429":            {llmfake.Busy("1"), "problem.busy", []string{"429"}},
		"500":            {llmfake.Status(500), "problem.unreachable", []string{"500"}},
		"502 of a proxy": {llmfake.Response{Fault: llmfake.Fault{Kind: llmfake.FaultStatus, Status: 502, Type: "text/html", Message: "<h1>Bad gateway</h1>"}}, "problem.unreachable", []string{"502", "<h1>Bad gateway</h1>"}},
		"reset at once":  {llmfake.Broken(llmfake.FaultReset, 0, "a"), "problem.unreachable", []string{"connection reset"}},
		"headers alone":  {llmfake.Response{Fault: llmfake.Fault{Kind: llmfake.FaultHead}}, "problem.unreachable", []string{"models.main.first_byte_timeout"}},
		"garbage":        {llmfake.Response{Fault: llmfake.Fault{Kind: llmfake.FaultGarbage}}, "problem.garbage", []string{"no choices"}},
		"web page":       {llmfake.Response{Fault: llmfake.Fault{Kind: llmfake.FaultHTML}}, "problem.garbage", []string{"<!doctype html>", "models.main.base_url"}},
		"half a stream":  {broken(llmfake.FaultCut), "problem.cut_off", nil},
		"no finish":      {broken(llmfake.FaultEnd), "problem.cut_off", nil},
		"reset":          {broken(llmfake.FaultReset), "problem.cut_off", nil},
		"stall":          {broken(llmfake.FaultStall), "problem.cut_off", []string{"models.main.idle_timeout"}},
		"hang":           {llmfake.Response{Fault: llmfake.Fault{Kind: llmfake.FaultHang}}, "problem.unreachable", []string{"models.main.first_byte_timeout"}},
		"too long":       {llmfake.Response{Text: "Once upon a time", Finish: "length"}, "problem.cut_off", []string{"max_output_tokens"}},
		"no room":        {llmfake.Response{Fault: llmfake.Fault{Kind: llmfake.FaultStatus, Status: 400, Code: "context_length_exceeded"}}, "problem.too_long", []string{"400"}},
		"filtered":       {llmfake.Response{Text: "Once", Finish: "content_filter"}, "problem.filtered", nil},
		"nothing":        {llmfake.Response{}, "problem.garbage", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			story := options{think: always(c.response)}
			if slices.ContainsFunc(c.log, func(part string) bool { return strings.HasSuffix(part, "_timeout") }) {
				story.wait = time.Second
			}
			w := newEnv(t, story)
			p := w.start("chat", "--json")
			answer := p.ask("q", "first: say something")
			p.says(answer, true, w.text(c.key, nil))
			p.logged(append(c.log, "level=ERROR", "task="+answer.Task)...)
			if strings.Contains(p.err.String(), "sk-secret-e2e") {
				t.Error("the log holds the API key")
			}
			p.goesOn()
		})
	}
}

// TestMissingVersion: a base_url without /v1 is named in the log.
func TestMissingVersion(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{})
	w.configure(fmt.Sprintf("models: {main: {base_url: %q, api_key: sk-secret-e2e, model: fake}}\n", strings.TrimSuffix(w.models.URL, "/v1")))
	p := w.start("chat", "--json")
	for _, id := range []string{"q1", "q2"} {
		answer := p.ask(id, "hello")
		p.says(answer, true, w.text("problem.not_found", nil))
		p.logged("task="+answer.Task, "404", "models.main.base_url", "should probably end in /v1")
	}
	p.end()
}

// TestFallback: when the first model cannot answer, the next one does.
func TestFallback(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{
		think: func(r llmfake.Request) llmfake.Response {
			if r.Model == "fake" {
				return llmfake.Status(401)
			}
			return llmfake.Brain{}.Respond(r)
		},
		model: ", fallback: [backup]",
	})
	url := w.models.URL
	w.configure(fmt.Sprintf(`models:
  main: {base_url: %q, api_key: sk-secret-e2e, model: fake, fallback: [dead, backup]}
  dead: {base_url: "http://127.0.0.1:1/v1", model: none, timeout: 1s}
  backup: {base_url: %q, api_key: sk-secret-e2e, model: other}
servers: {math: {builtin: math}}
`, url, url))
	p := w.start("chat", "--json")
	p.says(p.ask("q", "first: llm_tool think | llm_tool more"), false, "thought about it")
	p.logged("level=WARN", "model=main", "401")
	p.logged("level=WARN", "model=dead", "nothing listens at models.dead.base_url")
	p.end()
}

// TestTextMode: a model that cannot call tools writes plan and calls into its
// text; people see neither.
func TestTextMode(t *testing.T) {
	t.Parallel()
	think := func(r llmfake.Request) llmfake.Response {
		if len(r.Tools) > 0 {
			t.Errorf("tools were offered by the protocol: %v", r.Tools)
		}
		if task, working := r.Tagged("task"); working {
			for _, m := range r.Messages[1:] {
				if m.Role == "user" && strings.Contains(m.Content, "value of "+task) {
					return llmfake.Say("[" + task + "] found it")
				}
			}
			return llmfake.Say("Let me see.\n```json\n{\"tool_calls\": [{\"name\": \"desk__lookup\", \"arguments\": {\"key\": \"" + task + "\"}}]}\n```")
		}
		if strings.Contains(prompt(r), "found it") {
			return llmfake.Say("Both were found: alpha and beta.")
		}
		return llmfake.Say(`Here is my plan: {"plan": [{"name": "desk", "description": "alpha"}, {"name": "desk", "description": "beta"}]}`)
	}
	w := newEnv(t, options{think: think, model: ", tool_calls: text"})
	p := w.start("chat", "--json")
	p.says(p.ask("q", "find both"), false, "Both were found: alpha and beta.")
	if calls := w.calls("lookup"); len(calls) != 2 {
		t.Errorf("got the tool calls %q, want two", calls)
	}
	for _, e := range p.events() {
		if strings.Contains(e.Text, "tool_calls") || strings.Contains(e.Text, `"plan"`) {
			t.Errorf("a person saw %q", e.Text)
		}
	}
	p.end()
}

// TestTextModeForEver: a model that writes nothing but tool calls into its
// text ends with its turns, and no person reads its JSON.
func TestTextModeForEver(t *testing.T) {
	t.Parallel()
	think := func(r llmfake.Request) llmfake.Response {
		if _, working := r.Tagged("task"); working {
			return llmfake.Say(`{"tool_calls": [{"name": "desk__lookup", "arguments": {"key": "more"}}]}`)
		}
		if strings.Contains(prompt(r), "<result id=") {
			return llmfake.Say("This is all: " + prompt(r)[strings.Index(prompt(r), "<result id="):])
		}
		return llmfake.Say(`{"plan": [{"name": "desk", "description": "alpha"}, {"name": "desk", "description": "beta"}]}`)
	}
	w := newEnv(t, options{think: think, model: ", tool_calls: text", more: "limits: {turns: 3}\n"})
	p := w.start("chat", "--json")
	answer := p.ask("q", "find both")
	p.says(answer, false, w.text("problem.garbage", nil))
	p.logged("task="+answer.Task, "No more tools can be called")
	for _, e := range p.events() {
		if strings.Contains(e.Text, "tool_calls") {
			t.Errorf("a person saw %q", e.Text)
		}
	}
	p.end()
}

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
		"two plans as calls":     {llmfake.Response{ToolCalls: []llmfake.ToolCall{{Name: "plan", Arguments: lookup("old")}, {Name: "plan", Arguments: lookup("new")}}}, false, "value of old", `"key"`}, // both are one plan
		"a plan that is cut off": {llmfake.Response{ToolCalls: []llmfake.ToolCall{{Name: "plan", Arguments: lookup("old")[:60]}}, Finish: "length"}, false, "[first] answers: first: a question", ""},
		"a plan cut in the text": {llmfake.Response{Text: lookup("old")[:60], Finish: "length"}, false, "[first] answers: first: a question", ""},
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
			unusable := strings.HasPrefix(c.want, "[first]") // three times: the line under the answer says so
			if strings.Contains(answer.Footer, w.text("problem.plan_unreadable", nil)) != unusable {
				t.Errorf("the line under the answer is %q", answer.Footer)
			}
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
			p.logged("task="+answer.Task, "reply not usable")
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
