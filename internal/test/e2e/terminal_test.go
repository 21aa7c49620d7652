package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
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

	mu     sync.Mutex
	screen vt10x.Terminal
	news   chan struct{} // something was written
}

// sit starts legwork in a pseudo-terminal of 100 columns and 40 rows.
func (w *env) sit(args ...string) *terminalEnv {
	w.t.Helper()
	s := &terminalEnv{
		t: w.t, cmd: w.command(args...), ended: make(chan struct{}),
		screen: vt10x.New(vt10x.WithSize(100, 40)), news: make(chan struct{}, 1),
	}
	s.cmd.Env = append(s.cmd.Env, "TERM=xterm-256color")
	var err error
	if s.master, err = pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 40, Cols: 100}); err != nil {
		w.t.Fatal(err)
	}
	var watching sync.WaitGroup
	watching.Go(s.watch)
	go func() {
		defer close(s.ended)
		_ = s.cmd.Wait() // its outcome is in ProcessState
	}()
	w.t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		<-s.ended
		_ = s.master.Close()
		watching.Wait()
		if w.t.Failed() {
			w.t.Logf("the screen at the end:\n%s", s.text())
		}
	})
	return s
}

// watch shows what is written until the other end is closed.
func (s *terminalEnv) watch() {
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
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.t.Fatalf("legwork did not end in %v", patience)
	}
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		s.t.Errorf("exit code: got %d, want 0", code)
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
