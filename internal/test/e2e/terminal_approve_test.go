package e2e_test

import (
	"strings"
	"testing"
)

// TestApproveInTerminal: a card is decided by a number key, also after the
// terminal was killed under it; words go to the task and decide nothing.
func TestApproveInTerminal(t *testing.T) {
	t.Parallel()
	w := newEnv(t, shopping(orders{words: map[string]string{"TRICK": `\u202eraob\u200b`}}, "book, slow"))
	s := w.sit("chat")
	s.sees("Type a question.")
	s.types(`q1: shop book {"item":"TRICK"} and slow {"ms":1} then book {"item":"an oar"} then slow {"ms":2}` + "\r")
	s.sees("Allow these 2 actions?", `"item": "\u202eraob\u200b"`, `"ms": 1`, "1 Allow once", "2 Allow for this task", "3 Deny", "5 Always in this chat")
	s.types("yes, please\r")
	s.sees("Added to the running task.")
	w.bought()
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.ended

	s = w.sit("chat")
	s.sees("Continuing 1 unfinished task", "Allow these 2 actions?", "1 Allow once")
	s.types("1")
	s.sees("Allow this action?", `"item": "an oar"`)
	w.bought(`\u202eraob\u200b`)
	s.types("4")
	s.sees(w.text("approval.why_here", nil))
	s.types("it is too long\r")
	s.sees(`"ms": 2`)
	s.types("1")
	s.sees("[q1] The tools said:", "at last")
	if len(w.asked("A person declined this call: it is too long. Do not try it again")) == 0 {
		t.Error("the model was not told why the call was denied")
	}
	w.bought(`\u202eraob\u200b`)
	s.types("/approvals\r")
	s.sees(w.text("approvals.none", nil))
	s.types("\x04")
	s.leaves()
}

// TestApproveAlwaysInTerminal: who sits at the terminal can allow a tool for
// good, and take that back.
func TestApproveAlwaysInTerminal(t *testing.T) {
	t.Parallel()
	w := newEnv(t, shopping(orders{}, "book"))
	s := w.sit("chat")
	s.sees("Type a question.")
	s.types("q1: " + boat + "\r")
	s.sees("5 Always in this chat")
	s.types("5")
	s.sees("booked a boat")
	s.types("\x04")
	s.leaves()
	p := w.start("chat", `q2: shop book {"item":"an oar"}`)
	p.end()
	if got := p.out.String(); !strings.Contains(got, "booked an oar") {
		t.Errorf("allowed for good: got the answer %q", got)
	}
	w.bought("a boat", "an oar")

	s = w.sit("chat")
	s.types("/approvals\r")
	s.sees("Allowed without asking", "desk.book", "always in this chat")
	_, after, _ := strings.Cut(s.text(), "Allowed without asking")
	fields := strings.FieldsFunc(after, func(r rune) bool { return r == ' ' || r == '\n' || r == '`' || r == ':' })
	code := fields[1]
	s.types("/approvals revoke " + code + "\r")
	s.sees("Revoked: desk.book")
	s.types(`q3: shop book {"item":"a sail"}` + "\r")
	s.sees(`"item": "a sail"`, "3 Deny")
	s.types("3")
	s.sees("[q3]", "declined")
	w.bought("a boat", "an oar")
}

// TestApproveOnce: with one question and no person at the keys, legwork makes
// no call that needs an approval; the answer and stderr say what would let it
// run, and the exit is clean.
func TestApproveOnce(t *testing.T) {
	t.Parallel()
	w := newEnv(t, shopping(orders{}, "book"))
	p := w.start("chat", "q1: "+boat)
	p.end()
	if got := p.out.String(); !strings.Contains(got, "[q1]") || !strings.Contains(got, "There is no person to decide") || !strings.Contains(got, "approve: never") {
		t.Errorf("the answer is %q, want that there was no person and which key would let it run", got)
	}
	if got := p.err.String(); !strings.Contains(got, "Allow this action?") || !strings.Contains(got, "a boat") || !strings.Contains(got, w.text("terminal.unapproved", nil)) {
		t.Errorf("stderr is %q, want the call and why it was denied", got)
	}
	w.bought()
}

// TestApproveByProgram: a program sees each call of a turn whole, decides by the
// data of a button, also about arguments that are too long for a chat.
func TestApproveByProgram(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("plank ", 2000)
	w := newEnv(t, shopping(orders{words: map[string]string{"LONG": long}}, "book"))
	p := w.start("chat", "--json")
	p.send("q", `q1: shop book {"item":"LONG"} then book {"item":"an oar"}`)
	card := p.see("the card", func(e event) bool { return e.Type == "question" && len(e.Buttons) > 3 })
	if !strings.Contains(p.out.String(), `"calls":[{"tool":"desk.book","arguments":{"item":"`+long+`"}}]`) {
		t.Errorf("the event lacks the call: %.300s", card.Text)
	}
	p.write(`{"id":"d","press":"` + card.Buttons[1].Data + `"}` + "\n") // for this task
	answer := p.answer("q")
	p.says(answer, false, "booked an oar")
	w.bought(long, "an oar")
	p.goesOn()
}
