package e2e_test

import (
	"strings"
	"testing"
	"time"

	"legwork/internal/test/fakes/llmfake"
)

// TestText: one question on the command line, its answer on stdout, progress
// on stderr.
func TestText(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{})
	p := w.start("chat", "q1:", "desk", "alpha;", "desk", "beta")
	p.end()
	out := p.out.String()
	if !strings.HasPrefix(out, "[q1]") || !strings.Contains(out, "value of q1 desk alpha") || !strings.Contains(out, "value of q1 desk beta") {
		t.Errorf("stdout: got %q, want the answer alone", out)
	}
	for _, want := range []string{"1/a desk", "1/b desk", "2 sub-tasks"} {
		if !strings.Contains(p.err.String(), want) {
			t.Errorf("stderr: got %q, want the progress with %q", p.err.String(), want)
		}
	}
}

// TestFailedText: an answer that is none goes to stderr, and the exit code says
// so.
func TestFailedText(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{think: always(llmfake.Status(401))})
	p := w.start("chat", "hello")
	if code := p.code(); code != 1 || p.out.String() != "" || !strings.Contains(p.err.String(), "✗ "+w.text("problem.refused", nil)) {
		t.Errorf("got exit code %d, stdout %q, stderr %q; want 1 and the sentence on stderr", code, p.out.String(), p.err.String())
	}
}

// TestLines: each line of a pipe is a question, and all are answered before the
// end.
func TestLines(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{})
	p := w.start("chat")
	p.write("q1: say one\n")
	p.until("the first answer", func() bool { return strings.Contains(p.out.String(), "[q1] answers: q1: say one\n") })
	p.write("q2: desk alpha; desk beta") // no line break at the end
	p.end()
	if out := p.out.String(); strings.Count(out, "[q1]") != 1 || !strings.Contains(out, "value of q2 desk beta") {
		t.Errorf("got %q, want both answers", out)
	}
}

// TestHistory: the next question sees the turns of earlier runs, until /new.
func TestHistory(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{})
	w.start("chat", "q1: My number is 4711").end()
	p := w.start("chat", "--json")
	p.ask("q2", "q2: and what was the first number?")
	requests := w.models.Requests()
	last := requests[len(requests)-1]
	earlier, answered := false, false
	for _, m := range last.Messages {
		earlier = earlier || m.Role == "user" && strings.Contains(m.Content, "My number is 4711")
		answered = answered || m.Role == "assistant" && strings.Contains(m.Content, "[q1] answers")
	}
	if !earlier || !answered {
		t.Errorf("the prompt lacks the earlier question (%v) or its answer (%v): %s", earlier, answered, prompt(last))
	}
	p.send("n", "/new")
	p.notice(w.text("notice.new", nil))
	p.ask("q3", "q3: and what was it?")
	if requests = w.models.Requests(); strings.Contains(prompt(requests[len(requests)-1]), "4711") {
		t.Errorf("the prompt after /new holds what was said before: %s", prompt(requests[len(requests)-1]))
	}
	p.end()
}

// TestLanguage: /lang changes the texts, in this run and the next ones.
func TestLanguage(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{think: always(llmfake.Status(401))})
	p := w.start("chat", "--json")
	p.send("l", "/lang ru")
	p.notice("Русский")
	p.send("x", "/lang tlh")
	p.notice("en, zh, ru")
	want := w.texts.Text("ru", "problem.refused", nil)
	p.says(p.ask("q", "first: hello"), true, want)
	p.end()
	next := w.start("chat", "hello again")
	if next.code(); !strings.Contains(next.err.String(), want) {
		t.Errorf("the next run says %q, want %q", next.err.String(), want)
	}
}

// slowly is a model whose two agents look something up; the second one then
// waits for a tool that takes a minute.
func slowly(second string) func(llmfake.Request) llmfake.Response {
	return steps{
		plan: always(llmfake.Call("plan", `{"plan": [{"name": "desk", "description": "quick"}, {"name": "desk", "description": "slow"}]}`)),
		work: func(r llmfake.Request) llmfake.Response {
			task, _ := r.Tagged("task")
			if said, ok := toolResult(r); ok {
				return llmfake.Say("For " + task + ": " + said)
			}
			if task == "slow" {
				return llmfake.Call("desk__slow", second)
			}
			return llmfake.Call("desk__lookup", `{"key": "quick"}`)
		},
		answer: func(r llmfake.Request) llmfake.Response {
			return llmfake.Say("Found: " + prompt(r)[strings.Index(prompt(r), "<result id="):])
		},
	}.think
}

// working waits until the quick sub-task is done and the slow one waits for its
// tool.
func (p *program) working() {
	p.t.Helper()
	p.see("a board with one sub-task done and one that calls its tool", func(e event) bool {
		return e.Board != nil && len(e.Board.Items) == 2 && e.Board.Items[0].State == "done" && e.Board.Items[1].Doing != ""
	})
}

// TestStop: /stop in the middle ends the task at once; the answer tells what
// was found.
func TestStop(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{think: slowly(`{"ms": 60000}`), tools: ", slow", limit: 2 * time.Minute})
	p := w.start("chat", "--json")
	p.send("q", "first: a question")
	p.working()
	p.send("s", "/status")
	p.notice("Working: 1 of 2 sub-tasks done · first: a question")
	p.send("s2", "/stop")
	p.says(p.answer("q"), false, "value of quick")
	if n := len(w.asked("The person stopped the task.")); n != 1 {
		t.Errorf("the model was told %d times that the task was stopped, want once", n)
	}
	p.send("s3", "/stop")
	p.notice(w.text("error.nothing_running", nil))
	p.goesOn()
}

// TestStopBeforeAnything: stopped before anything was found, the task says so.
func TestStopBeforeAnything(t *testing.T) {
	t.Parallel()
	hang := llmfake.Response{Fault: llmfake.Fault{Kind: llmfake.FaultHang}}
	w := newEnv(t, options{think: always(hang), wait: time.Minute})
	p := w.start("chat", "--json")
	p.send("q", "first: a question")
	p.see("a board", func(e event) bool { return e.Type == "board" })
	p.send("s", "/stop")
	p.says(p.answer("q"), false, w.text("problem.stopped", nil))
	p.goesOn()
}

// TestGuidance: a message that is written while a plan runs is added to it,
// and the next decision sees it.
func TestGuidance(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{think: slowly(`{"ms": 1500}`), tools: ", slow", limit: 2 * time.Minute})
	p := w.start("chat", "--json")
	p.send("q", "first: a question")
	p.working()
	p.guide("g", "in metric units, please")
	p.notice(w.text("notice.added", nil))
	p.says(p.answer("q"), false, "at last")
	told := false
	for _, r := range w.models.Requests() {
		for _, said := range r.AllTagged("guidance") {
			told = told || said == "in metric units, please"
		}
	}
	if !told {
		t.Error("no prompt holds what was added")
	}
	p.goesOn()
}
