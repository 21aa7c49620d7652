// Package e2e_test runs the real binary over pipes and pseudo-terminals,
// against a strict fake model and a misbehaving tool server, and looks at it
// from the outside alone: what people and programs read, what the log says,
// and what goes over the wires.
package e2e_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"legwork/i18n"
	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/need"
)

// env is what surrounds the binary in one test: a folder with a config file,
// a model and a tool server.
type env struct {
	t      *testing.T
	dir    string
	models *llmfake.Server
	texts  *i18n.Texts
	vars   []string // further variables of the binary, "NAME=value"
	haste  int      // how many times faster the platforms' time goes than the clock's; 0: it does not
	config string   // what configure wrote last
}

// options says what is special about a test.
type options struct {
	think      func(llmfake.Request) llmfake.Response // the model, but for questions that begin with "later"; nil: llmfake.Brain
	media      func(llmfake.Request) llmfake.Response // the models that hear, paint and speak; nil: llmfake.Usual
	model      string                                 // further keys of models.main, each after a comma
	wait       time.Duration                          // the model's timeouts for first byte and silence; 0: patience
	serverArgs string                                 // further arguments of the tool server, each after a comma
	limit      time.Duration                          // for one tool call of the group desk; 0: patience
	tools      string                                 // tools of the group desk besides lookup, each after a comma
	more       string                                 // further keys of the config file
}

// newEnv makes an environment. In its config the groups desk and safe share the tool
// server; safe has nothing but lookup.
func newEnv(t *testing.T, p options) *env {
	t.Helper()
	brain := llmfake.Brain{}
	w := &env{t: t, dir: t.TempDir()}
	w.models = llmfake.New(t, llmfake.Options{Key: "sk-secret-e2e", Media: p.media, Respond: func(r llmfake.Request) llmfake.Response {
		if p.think == nil || later(r) {
			return brain.Respond(r)
		}
		return p.think(r)
	}})
	var err error
	if w.texts, err = i18n.Load(""); err != nil {
		t.Fatal(err)
	}
	p.wait, p.limit = cmp.Or(p.wait, patience), cmp.Or(p.limit, patience)
	w.configure(fmt.Sprintf(`models:
  main: {base_url: %q, api_key: sk-secret-e2e, model: fake, timeout: %v, idle_timeout: %v, first_byte_timeout: %v%s}
servers:
  desk: {command: %q, args: [-faults, -log, %q%s]}
groups:
  desk: {description: Looks things up., servers: [desk], tools: [lookup%s], read_only: ["*"], tool_timeout: %v}
  safe: {description: Looks things up safely., servers: [desk], tools: [lookup], read_only: ["*"], tool_timeout: 10s}
%s`, w.models.URL, 12*p.wait, p.wait, p.wait, p.model, toolServer(t), w.file("calls.jsonl"), p.serverArgs, p.tools, p.limit, p.more))
	return w
}

// later reports that a request belongs to a question which tests ask after a
// fault; it begins with the word.
func later(r llmfake.Request) bool {
	goal, _ := r.Tagged("goal")
	task, _ := r.Tagged("task")
	return strings.HasPrefix(goal, "later") || strings.HasPrefix(task, "later")
}

// configure writes the config file: text and what all worlds share.
func (w *env) configure(text string) {
	w.t.Helper()
	w.config = text
	if err := os.WriteFile(w.file("config.yaml"), []byte("data_dir: data\n"+text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *env) file(name string) string { return filepath.Join(w.dir, name) }

// text is a sentence for people in English.
func (w *env) text(key string, data map[string]any) string { return w.texts.Text("en", key, data) }

// calls are the lines of the tool server's log that begin a call of a tool.
func (w *env) calls(tool string) []string {
	w.t.Helper()
	var calls []string
	for line := range strings.Lines(w.read("calls.jsonl")) {
		if strings.Contains(line, `"event":"call"`) && strings.Contains(line, fmt.Sprintf(`"tool":%q`, tool)) {
			calls = append(calls, line)
		}
	}
	return calls
}

// read is what a file holds; empty when there is none.
func (w *env) read(name string) string {
	w.t.Helper()
	text, err := os.ReadFile(w.file(name))
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	return string(text)
}

// asked are the requests to the model whose prompt holds text.
func (w *env) asked(text string) []llmfake.Request {
	var found []llmfake.Request
	for _, r := range w.models.Requests() {
		if strings.Contains(prompt(r), text) {
			found = append(found, r)
		}
	}
	return found
}

// prompt is all text of a request.
func prompt(r llmfake.Request) string {
	var b strings.Builder
	for _, m := range r.Messages {
		fmt.Fprintf(&b, "[%s] %s\n", m.Role, m.Content)
	}
	return b.String()
}

// steps is a model that answers by what it is asked for; a nil step is
// llmfake.Brain's.
type steps struct {
	plan, review, work, answer func(llmfake.Request) llmfake.Response
}

func (s steps) think(r llmfake.Request) llmfake.Response {
	step, _ := llmfake.StepOf(r)
	think := map[llmfake.Step]func(llmfake.Request) llmfake.Response{
		llmfake.StepPlan: s.plan, llmfake.StepReview: s.review, llmfake.StepWork: s.work, llmfake.StepAnswer: s.answer,
	}[step]
	if think == nil {
		return llmfake.Brain{}.Respond(r)
	}
	return think(r)
}

// always is a model that knows one reply.
func always(response llmfake.Response) func(llmfake.Request) llmfake.Response {
	return func(llmfake.Request) llmfake.Response { return response }
}

// uses is a model that gives one sub-task to the group desk, whose agent calls
// one tool and then repeats the beginning of what it read.
func uses(tool, arguments string) func(llmfake.Request) llmfake.Response {
	return steps{
		plan: always(llmfake.Call("plan", `{"plan": [{"name": "desk", "description": "do it"}]}`)),
		work: func(r llmfake.Request) llmfake.Response {
			if said, ok := toolResult(r); ok {
				return llmfake.Say("The tool said: " + said[:min(len(said), 500)])
			}
			return llmfake.Call(exposed(r, tool), arguments)
		},
	}.think
}

// toolResult is the last result of a tool in a prompt.
func toolResult(r llmfake.Request) (text string, ok bool) {
	for _, m := range r.Messages {
		if m.Role == "tool" {
			text, ok = m.Content, true
		}
	}
	return text, ok
}

// exposed is the name under which a tool of the server desk is offered; the
// tool's own when it is not.
func exposed(r llmfake.Request, tool string) string {
	for _, t := range r.Tools {
		if t.Name == tool || strings.HasSuffix(t.Name, "_"+tool) {
			return t.Name
		}
	}
	return tool
}

// programs are the binaries that are looked at, and those around them.
var programs need.Programs

func TestMain(m *testing.M) {
	need.Quick("^(TestText|TestGuidance|TestKillInMidTask|TestApproveInTerminal|TestTelegramPrivate|TestSlackDirect|TestMCPNeedsAToken)$")
	need.Parallel(6) // most of these tests wait for timeouts of the binary, not for a processor
	os.Exit(programs.Run(m))
}

// legwork returns the path of the binary.
func legwork(t *testing.T) string {
	t.Helper()
	return programs.Path(t, "legwork/cmd/legwork")
}

// hasty is the binary in which the platforms' time can go faster than the
// clock's: see package faults.
func hasty(t *testing.T) string {
	t.Helper()
	return programs.WithFaults(t, "legwork/cmd/legwork")
}

// toolServer returns the path of the tool server that misbehaves on demand.
func toolServer(t *testing.T) string {
	t.Helper()
	return programs.Path(t, "legwork/internal/test/fakes/mcpserver")
}
