package e2e_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/need"
)

// TestToolFaults: whatever a tool does, the model reads what went wrong, the
// log has it with the task, and the same server works for the next question.
func TestToolFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool, arguments string
		want            string   // in the answer, which repeats what the model read
		log             []string // in the line that has the task's id; nil: none
	}{
		"a tool that does not exist": {"fly", `{}`, `there is no tool "fly" here`, []string{"fly"}},
		"arguments that do not fit":  {"lookup", `{"kee": "x"}`, "key", []string{"lookup", "key"}},
		"arguments of a wrong type":  {"lookup", `{"key": 7}`, "key", []string{"lookup", "key"}},
		"arguments that are no JSON": {"lookup", `{"key": `, "arguments", []string{"lookup"}},
		"an error of its own":        {"fail", `{}`, "the shop is closed", []string{"the shop is closed"}},
		"a result of 100 MiB":        {"huge", `{}`, "xxx", []string{"was cut", "desk.huge", "bytes=104857600"}},
		"death in mid-call":          {"die", `{}`, "stopped during the call", []string{"desk.die"}},
		"no reply":                   {"hang", `{}`, "did not answer within 1s", []string{"desk.hang"}},
		"garbage":                    {"garbage", `{}`, "", []string{"desk.garbage"}},
		"endless output":             {"flood", `{}`, "stopped during the call", []string{"desk.flood"}},
		"a word on the wrong stream": {"noise", `{}`, "done", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			story := options{think: uses(c.tool, c.arguments), tools: ", " + c.tool, more: "log: {level: debug}\n"}
			if c.tool == "hang" || c.tool == "garbage" { // no answer comes
				story.limit = time.Second
			}
			w := newEnv(t, story)
			p := w.start("chat", "--json")
			answer := p.ask("q", "first: a question")
			p.says(answer, false, "The tool said: ")
			p.says(answer, false, c.want)
			if c.log != nil {
				p.logged(append(c.log, "task="+answer.Task)...)
			}
			p.goesOn()
		})
	}
}

// TestServerFaults: a server that cannot be used costs a sentence, and never
// the question, and other questions are answered.
func TestServerFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault string
		log   string
	}{
		"exits at once":     {", -fault, start", "cannot open the database"},
		"never reads":       {", -fault, deaf", "desk"},
		"never answers":     {", -fault, mute", "desk"},
		"cannot be started": {", -log, /dev/null/nothing", "desk"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t, options{
				serverArgs: c.fault,
				limit:      time.Second,
				think: steps{
					plan: always(llmfake.Call("plan", `{"plan": [{"name": "desk", "description": "do it"}]}`)),
					work: func(r llmfake.Request) llmfake.Response {
						if last := r.Messages[len(r.Messages)-1]; strings.Contains(last.Content, "desk is not available right now") {
							return llmfake.Say("I had no tool.")
						}
						return llmfake.Call("desk__lookup", `{"key": "x"}`)
					},
				}.think,
			})
			p := w.start("chat", "--json")
			answer := p.ask("q", "first: a question")
			p.says(answer, false, "I had no tool.")
			p.logged("task="+answer.Task, c.log)
			p.says(p.ask("later1", "later1: say hello"), false, "later1: say hello")
			p.end()
		})
	}
}

// purchase is a plot in which a sub-task books a boat, which asks first, and
// tells what the tool said.
func purchase() options {
	return options{
		think: steps{
			plan: always(llmfake.Call("plan", `{"plan": [{"name": "shop", "description": "buy"}]}`)),
			work: func(r llmfake.Request) llmfake.Response {
				if said, ok := toolResult(r); ok {
					return llmfake.Say("The tool said: " + said)
				}
				return llmfake.Call(exposed(r, "book"), `{"item": "a boat"}`)
			},
		}.think,
		more: "  shop: {description: Books things., servers: [desk], tools: [book]}\n",
	}
}

// TestWriteNeedsApproval: a tool that is not known to read only is not called
// before somebody allowed it, and the model reads that it was not allowed.
func TestWriteNeedsApproval(t *testing.T) {
	t.Parallel()
	w := newEnv(t, purchase())
	p := w.start("chat", "--json")
	p.send("q", "first: a question")
	denial := regexp.MustCompile(`"label":"Deny","data":"([^"]+)"`)
	p.until("the approval", func() bool { return denial.MatchString(p.out.String()) })
	if out := p.out.String(); !strings.Contains(out, `"calls":[{"tool":"desk.book","arguments":{"item":"a boat"}}]`) {
		t.Errorf("the question holds no calls: %s", out)
	}
	p.write(`{"id": "d", "press": "` + denial.FindStringSubmatch(p.out.String())[1] + `"}` + "\n")
	p.says(p.answer("q"), false, "declined")
	if calls := w.calls("book"); len(calls) > 0 {
		t.Errorf("the call was made: %q", calls)
	}
	p.goesOn()
}

// TestServerFromNPM: the reference server of the MCP project works in a plan.
func TestServerFromNPM(t *testing.T) {
	t.Parallel()
	everything := need.NPM(t, "mcp-server-everything")
	work := func(r llmfake.Request) llmfake.Response {
		task, _ := r.Tagged("task")
		if said, ok := toolResult(r); ok {
			return llmfake.Say("For " + task + " it said " + said)
		}
		return llmfake.Call(exposed(r, "echo"), `{"message": "hello `+task+`"}`)
	}
	w := newEnv(t, options{think: steps{
		plan: always(llmfake.Call("plan", `{"plan": [{"name": "everything", "description": "first"}, {"name": "everything", "description": "second"}]}`)),
		work: work,
	}.think})
	w.configure(strings.NewReplacer("URL", w.models.URL, "EVERYTHING", everything).Replace(`
models: {main: {base_url: "URL", api_key: sk-secret-e2e, model: fake}}
servers:
  everything: {command: "EVERYTHING", args: [stdio]}
groups:
  everything: {description: Tries everything., read_only: ["*"], tool_timeout: 60s}
`))
	p := w.start("chat", "--json")
	answer := p.ask("q", "say hello twice")
	p.says(answer, false, "hello first")
	p.says(answer, false, "hello second")
	p.end()
}
