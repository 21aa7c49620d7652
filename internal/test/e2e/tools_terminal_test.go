package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// exit waits for the end and checks the exit code.
func (s *terminalEnv) exit(want int) {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.t.Fatalf("legwork did not end in %v", patience)
	}
	if code := s.cmd.ProcessState.ExitCode(); code != want {
		s.t.Errorf("exit code: got %d, want %d; the screen is\n%s", code, want, s.text())
	}
}

// TestToolsCallInTerminal: a person sees the whole call and decides; what cannot
// be seen is written out.
func TestToolsCallInTerminal(t *testing.T) {
	t.Parallel()
	w := bench(t, "")
	s := w.sit("tools", "call", "desk", "book", `{"item": "a \u202etaob", "item2": "\u001b[2J"}`)
	s.sees("desk.book", `"item": "a \u202etaob"`, `"item2": "\u001b[2J"`, "Call it? [y/N]")
	s.types("\r")
	s.exit(1)
	s.sees("you did not approve it")
	if calls := w.calls("book"); len(calls) > 0 {
		t.Fatalf("a call that was not approved was made: %q", calls)
	}
	s = w.sit("tools", "call", "desk", "book", `{"item": "a boat"}`)
	s.sees("Call it? [y/N]")
	s.types("y\r")
	s.sees("booked a boat")
	s.exit(0)
	s = w.sit("tools", "call", "desk", "book", `{"item": "a boat"}`)
	s.sees("Call it? [y/N]")
	s.types("\x03")
	s.exit(1)
	s.sees("interrupted; it was not called")
	if calls := w.calls("book"); len(calls) != 1 {
		t.Errorf("got the calls %q, want one", calls)
	}
}

// TestQuestionsInTerminal: a server's form is asked for field by field, its
// address is shown in full, and both can be declined, in every era.
func TestQuestionsInTerminal(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"modern", "legacy"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			w := bench(t, "", "-era", era)
			s := w.sit("tools", "call", "desk", "ask_form", "--yes")
			s.sees(`The server "desk" asks:`, "Which seat would you like?", "Class (1 of 5)", "2. Business")
			s.types("9\r")
			s.sees(w.text("form.bad_choice", nil))
			for _, step := range [][2]string{{"Class (1 of 5)", "2"}, {"Window seat (2 of 5)", "no"}, {"Bags (3 of 5)", "1"}, {"E-mail (4 of 5)", "a@example.com"}, {"Note (5 of 5)", ""}} {
				s.sees(step[0])
				s.types(step[1] + "\r")
			}
			s.exit(0)
			told := []string{`"action":"accept"`, `"class":"business"`, `"window":false`, `"bags":1`, `"email":"a@example.com"`}
			s.until(fmt.Sprintf("that the server was told %q", told), func(screen string) bool {
				return holdsAll(strings.ReplaceAll(screen, "\n", ""), told)
			})
			s = w.sit("tools", "call", "desk", "ask_form", "--yes")
			s.sees("Class (1 of 5)")
			s.types("!\r")
			s.exit(0)
			s.sees(`"action":"decline"`)
			s = w.sit("tools", "call", "desk", "ask_form", "--yes")
			s.sees("Class (1 of 5)")
			s.types("\x04")
			s.exit(0)
			s.sees(`"action":"cancel"`)
			s = w.sit("tools", "call", "desk", "ask_url", "--yes")
			s.sees("https://shop.example.com/login?next=%2Fpay&id=7#top", "on the host shop.example.com", "[y/N]")
			s.types("y\r")
			s.exit(0)
			s.sees(`"action":"accept"`)
		})
	}
}
