package e2e_test

import (
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"legwork/internal/test/fakes/llmfake"
)

// TestTextInterrupted: a question that a signal left unanswered has failed; its
// answer comes in the next run, but not as the answer to that one's question.
func TestTextInterrupted(t *testing.T) {
	t.Parallel()
	var seen atomic.Int64
	hangs := make(chan struct{})
	w := newEnv(t, options{wait: time.Minute, think: func(r llmfake.Request) llmfake.Response {
		if seen.Add(1) == 1 {
			close(hangs)
			return llmfake.Response{Fault: llmfake.Fault{Kind: llmfake.FaultHang}}
		}
		return llmfake.Brain{}.Respond(r)
	}})
	p := w.start("chat", "q1: say one")
	select {
	case <-hangs:
	case <-p.ended:
		t.Fatal("legwork ended before it asked the model")
	case <-time.After(patience):
		t.Fatalf("the model was not asked in %v", patience)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code, want := p.code(), w.text("terminal.unfinished", map[string]any{"Count": 1}); code != 1 || p.out.String() != "" || !strings.Contains(p.err.String(), want) {
		t.Errorf("interrupted: got exit code %d and stdout %q, want 1, nothing, and %q on stderr", code, p.out.String(), want)
	}
	next := w.start("chat", "q2: say two")
	next.end()
	if got, want := next.out.String(), "[q2] answers: q2: say two\n"; got != want {
		t.Errorf("the next run: got stdout %q, want %q", got, want)
	}
	if want := "↳ q1: say one\n[q1] answers: q1: say one\n"; !strings.Contains(next.err.String(), want) {
		t.Errorf("the next run: got stderr %q, want the earlier answer as %q", next.err.String(), want)
	}
}

// TestTextRefused: a question that is not taken has failed; a command has not.
func TestTextRefused(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{})
	part := strings.Repeat("long ", 20<<10)
	for _, c := range []struct {
		args []string
		code int
		said string
	}{
		{[]string{"chat", part, part, part}, 1, w.text("error.goal_too_long", map[string]any{"Max": 256 << 10})},
		{[]string{"chat", "/status"}, 0, w.text("statusline.none", nil)},
	} {
		p := w.start(c.args...)
		if code := p.code(); code != c.code || p.out.String() != "" || !strings.Contains(p.err.String(), c.said) {
			t.Errorf("%.20q: got exit code %d, stdout %q, stderr %q; want %d, nothing, and %q", c.args, code, p.out.String(), p.err.String(), c.code, c.said)
		}
	}
}

// TestNobodyApproves: with a single question no person can allow a call, so
// that it is denied, and the person reads which key lets it run.
func TestNobodyApproves(t *testing.T) {
	t.Parallel()
	w := newEnv(t, purchase())
	for _, args := range [][]string{{"chat", "buy a boat"}, {"chat", "--json", "buy a boat"}} {
		code, out, said := w.finish("", args...)
		if code != 0 || !strings.Contains(out, "declined") || !strings.Contains(out+said, "approve: never") {
			t.Errorf("%q ended with %d, wrote %q and said %q; want an answer that names the denial, and the key", args, code, out, said)
		}
	}
	if calls := w.calls("book"); len(calls) > 0 {
		t.Errorf("the call was made: %q", calls)
	}
}
