package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/telegramfake"
)

// story is an answer that is long enough to be shown while it comes.
const story = "Once upon a time there was a river that ran uphill, because it had never heard otherwise."

// cutAfter is the story up to so many words.
func cutAfter(words int) llmfake.Response { return llmfake.Broken(llmfake.FaultCut, words+1, story) }

// TestAskedToBeLeftAlone: an endpoint that wants to be left alone for hours is,
// and people read for how long.
func TestAskedToBeLeftAlone(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{think: always(llmfake.Busy("7200"))})
	p := w.start("chat", "--json")
	first := p.ask("q1", "first: say something")
	p.says(first, true, w.text("problem.busy", map[string]any{"Elapsed": 2 * time.Hour}))
	p.logged("task="+first.Task, "429", "2h0m0s")
	p.says(p.ask("q2", "second: say something"), true, "asks for a pause of")
	if n := len(w.models.Requests()); n != 1 {
		t.Errorf("%d requests, want one: it asked to be left alone", n)
	}
	p.end()
}

// TestAskedToBeLeftAloneBriefly: half a minute is told as half a minute.
func TestAskedToBeLeftAloneBriefly(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{think: always(llmfake.Busy("30")), wait: time.Second})
	p := w.start("chat", "--json")
	p.says(p.ask("q1", "first: say something"), true, w.text("problem.busy", map[string]any{"Elapsed": 30 * time.Second}))
	p.end()
}

// TestNobodyThere: the log names an address without a listener, or with a
// listener that speaks otherwise.
func TestNobodyThere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		base func(w *env) string
		hint string
	}{
		"no listener": {func(*env) string { return "http://127.0.0.1:1/v1" }, "nothing listens at models.main.base_url"},
		"no TLS":      {func(w *env) string { return strings.Replace(w.models.URL, "http:", "https:", 1) }, "should begin with http://"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t, options{})
			w.configure(fmt.Sprintf("models: {main: {base_url: %q, api_key: sk-secret-e2e, model: fake}}\n", c.base(w)))
			p := w.start("chat", "--json")
			answer := p.ask("q", "hello")
			p.says(answer, true, w.text("problem.unreachable", nil))
			p.logged("level=ERROR", "task="+answer.Task, c.hint)
			p.end()
		})
	}
}

// TestEndlessAnswer: a reply that does not end is cut, and the beginning of it
// is all that people get.
func TestEndlessAnswer(t *testing.T) {
	t.Parallel()
	words := fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", strings.Repeat("word ", 1<<12))
	w := newEnv(t, options{wait: 3 * time.Second, think: always(llmfake.Response{
		Text: "the end", Fault: llmfake.Fault{Kind: llmfake.FaultFlood, Message: words, After: 100 << 20 / len(words)},
	})})
	p := w.start("chat", "--json")
	answer := p.ask("q", "first: say something")
	p.says(answer, true, w.text("problem.cut_off", nil))
	if n := len(answer.Text); n < 10_000 || n > 60_000 {
		t.Errorf("an answer of %d bytes, want the beginning of it", n)
	}
	p.logged("level=ERROR", "task="+answer.Task, "far longer than its model may write", "models.main.max_output_tokens")
	p.goesOn()
}

// TestCutAnswerIsKept: the part of an answer that came before it was cut off
// for good stays, marked as incomplete, and the next question sees it.
func TestCutAnswerIsKept(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{think: func(r llmfake.Request) llmfake.Response {
		if goal, _ := r.Tagged("goal"); strings.HasPrefix(goal, "go on") {
			return llmfake.Say("I go on.")
		}
		return cutAfter(12)
	}})
	p := w.start("chat", "--json")
	answer := p.ask("q", "tell me a story")
	for _, want := range []string{w.text("problem.cut_off", nil), w.text("partial.answer", nil), "Once upon a time there was a river that ran uphill, because […]"} {
		p.says(answer, true, want)
	}
	p.says(p.ask("q2", "go on"), false, "I go on.")
	if asked := w.asked("go on"); len(asked) != 1 || !strings.Contains(prompt(asked[0]), "a river that ran uphill, because […]") {
		t.Errorf("the next question does not see what came of the answer: %.2000s", prompt(asked[0]))
	}
	p.goesOn()
}

// TestFilteredAnswerIsNotKept: what a content filter stopped is taken back.
func TestFilteredAnswerIsNotKept(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{think: always(llmfake.Response{Text: story, Finish: "content_filter"})})
	p := w.start("chat", "--json")
	answer := p.ask("q", "first: tell me a story")
	p.says(answer, true, w.text("problem.filtered", nil))
	if strings.Contains(answer.Text, "river") {
		t.Errorf("the answer holds what the filter stopped: %q", answer.Text)
	}
	p.goesOn()
}

// TestNoModelWritesTheAnswer: when no model can write it, the person reads one
// sentence and what each sub-task found, also what one had begun to write.
func TestNoModelWritesTheAnswer(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{think: steps{
		plan: always(llmfake.Call("plan", `{"plan": [{"name": "desk", "description": "the alpha part"}, {"name": "desk", "description": "the story part"}, {"name": "llm_tool", "description": "never works", "after": []}]}`)),
		work: func(r llmfake.Request) llmfake.Response {
			switch task, _ := r.Tagged("task"); task {
			case "the alpha part":
				return llmfake.Brain{}.Respond(r)
			case "the story part":
				return cutAfter(12)
			}
			return llmfake.Status(400)
		},
		review: always(llmfake.Status(400)), answer: always(llmfake.Status(400)),
	}.think})
	p := w.start("chat", "--json")
	answer := p.ask("q", "first: a question")
	for _, want := range []string{
		w.text("problem.invalid", nil), w.text("partial.intro", nil),
		"**the alpha part**", "value of the alpha part",
		"**" + w.text("partial.subtask", map[string]any{"Name": "the story part"}) + "**", "a river that ran uphill, because […]",
	} {
		p.says(answer, true, want)
	}
	if strings.Contains(answer.Text, "never works") {
		t.Errorf("the answer names a sub-task that found nothing: %q", answer.Text)
	}
	reviewed := w.asked(w.text("prompt.subtask_cut", map[string]any{"Reason": w.text("problem.cut_off", nil)}))
	if len(reviewed) == 0 || !strings.Contains(prompt(reviewed[0]), "a river that ran uphill,") {
		t.Errorf("the review does not see what the cut sub-task had written")
	}
	p.goesOn()
}

// tooLong is a refusal of a prompt that is longer than so many bytes; nil when it
// is not.
func tooLong(r llmfake.Request, most int) *llmfake.Response {
	if len(prompt(r)) <= most {
		return nil
	}
	return &llmfake.Response{Fault: llmfake.Fault{Kind: llmfake.FaultStatus, Status: 400, Code: "context_length_exceeded", Message: "Your input exceeds the context window of this model."}}
}

// TestLongPromptIsShortened: a prompt that the endpoint finds too long is built
// anew without the oldest turns; the question stays whole.
func TestLongPromptIsShortened(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{think: func(r llmfake.Request) llmfake.Response {
		goal, _ := r.Tagged("goal")
		if refusal := tooLong(r, 12_000); refusal != nil && strings.HasPrefix(goal, "last") {
			return *refusal
		}
		return llmfake.Say(goal + " " + strings.Repeat("blah ", 700))
	}})
	p := w.start("chat", "--json")
	for i := range 4 {
		p.says(p.ask(fmt.Sprint("q", i), fmt.Sprintf("question %d", i)), false, "blah")
	}
	answer := p.ask("last", "last: the question with all of its words")
	p.says(answer, false, "last: the question with all of its words")
	p.logged("task="+answer.Task, "prompt too long, shortening it")
	asked := w.asked("last: the question with all of its words")
	if len(asked) < 2 || len(asked) > 3 {
		t.Fatalf("%d requests, want two or three", len(asked))
	}
	before, after := prompt(asked[0]), prompt(asked[len(asked)-1])
	if !strings.Contains(before, "question 0") || strings.Contains(after, "question 0") {
		t.Errorf("the oldest turn: in the first prompt %v, in the last %v; want it to be left out", strings.Contains(before, "question 0"), strings.Contains(after, "question 0"))
	}
	p.end()
}

// TestPromptThatNeverFits: after two shorter ones the person is told.
func TestPromptThatNeverFits(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{think: func(r llmfake.Request) llmfake.Response { return *tooLong(r, 0) }})
	p := w.start("chat", "--json")
	answer := p.ask("q", "first: "+strings.Repeat("words ", 2000))
	p.says(answer, true, w.text("problem.too_long", nil))
	p.logged("level=ERROR", "task="+answer.Task, "too_long")
	if n := len(w.asked("first: words")); n > 3 {
		t.Errorf("%d requests, want three at most", n)
	}
	p.goesOn()
}

// TestModelIsLeftAlone: after three failures nothing is asked of the endpoint,
// people read the sentence at once, and the admins are told once.
func TestModelIsLeftAlone(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{haste: 20, options: options{think: always(llmfake.Status(401))}})
	b.opens()
	b.Say(b.ann.ID, b.ann, "hello from the admin") // so that the bot can write to her
	refusal := b.text("problem.refused", nil)
	b.sees(b.ann.ID, refusal)
	for i := range 4 {
		asked := b.Say(b.bob.ID, b.bob, fmt.Sprintf("question %d", i))
		b.meets(b.bob.ID, "the sentence", func(m telegramfake.Message) bool { return m.ID > asked && strings.Contains(m.Text, refusal) })
	}
	if n := len(b.models.Requests()); n != 3 {
		t.Errorf("%d requests, want three and then none", n)
	}
	b.sees(b.ann.ID, "keeps failing", "main", "models.main.api_key")
	told := 0
	for _, m := range b.Chat(b.ann.ID).Bots() {
		if strings.Contains(m.Text, "keeps failing") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("the admin was told %d times, want once", told)
	}
}

// TestCutAnswerIsTriedAgain: in the chat the message that the answer grew in
// says what happened and keeps what came of it; Retry brings the whole answer.
func TestCutAnswerIsTriedAgain(t *testing.T) {
	t.Parallel()
	const attempts = 3 // of one call
	b := newTelegramEnv(t, telegramOptions{haste: 20, options: options{think: func(r llmfake.Request) llmfake.Response {
		if r.Seq <= attempts {
			return cutAfter(12)
		}
		return llmfake.Say(story)
	}}})
	b.opens()
	b.Say(b.bob.ID, b.bob, "tell me a story")
	retry := b.says("button.retry", nil)
	m := b.offers(b.bob.ID, retry, b.text("problem.cut_off", nil), b.text("partial.answer", nil), "a river that ran uphill, because […]")
	b.taps(b.bob, b.bob.ID, m.ID, retry)
	b.sees(b.bob.ID, "because it had never heard otherwise.")
}
