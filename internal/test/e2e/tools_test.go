package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
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
		"arguments that do not fit":  {"lookup", `{"kee": "x", "n": 2}`, "key", []string{"lookup", "key"}},
		"arguments of a wrong type":  {"lookup", `{"key": [7]}`, "key", []string{"lookup", "key"}},
		"arguments that are no JSON": {"lookup", `{"key": `, "arguments", []string{"lookup"}},
		"an error of its own":        {"fail", `{}`, "the shop is closed", []string{"the shop is closed"}},
		"a result of 100 MiB":        {"huge", `{}`, "xxx", []string{"tool result cut", "desk.huge", "bytes=104857600"}},
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
			p.logged("task="+answer.Task, "desk")
			p.logged("desk", c.log) // of the server: a slow start hides its cause from the task
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

// strangeSchema is what the fake's tool strange takes.
const strangeSchema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"Strange","type":"object",
	"$defs":{"id":{"type":"string","pattern":"^(?!x)[a-z]+$"}},"properties":{"id":{"$ref":"#/$defs/id"},"n":{"type":"integer","default":3}},
	"oneOf":[{"required":["id"]},{"required":["n"]}]}`

// offering is an environment whose group desk has all well-behaved tools, and a model
// for images.
func offering(t *testing.T) *env {
	t.Helper()
	w := newEnv(t, options{
		// What only the server names stands in no goal.
		think:      orders{words: map[string]string{"TODAY": "note://today", "MONDAY": "note://day/monday"}}.think,
		serverArgs: ", -full", limit: patience, wait: patience,
		tools: ", strange, pid, violate, unstructured, weather, picture, sound, document, list_resources, read_resource, steps",
		more:  "roles: {vision: eyes}\n",
	})
	w.configure(strings.Replace(w.config, "servers:\n", fmt.Sprintf("  eyes: {base_url: %q, api_key: sk-secret-e2e, model: eyes}\nservers:\n", w.models.URL), 1))
	return w
}

// TestSchemaWhole: the model is shown a tool's schema with everything in it, and
// what it calls without arguments arrives as an empty object.
func TestSchemaWhole(t *testing.T) {
	t.Parallel()
	w := offering(t)
	p := w.start("chat", "--json")
	p.says(p.ask("q1", `q1: desk strange {"n":5} then strange {} then pid `), false, "The tools said: ")
	p.end()
	var want any
	if err := json.Unmarshal([]byte(strangeSchema), &want); err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, r := range w.asked("q1: strange") {
		tool, ok := r.Tool("desk__strange")
		if !ok {
			continue
		}
		shown++
		var got any
		if err := json.Unmarshal(tool.Schema, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("the model is shown the schema %s, want all of %s", tool.Schema, strangeSchema)
		}
	}
	if shown == 0 {
		t.Error("the tool was not offered")
	}
	if calls := w.calls("strange"); len(calls) != 1 || !strings.Contains(calls[0], `"arguments":{"n":5}`) {
		t.Errorf("the server got the calls %q, want only the one that fits the schema", calls)
	}
	if calls := w.calls("pid"); len(calls) != 1 || !strings.Contains(calls[0], `"arguments":{}`) {
		t.Errorf("a call without arguments arrived as %q, want {}", calls)
	}
	if len(w.asked("missing property 'id'")) == 0 {
		t.Error("the model did not read what is wrong with arguments that fit no branch")
	}
}

// TestResultsShown: whatever a tool returns is shown to the model between marks
// that say it is data: words, images by a model that sees, sounds by their kind,
// documents, and links that can be read.
func TestResultsShown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		goal string
		want []string // in the prompt after the last call
	}{
		"a text":              {`desk lookup {"key":"x"}`, []string{"<data>\nvalue of x\n</data>"}},
		"structured":          {`desk weather {"place":"Paris"}`, []string{`"celsius":21.5`}},
		"a broken promise":    {`desk violate {}`, []string{`"celsius":"warm"`, "does not fit"}},
		"a forgotten promise": {`desk unstructured {}`, []string{"it is warm", "structured"}},
		"a sound":             {`desk sound {}`, []string{"audio/wav", "a tone"}},
		"a document":          {`desk document {}`, []string{"Buy bread.", "note://tomorrow", "read_resource"}},
		"resources":           {`desk list_resources {} then read_resource {"uri":"TODAY"}`, []string{"note://day/{day}", "<data>\nBuy bread.\n</data>"}},
		"a linked resource":   {`desk document {} then read_resource {"uri":"MONDAY"}`, []string{"Nothing to do on monday."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := offering(t)
			p := w.start("chat", "--json")
			answer := p.ask("q1", "q1: "+c.goal)
			p.end()
			if answer.Failed {
				t.Errorf("the answer is %q", answer.Text)
			}
			asked := w.asked("q1: " + strings.TrimPrefix(c.goal, "desk "))
			if last := prompt(asked[len(asked)-1]); !holdsAll(last, c.want) {
				t.Errorf("the last prompt lacks one of %q:\n%s", c.want, last)
			}
		})
	}
}

// TestImageSeen: an image goes to the model of the role vision, as it was.
func TestImageSeen(t *testing.T) {
	t.Parallel()
	w := offering(t)
	p := w.start("chat", "--json")
	p.says(p.ask("q1", `q1: desk picture {}`), false, "The tools said: ")
	p.end()
	for _, r := range w.models.Requests() {
		var images []llmfake.Image
		for _, m := range r.Messages {
			images = append(images, m.Images...)
		}
		if _, told := toolResult(r); told != (r.Model == "eyes") {
			t.Errorf("request %d went to the model %s, want the one that sees with the result and no other", r.Seq, r.Model)
		}
		if r.Model == "eyes" && (len(images) != 1 || images[0].Type != "image/png" || !strings.HasPrefix(string(images[0].Data), "\x89PNG")) {
			t.Errorf("the model that sees got %d images, want the PNG", len(images))
		}
	}
}

// TestProgress: a call's progress is on the board, and /stop reaches its server.
func TestProgress(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"modern", "legacy"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			b := newTelegramEnv(t, telegramOptions{options: options{think: orders{}.think, serverArgs: ", -full, -era, " + era, limit: patience, wait: patience, tools: ", steps"}})
			s := b.opens()
			chat := b.bob.ID
			b.Say(chat, b.bob, `q1: desk steps {"n":100,"ms":200}`)
			b.offers(chat, "Stop", "desk.steps", " %: step ", " of 100")
			b.Say(chat, b.bob, "/stop")
			b.sees(chat, b.says("problem.stopped", nil))
			s.until("the server's cancel", func() bool { return strings.Contains(b.read("calls.jsonl"), `"event":"cancelled"`) })
			if strings.Contains(b.read("calls.jsonl"), `"event":"done"`) {
				t.Error("the call went on to its end")
			}
			b.goesOn(b.bob)
		})
	}
}

// TestRemote: servers over HTTP and HTTP+SSE are called in every era, and are
// reached again after they forgot their sessions and after they were gone.
func TestRemote(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		flag   string
		more   string // further keys of the server
		flags  []string
		forget []string // flags that have it forget a session; nil: it has none
	}{
		"HTTP, modern": {"-http", "", []string{"-era", "modern"}, nil},
		"HTTP, legacy": {"-http", "", []string{"-era", "legacy"}, []string{"-fault", "session", "-after", "1", "-times", "1"}},
		"SSE":          {"-sse", ", type: sse", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t, options{think: orders{}.think, limit: 5 * time.Second, wait: patience})
			address, stop := w.stoppable(append(append([]string{c.flag, "127.0.0.1:0"}, c.flags...), c.forget...)...)
			w.serves(address, c.more)
			p := w.start("chat", "--json")
			for i := range 3 {
				id := fmt.Sprintf("q%d", i)
				p.says(p.ask(id, fmt.Sprintf(`%s: desk lookup {"key":"k%d"}`, id, i)), false, fmt.Sprintf("value of k%d", i))
			}
			if log := w.read("calls.jsonl"); c.forget != nil && !strings.Contains(log, `"note":"session"`) {
				t.Errorf("no session was forgotten: %s", log)
			}
			if log := w.read("calls.jsonl"); strings.Contains(log, `"event":"violation"`) {
				t.Errorf("the server accuses the client: %s", log)
			}

			stop()
			p.says(p.ask("gone", `gone: desk lookup {"key":"missing"}`), false, "The tools said: ")
			at, err := url.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			w.stoppable(append([]string{c.flag, at.Host}, c.flags...)...)
			late := time.Now().Add(patience)
			for i := 0; ; i++ {
				id := fmt.Sprintf("again%d", i)
				if answer := p.ask(id, id+`: desk lookup {"key":"again"}`); strings.Contains(answer.Text, "value of again") {
					break
				} else if time.Now().After(late) {
					t.Fatalf("after %v the server was not reached again: %q", patience, answer.Text)
				}
			}
			p.end()
		})
	}
}

// TestRemoteToken: a server that wants a token says so to the model and in the
// log, with the key that is to be set; with it, it works, and no person or
// model reads the token.
func TestRemoteToken(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{think: orders{}.think, limit: 5 * time.Second, wait: patience})
	const token = "token-of-the-tools-e2e"
	address := w.remote("-http", "127.0.0.1:0", "-token", token, "-full")
	w.serves(address, "")
	p := w.start("chat", `q1: desk lookup {"key":"x"}`)
	p.end()
	if told := p.out.String() + w.read("data/legwork.log"); !strings.Contains(told, "401") || !strings.Contains(told, "headers") {
		t.Errorf("without a token: got %q, want 401 and the key headers", told)
	}
	w.configure(strings.Replace(w.config, address+`"`, address+`", headers: {Authorization: "Bearer `+token+`"}`, 1))
	p = w.start("chat", "--json")
	p.says(p.ask("q2", `q2: desk lookup {"key":"x"}`), false, "value of x")
	p.end()
	prompts := ""
	for _, r := range w.models.Requests() {
		prompts += string(r.Raw)
	}
	if strings.Contains(p.out.String()+p.err.String()+prompts, token) {
		t.Error("the token went out")
	}
}
