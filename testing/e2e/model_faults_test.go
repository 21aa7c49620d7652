package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"legwork/fakes/llmfake"
	"legwork/fakes/telegramfake"
)

// story is an answer that is long enough to be shown while it comes.
const story = "Once upon a time there was a river that ran uphill, because nobody had told it otherwise."

// cutAfter is the story up to so many words.
func cutAfter(words int) llmfake.Response { return llmfake.Broken(llmfake.FaultCut, words+1, story) }

// TestAskedToBeLeftAlone: an endpoint that wants to be left alone for hours is,
// and people read for how long.
func TestAskedToBeLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plot{think: always(llmfake.Busy("7200"))})
	p := w.start("chat", "--json")
	first := p.ask("q1", "first: say something")
	p.says(first, true, w.text("problem.busy", map[string]any{"Elapsed": 2 * time.Hour}))
	p.logged("task="+first.Task, "429", "2h0m0s")
	p.says(p.ask("q2", "second: say something"), true, "left alone")
	if n := len(w.models.Requests()); n != 1 {
		t.Errorf("%d requests, want one: it asked to be left alone", n)
	}
	p.end()
}

// TestCutAnswerIsKept: what came of an answer before it was cut off for good
// stays, marked as incomplete, and the next question sees it.
func TestCutAnswerIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plot{think: func(r llmfake.Request) llmfake.Response {
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
	w := newWorld(t, plot{think: always(llmfake.Response{Text: story, Finish: "content_filter"})})
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
	w := newWorld(t, plot{think: steps{
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
	w := newWorld(t, plot{think: func(r llmfake.Request) llmfake.Response {
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
	p.logged("task="+answer.Task, "too long for its model and is made shorter")
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
	w := newWorld(t, plot{think: func(r llmfake.Request) llmfake.Response { return *tooLong(r, 0) }})
	p := w.start("chat", "--json")
	answer := p.ask("q", "first: "+strings.Repeat("words ", 2000))
	p.says(answer, true, w.text("problem.too_long", nil))
	p.logged("level=ERROR", "task="+answer.Task, "too_long")
	if n := len(w.asked("first: words")); n > 3 {
		t.Errorf("%d requests, want three at most", n)
	}
	p.goesOn()
}

// TestOddReplies: what models write instead of what they should.
func TestOddReplies(t *testing.T) {
	t.Parallel()
	desk := func(what string) string {
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
		"two plans in the text":  {llmfake.Say("First " + desk("old") + " or rather " + desk("new")), false, "value of new", "new"},
		"two plans as calls":     {llmfake.Response{ToolCalls: []llmfake.ToolCall{{Name: "plan", Arguments: desk("old")}, {Name: "plan", Arguments: desk("new")}}}, false, "value of new", "new"},
		"a plan that is cut off": {llmfake.Response{ToolCalls: []llmfake.ToolCall{{Name: "plan", Arguments: desk("old")[:60]}}, Finish: "length"}, true, "problem.cut_off", ""},
		"a plan cut in the text": {llmfake.Response{Text: desk("old")[:60], Finish: "length"}, true, "problem.cut_off", ""},
		"a plan cut by the line": {llmfake.Response{Text: desk("old"), Fault: llmfake.Fault{Kind: llmfake.FaultCut, After: 4}}, true, "problem.cut_off", ""},
		"thinking, then a plan":  {llmfake.Response{Text: "<think>" + desk("old") + "</think>" + desk("new")}, false, "value of new", "new"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, plot{think: steps{plan: always(c.plan)}.think})
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
			w := newWorld(t, plot{think: steps{
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

// TestModelIsLeftAlone: after three failures nothing is asked of the endpoint,
// people read the sentence at once, and the admins are told once.
func TestModelIsLeftAlone(t *testing.T) {
	t.Parallel()
	b := newTown(t, scene{haste: 20, plot: plot{think: always(llmfake.Status(401))}})
	b.opens()
	b.Say(b.ann.ID, b.ann, "hello from the admin") // so that the bot can write to her
	sorry := b.text("problem.refused", nil)
	b.sees(b.ann.ID, sorry)
	for i := range 4 {
		asked := b.Say(b.bob.ID, b.bob, fmt.Sprintf("question %d", i))
		b.meets(b.bob.ID, "the sentence", func(m telegramfake.Message) bool { return m.ID > asked && strings.Contains(m.Text, sorry) })
	}
	if n := len(b.models.Requests()); n != 3 {
		t.Errorf("%d requests, want three and then none", n)
	}
	b.sees(b.ann.ID, "fails again and again", "main", "models.main.api_key")
	told := 0
	for _, m := range b.Chat(b.ann.ID).Bots() {
		if strings.Contains(m.Text, "fails again and again") {
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
	b := newTown(t, scene{haste: 20, plot: plot{think: func(r llmfake.Request) llmfake.Response {
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
	b.sees(b.bob.ID, "because nobody had told it otherwise.")
}
