package e2e_test

import (
	"strings"
	"testing"
)

// TestLongGoals: a goal of 100 KB reaches the model whole; a goal that no
// model could read is refused with a sentence.
func TestLongGoals(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return "first: " + strings.Repeat("long text ", n/10) + "the end" }
	t.Run("100 KB", func(t *testing.T) {
		t.Parallel()
		w := newEnv(t, options{})
		p := w.start("chat", "--json")
		p.says(p.ask("q", long(100<<10)), false, "the end")
		if n := len(w.asked(long(100 << 10))); n != 1 {
			t.Errorf("%d prompts hold the whole goal, want one", n)
		}
		p.goesOn()
	})
	t.Run("more than the model takes", func(t *testing.T) {
		t.Parallel()
		w := newEnv(t, options{model: ", context_tokens: 9000, max_output_tokens: 1000"})
		p := w.start("chat", "--json")
		p.says(p.ask("q", long(100<<10)), true, w.text("problem.too_long", nil))
		if n := len(w.models.Requests()); n != 0 {
			t.Errorf("%d requests were sent, want none", n)
		}
		p.goesOn()
	})
	t.Run("300 KB", func(t *testing.T) {
		t.Parallel()
		w := newEnv(t, options{})
		p := w.start("chat", "--json")
		p.send("q", long(300<<10))
		if got, want := p.notice("too long"), w.text("error.goal_too_long", map[string]any{"Max": 256 << 10}); got.Text != want || got.ReplyTo != "q" {
			t.Errorf("got %+v, want %q", got, want)
		}
		p.goesOn()
	})
}

// TestEmptyGoals: an empty goal is answered with a sentence, or is no goal.
func TestEmptyGoals(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " \t\n "} {
		t.Run("as an argument", func(t *testing.T) {
			t.Parallel()
			w := newEnv(t, options{})
			p := w.start("chat", text)
			if code := p.code(); code != 2 || !strings.Contains(p.err.String(), "the question is empty") || p.out.String() != "" {
				t.Errorf("legwork chat %q: exit code %d, stdout %q, stderr %q; want 2 and a sentence", text, code, p.out.String(), p.err.String())
			}
		})
	}
	t.Run("as JSON", func(t *testing.T) {
		t.Parallel()
		w := newEnv(t, options{})
		p := w.start("chat", "--json")
		p.send("q", "  ")
		e := p.see("an error", func(e event) bool { return e.Type == "error" })
		if e.Line != 1 || !strings.Contains(e.Text, "line 1 has no text") {
			t.Errorf("got %+v, want the line and what is wrong", e)
		}
		p.goesOn()
	})
	t.Run("as lines", func(t *testing.T) {
		t.Parallel()
		w := newEnv(t, options{})
		p := w.start("chat")
		p.write("\n   \nlater: say hello\n")
		p.end()
		if got, want := p.out.String(), "[later] answers: later: say hello\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// TestOddInput: input that is not a JSON object, no UTF-8 or no command is
// answered, and the input after it as well.
func TestOddInput(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{})
	p := w.start("chat", "--json")
	p.write("{\"id\": 7}\n")
	if e := p.see("an error", func(e event) bool { return e.Type == "error" && e.Line == 1 }); !strings.Contains(e.Text, "line 1") {
		t.Errorf("got %+v, want the line named", e)
	}
	p.send("q", "/dance")
	p.notice(w.text("error.unknown_command", map[string]any{"Command": "/dance"}))
	p.write("no JSON\n")
	p.see("an error about a line that is no JSON", func(e event) bool { return e.Type == "error" && e.Line == 3 && e.Message == "" })
	p.write("{\"id\": \"broken\", \"text\": \n")
	p.see("an error about a broken object", func(e event) bool { return e.Type == "error" && e.Line == 4 && e.Message == "broken" })
	p.write("{\"id\": \"odd\", \"text\": \"first: \xff\xfe\\u0000 bytes\"}\n")
	p.see("an answer", func(e event) bool { return e.Type == "answer" && strings.Contains(e.Text, "bytes") })
	p.goesOn()
}
