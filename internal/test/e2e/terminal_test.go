package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"

	"legwork/internal/test/fakes/llmfake"
)

// terminalEnv is a person at a terminal in which legwork runs.
type terminalEnv struct {
	t      *testing.T
	cmd    *exec.Cmd
	master *os.File
	ended  chan struct{}
	shown  chan struct{} // closed when all that was written is on the screen

	mu     sync.Mutex
	screen vt10x.Terminal
	news   chan struct{} // something was written
}

// sit starts legwork in a pseudo-terminal of 100 columns and 40 rows.
func (w *env) sit(args ...string) *terminalEnv {
	w.t.Helper()
	return w.sitAt(100, 40, args...)
}

// sitAt is sit with another size.
func (w *env) sitAt(columns, rows uint16, args ...string) *terminalEnv {
	w.t.Helper()
	s := &terminalEnv{
		t: w.t, cmd: w.command(args...), ended: make(chan struct{}),
		screen: vt10x.New(vt10x.WithSize(int(columns), int(rows))), news: make(chan struct{}, 1),
		shown: make(chan struct{}),
	}
	s.cmd.Env = append(s.cmd.Env, "TERM=xterm-256color")
	var err error
	if s.master, err = pty.StartWithSize(s.cmd, &pty.Winsize{Rows: rows, Cols: columns}); err != nil {
		w.t.Fatal(err)
	}
	go s.watch()
	go func() {
		defer close(s.ended)
		_ = s.cmd.Wait() // its outcome is in ProcessState
	}()
	w.t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		<-s.ended
		_ = s.master.Close()
		<-s.shown
		if w.t.Failed() {
			w.t.Logf("the screen at the end:\n%s", s.text())
		}
	})
	return s
}

// watch shows what is written until the other end is closed.
func (s *terminalEnv) watch() {
	defer close(s.shown)
	p := make([]byte, 4096)
	for {
		n, err := s.master.Read(p)
		if err != nil {
			return
		}
		s.mu.Lock()
		_, _ = s.screen.Write(p[:n]) // a screen in memory
		s.mu.Unlock()
		select {
		case s.news <- struct{}{}:
		default:
		}
	}
}

func (s *terminalEnv) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := strings.Split(s.screen.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \x00")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// sees waits until all texts are on the screen.
func (s *terminalEnv) sees(texts ...string) {
	s.t.Helper()
	s.until(fmt.Sprintf("%q", texts), func(screen string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(screen, text) })
	})
}

// until waits until the screen is as it should be.
func (s *terminalEnv) until(what string, ok func(screen string) bool) {
	s.t.Helper()
	late := time.After(patience)
	for !ok(s.text()) {
		select {
		case <-s.news:
		case <-late:
			s.t.Fatalf("%s is not on the screen:\n%s", what, s.text())
		}
	}
}

func (s *terminalEnv) types(keys string) {
	s.t.Helper()
	if _, err := s.master.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// leaves waits for the end.
func (s *terminalEnv) leaves() {
	s.t.Helper()
	s.ends(0)
}

// ends waits for the end with an exit code.
func (s *terminalEnv) ends(want int) {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.t.Fatalf("legwork did not end in %v", patience)
	}
	if code := s.cmd.ProcessState.ExitCode(); code != want {
		s.t.Errorf("exit code: got %d, want %d", code, want)
	}
}

// TestKillInTerminal: a person sees the plan at work when the process is
// killed, starts it again and reads the answer.
func TestKillInTerminal(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{think: slowly(`{"ms": 2000}`), tools: ", slow", limit: time.Minute})
	s := w.sit("chat")
	s.sees("Type a question.")
	s.types("first: what is quick and slow?\r")
	s.sees("first: what is quick and slow?", "Working: 1 of 2 sub-tasks done", "quick", "slow")
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.ended

	again := w.sit("chat")
	again.sees("Continuing 1 unfinished task from last time.", "Working: 1 of 2 sub-tasks done")
	again.sees("value of quick", "at last", "2 sub-tasks ·")
	if n := len(w.calls("lookup")); n != 1 {
		t.Errorf("got %d lookups, want the one of the first run", n)
	}
	again.types("later: are you there?\r")
	again.sees("[later] answers: later: are you there?")
	again.types("\x04") // Ctrl-D
	again.leaves()
	if w.sit("chat").sees("Type a question."); len(w.asked("first: what is quick and slow?")) != 3 {
		t.Errorf("the model was asked %d times about the first question, want 3: plan, review, and as history", len(w.asked("first: what is quick and slow?")))
	}
}

// TestSignalInTerminal: SIGTERM leaves the terminal tidy, says that the task
// goes on, and it does.
func TestSignalInTerminal(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{think: slowly(`{"ms": 2000}`), tools: ", slow", limit: time.Minute})
	s := w.sit("chat")
	s.sees("Type a question.")
	s.types("first: what is quick and slow?\r")
	s.sees("Working: 1 of 2 sub-tasks done")
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.leaves()
	s.sees(w.text("terminal.unfinished", map[string]any{"Count": 1}))
	again := w.sit("chat")
	again.sees("value of quick", "at last")
}

// TestInterruptInTerminal: Ctrl-C stops the task; when nothing runs, it leaves.
func TestInterruptInTerminal(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{think: slowly(`{"ms": 60000}`), tools: ", slow", limit: 2 * time.Minute})
	s := w.sit("chat")
	s.sees("Type a question.")
	s.types("first: what is quick and slow?\r")
	s.sees("Working: 1 of 2 sub-tasks done")
	s.types("\x03")
	s.sees("Found: ", "value of quick")
	s.types("later: are you there?\r")
	s.sees("[later] answers: later: are you there?")
	s.until("a screen at rest", func(screen string) bool { return !strings.ContainsAny(screen, "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏▸") })
	s.types("\x03")
	s.leaves()
}

// TestFaultInTerminal: the screen shows the sentence and no line of the log.
func TestFaultInTerminal(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{think: always(llmfake.Status(401))})
	s := w.sit("chat")
	s.sees("Type a question.")
	s.types("first: hello\r")
	s.sees("The language model did not accept the access key.")
	s.types("later: hello\r")
	s.sees("[later] answers: later: hello")
	if text := s.text(); strings.Contains(text, "level=") {
		t.Errorf("the screen shows the log:\n%s", text)
	}
	log, err := os.ReadFile(w.file("data/legwork.log"))
	if err != nil || !hasLine(string(log), "level=ERROR", "task=", "401") {
		t.Errorf("the log beside the data: %v, %s; want the cause with the task", err, log)
	}
	s.types("/help\r")
	s.sees("/status", "Alt-Enter")
	s.types("\x04")
	s.leaves()
}

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
	} else if strings.Contains(got, "Denied by") {
		t.Errorf("stderr is %q, but nobody decided", got)
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
