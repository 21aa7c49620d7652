package e2e_test

import (
	"encoding/json"
	"slices"
	"strings"

	"legwork/bot"
)

// event is a line that legwork chat --json writes.
type event struct {
	Type    string       `json:"type"`
	Message string       `json:"message"`
	Task    string       `json:"task"`
	ID      string       `json:"id"`
	ReplyTo string       `json:"reply_to"`
	Text    string       `json:"text"`
	Failed  bool         `json:"failed"`
	Footer  string       `json:"footer"`
	Board   *bot.Board   `json:"board"`
	Buttons []bot.Button `json:"buttons"`
	Line    int          `json:"line"`
}

// events are the events so far.
func (p *program) events() []event {
	p.t.Helper()
	text := p.out.String()
	text = text[:strings.LastIndexByte(text, '\n')+1]
	var all []event
	for line := range strings.Lines(text) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			p.t.Fatalf("the event %q cannot be read: %v", line, err)
		}
		all = append(all, e)
	}
	return all
}

// see waits for an event.
func (p *program) see(what string, fits func(event) bool) event {
	p.t.Helper()
	var found event
	p.until(what, func() bool {
		all := p.events()
		i := slices.IndexFunc(all, fits)
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	return found
}

// send writes a message with an id of its own.
func (p *program) send(id, text string) {
	p.t.Helper()
	line, err := json.Marshal(map[string]string{"id": id, "text": text})
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(string(line) + "\n")
}

// guide sends a message that may be guidance for a running task.
func (p *program) guide(id, text string) {
	p.t.Helper()
	line, err := json.Marshal(map[string]any{"id": id, "text": text, "standalone": false})
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(string(line) + "\n")
}

// ask sends a question and waits for its answer.
func (p *program) ask(id, text string) event {
	p.t.Helper()
	p.send(id, text)
	return p.answer(id)
}

// answer waits for the answer to a question.
func (p *program) answer(id string) event {
	p.t.Helper()
	return p.see("the answer to "+id, func(e event) bool { return e.Type == "answer" && e.ReplyTo == id })
}

// notice waits for a sentence that is no answer.
func (p *program) notice(text string) event {
	p.t.Helper()
	return p.see("the notice "+text, func(e event) bool { return e.Type == "notice" && strings.Contains(e.Text, text) })
}

// says checks an answer.
func (p *program) says(got event, failed bool, want string) {
	p.t.Helper()
	if got.Failed != failed || !strings.Contains(got.Text, want) {
		p.t.Errorf("answer to %s: got failed %v, %.500q; want failed %v, %q", got.ReplyTo, got.Failed, got.Text, failed, want)
	}
}

// goesOn checks that the same process still answers, with and without a plan,
// and that it ends after every task was answered exactly once.
func (p *program) goesOn() {
	p.t.Helper()
	p.alive()
	p.says(p.ask("later1", "later1: say hello"), false, "later1: say hello")
	p.says(p.ask("later2", "later2: safe again"), false, "value of later2 safe again")
	p.end()
	answers := map[string]int{}
	for _, e := range p.events() {
		switch e.Type {
		case "board":
			answers[e.Task] += 0
		case "answer":
			answers[e.Task]++
		}
	}
	for task, n := range answers {
		if n != 1 {
			p.t.Errorf("task %s was answered %d times, want once", task, n)
		}
	}
}
