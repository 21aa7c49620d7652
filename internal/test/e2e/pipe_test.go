package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for what should be there much sooner.
const patience = 2 * time.Minute

// program is a running legwork.
type program struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   transcript
	err   transcript
	ended chan struct{} // closed when it has ended and all output is read
}

// transcript keeps what is written to it and tells when there is more.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
	news chan struct{}
}

func (x *transcript) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.news != nil {
		close(x.news)
		x.news = nil
	}
	return x.text.Write(p)
}

// read returns what was written, and a channel that closes when there is more.
func (x *transcript) read() (string, <-chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.news == nil {
		x.news = make(chan struct{})
	}
	return x.text.String(), x.news
}

func (x *transcript) String() string {
	text, _ := x.read()
	return text
}

// command prepares legwork in the environment's folder, with nothing of the test's
// own environment.
func (w *env) command(args ...string) *exec.Cmd {
	binary := legwork
	if w.haste > 0 {
		binary = hasty
	}
	cmd := exec.Command(binary(w.t), args...)
	cmd.Dir = w.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "USER=tester", "TMPDIR=" + os.TempDir()}
	if w.haste > 0 {
		cmd.Env = append(cmd.Env, fmt.Sprintf("LEGWORK_HASTE=%d", w.haste))
	}
	cmd.Env = append(cmd.Env, w.vars...)
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// start starts legwork over pipes; it is ended with the test.
func (w *env) start(args ...string) *program {
	w.t.Helper()
	return w.launch(w.command(args...))
}

func (w *env) launch(cmd *exec.Cmd) *program {
	w.t.Helper()
	p := &program{t: w.t, cmd: cmd, ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.out, &p.err
	var err error
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait() // its outcome is in ProcessState
	}()
	w.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-p.ended
		if w.t.Failed() {
			w.t.Logf("%s\nwrote:\n%s\nlogged:\n%.8000s", strings.Join(cmd.Args[1:], " "), p.out.String(), p.err.String())
		}
	})
	return p
}

// write gives text to its standard input.
func (p *program) write(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.stdin, text); err != nil {
		p.t.Fatalf("writing %.200q: %v", text, err)
	}
}

// until waits until look finds what it looks for.
func (p *program) until(what string, look func() bool) {
	p.t.Helper()
	late := time.After(patience)
	for {
		_, out := p.out.read()
		_, err := p.err.read()
		if look() {
			return
		}
		select {
		case <-out:
		case <-err:
		case <-p.ended:
			if look() {
				return
			}
			p.t.Fatalf("%s: legwork ended without it", what)
		case <-late:
			p.t.Fatalf("%s: not seen in %v", what, patience)
		}
	}
}

// logged checks that one line of the log holds all words, and waits for it.
func (p *program) logged(words ...string) {
	p.t.Helper()
	p.until("a log line with "+strings.Join(words, " and "), func() bool { return hasLine(p.err.String(), words...) })
}

func hasLine(text string, words ...string) bool {
	for line := range strings.Lines(text) {
		all := true
		for _, word := range words {
			all = all && strings.Contains(line, word)
		}
		if all {
			return true
		}
	}
	return false
}

// end closes the input, waits for the end and checks the exit code: 1 when an
// answer of legwork chat --json said that something went wrong, 0 otherwise.
func (p *program) end() {
	p.t.Helper()
	_ = p.stdin.Close() // it may have ended already
	code, want := p.code(), 0
	if strings.Contains(p.out.String(), `"failed":true`) {
		want = 1
	}
	if code != want {
		p.t.Errorf("exit code: got %d, want %d", code, want)
	}
}

// code waits for the end and returns the exit code.
func (p *program) code() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("legwork did not end in %v", patience)
	}
	return p.cmd.ProcessState.ExitCode()
}

// kill ends it the hard way.
func (p *program) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	<-p.ended
}

// alive fails the test when the process has ended.
func (p *program) alive() {
	p.t.Helper()
	select {
	case <-p.ended:
		p.t.Fatal("the process has ended")
	default:
	}
	if err := p.cmd.Process.Signal(syscall.Signal(0)); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
}

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

// TestMissingFile: a file that is not there is found before anything is asked.
func TestMissingFile(t *testing.T) {
	t.Parallel()
	for says, args := range map[string][]string{
		"no such file":            {"chat", "--file", "none.pdf", "read it"},
		"it is a folder":          {"chat", "--file", ".", "read it"},
		"name files in the lines": {"chat", "--json", "--file", "config.yaml"},
	} {
		w := newEnv(t, options{})
		p := w.start(args...)
		if code := p.code(); code != 2 || !strings.Contains(p.err.String(), says) || p.out.String() != "" {
			t.Errorf("legwork %q: exit code %d, stdout %q, stderr %q; want 2 and %q", args, code, p.out.String(), p.err.String(), says)
		}
	}
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
