package e2e_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"legwork/internal/test/fakes/llmfake"
	"legwork/store/bolt"
)

// canary finds what tells the turns of a long chat apart.
var canary = regexp.MustCompile(`canary\d+`)

// canaries are those of a text, each once, in order.
func canaries(text string) []string {
	var list []string
	for _, w := range canary.FindAllString(text, -1) {
		if !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}

// summarises reports that a request is for a summary of a conversation.
func summarises(r llmfake.Request) bool {
	return strings.HasPrefix(r.System(), "You keep the memory of a conversation")
}

// remembers is a model that summarises by keeping the words.
func remembers(r llmfake.Request) llmfake.Response {
	if summarises(r) {
		return llmfake.Say("Remembered: " + strings.Join(canaries(prompt(r)), " "))
	}
	return llmfake.Brain{}.Respond(r)
}

// smallContext makes prompts hold some 4,000 bytes of the conversation.
const smallContext = ", context_tokens: 8000, max_output_tokens: 1000"

// summaries are the requests for summaries so far.
func (w *env) summaries() []llmfake.Request {
	return slices.DeleteFunc(w.models.Requests(), func(r llmfake.Request) bool { return !summarises(r) })
}

// talk asks questions one after the other, each with a word of its own.
func (p *program) talk(from, to int) {
	p.t.Helper()
	for i := from; i < to; i++ {
		p.ask(fmt.Sprintf("q%d", i), fmt.Sprintf("q%d: remember canary%d. %s", i, i, strings.Repeat("More words. ", 10)))
	}
}

// TestLongChat: over sixty turns and a kill in between, the older ones go into a
// summary, each once, and every prompt holds the summary and the turns since.
func TestLongChat(t *testing.T) {
	t.Parallel()
	const turns = 60
	w := newEnv(t, options{think: remembers, model: smallContext})
	p := w.start("chat", "--json")
	p.talk(0, turns/2)
	p.kill()
	p = w.start("chat", "--json")
	p.talk(turns/2, turns)
	p.end()

	var told []string // turns that were summarised
	for _, r := range w.summaries() {
		_, since, _ := strings.Cut(prompt(r), "The conversation since then:")
		told = append(told, canaries(since)...)
	}
	if n := len(w.summaries()); n < 3 || n > 12 {
		t.Errorf("%d summaries were made of %d turns", n, turns)
	}
	var want []string
	for i := range slices.Compact(slices.Clone(told)) {
		want = append(want, fmt.Sprintf("canary%d", i))
	}
	if !slices.Equal(told, want) || len(told) < turns/2 {
		t.Errorf("summarised were %v, want each turn once and in order", told)
	}
	held := 0
	for _, r := range w.models.Requests() {
		if summarises(r) {
			continue
		}
		past := prompt(r)
		if n := len(past) - len(r.System()); n > 12_000 {
			t.Errorf("a prompt has %d bytes beside its rules", n)
		}
		got := canaries(past)
		for i, c := range got {
			if c != fmt.Sprintf("canary%d", i) {
				t.Fatalf("a prompt of turn %s has a gap: %v", got[len(got)-1], got)
			}
		}
		if strings.Contains(past, "<summary>\nRemembered: canary0") {
			held++
		}
	}
	if held < turns/2 {
		t.Errorf("%d prompts hold the summary, want more than half of %d", held, turns)
	}
}

// TestNewAndForgetSummaries: after /new no prompt holds what was summarised, and
// after /forget and a compaction the data file does not either.
func TestNewAndForgetSummaries(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{think: remembers, model: smallContext})
	p := w.start("chat", "--json")
	p.talk(0, 20)
	p.until("a summary", func() bool { return len(w.summaries()) > 0 })
	p.send("n", "/new")
	p.notice(w.text("notice.new", nil))
	p.ask("q1000", "q1000: what do you remember?")
	for _, r := range w.asked("q1000: what") {
		if got := canaries(prompt(r)); len(got) > 0 {
			t.Errorf("after /new a prompt holds %v", got)
		}
	}
	p.talk(100, 120)
	p.send("f", "/forget yes")
	p.notice("Deleted: 41 questions")
	p.ask("q1001", "q1001: what do you remember?")
	for _, r := range w.asked("q1001: what") {
		if got := canaries(prompt(r)); len(got) > 0 {
			t.Errorf("after /forget a prompt holds %v", got)
		}
	}
	p.end()
	c := w.start("data", "compact")
	if code := c.code(); code != 0 {
		t.Fatalf("legwork data compact: exit code %d", code)
	}
	data, err := os.ReadFile(w.file("data/" + bolt.FileName))
	if err != nil {
		t.Fatal(err)
	}
	if got := canaries(string(data)); len(got) > 0 || !strings.Contains(string(data), "q1001: what") {
		t.Errorf("the data file holds %v, want only what was said after /forget", got)
	}
}

// TestEarlierResult: a later question of the chat reads what an agent found for
// an earlier one, by the reference that the plan names.
func TestEarlierResult(t *testing.T) {
	t.Parallel()
	reference := regexp.MustCompile(`(?m)^(\w{6}/1/a) · desk · \d+ · find canary1`)
	w := newEnv(t, options{think: steps{
		plan: func(r llmfake.Request) llmfake.Response {
			goal, _ := r.Tagged("goal")
			if found := reference.FindStringSubmatch(prompt(r)); found != nil {
				goal += " with " + found[1]
			}
			return llmfake.Call("plan", fmt.Sprintf(`{"plan": [{"name": "desk", "description": %q}, {"name": "safe", "description": "beside it"}]}`, goal))
		},
		work: func(r llmfake.Request) llmfake.Response {
			task, _ := r.Tagged("task")
			said, told := toolResult(r)
			found := reference.FindStringSubmatch(prompt(r))
			switch {
			case told:
				return llmfake.Say("found for " + task + ": " + said)
			case strings.HasPrefix(task, "use") && found != nil:
				return llmfake.Call("read_result", fmt.Sprintf(`{"earlier": %q}`, found[1]))
			}
			return llmfake.Call(exposed(r, "lookup"), `{"key": "canary1"}`)
		},
	}.think})
	p := w.start("chat", "--json")
	p.ask("q1", "find canary1")
	p.end()
	p = w.start("chat", "--json")
	p.ask("q2", "use it")
	p.send("n", "/new")
	p.notice(w.text("notice.new", nil))
	p.ask("q3", "use it again")
	p.end()
	read := 0
	for _, r := range w.models.Requests() {
		task, _ := r.Tagged("task")
		if said, ok := toolResult(r); ok && strings.HasPrefix(task, "use it with ") && strings.Contains(said, "found for find canary1") {
			read++
		}
		if strings.HasPrefix(task, "use it again") && reference.MatchString(prompt(r)) {
			t.Errorf("after /new a prompt lists the earlier result: %s", prompt(r))
		}
	}
	if read != 1 {
		t.Errorf("the earlier result was read %d times, want once", read)
	}
}

// hasEnded reports that the process is over.
func (p *program) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// hasAnswered reports that a question of talk has its answer.
func (p *program) hasAnswered(n int) bool {
	p.t.Helper()
	return slices.ContainsFunc(p.events(), func(e event) bool { return e.Type == "answer" && e.ReplyTo == fmt.Sprintf("q%d", n) })
}

// TestSummaryKilled: killed between the call and the storing of a summary, or
// right after it, legwork makes it again or goes on from it, and stores each turn
// in one summary only.
func TestSummaryKilled(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{"commit.before.summarised", "commit.after.summarised"} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t, options{think: remembers, model: smallContext})
			w.haste = 1
			cmd := w.command("chat", "--json")
			cmd.Env = append(cmd.Env, "LEGWORK_FAILPOINT="+moment+":1")
			p := w.launch(cmd)
			n, over := 0, false
			for ; !over && n < 60; n++ {
				// It may be killed at any moment: then the reply is not read.
				_, _ = fmt.Fprintf(p.stdin, `{"id": "q%d", "text": "q%[1]d: remember canary%[1]d. %s"}`+"\n", n, strings.Repeat("More words. ", 10))
				p.until("the answer or the end", func() bool {
					over = p.hasEnded()
					return over || p.hasAnswered(n)
				})
			}
			if !p.hasAnswered(n - 1) {
				n-- // it may not even have been read
			}
			first := w.summaries()
			if len(first) != 1 {
				t.Fatalf("%d summaries were made until the kill, want one", len(first))
			}
			p = w.start("chat", "--json")
			p.talk(n, n+20)
			p.end()
			all := w.summaries()
			if len(all) < 2 {
				t.Fatalf("no summary was made after the kill")
			}
			again := canaries(prompt(all[1]))[0] == "canary0" && !strings.Contains(prompt(all[1]), "Remembered:")
			if want := moment == "commit.before.summarised"; again != want {
				t.Errorf("after the kill the summary begins anew: %v, want %v: %.300s", again, want, prompt(all[1]))
			}
			stored := 0
			for i, r := range all[1:] {
				_, since, _ := strings.Cut(prompt(r), "The conversation since then:")
				if i == 0 && again {
					stored = 0
				} else if i == 0 {
					_, before, _ := strings.Cut(prompt(first[0]), "The conversation since then:")
					stored = len(canaries(before))
				}
				if got, want := canaries(since)[0], fmt.Sprintf("canary%d", stored); got != want {
					t.Errorf("a summary goes on with %s, want %s", got, want)
				}
				stored += len(canaries(since))
			}
		})
	}
}
