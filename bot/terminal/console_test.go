package terminal

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"
	"github.com/hinshun/vt10x"
	"golang.org/x/term"

	"legwork/bot"
	"legwork/i18n"
	"legwork/internal/test/need"
	"legwork/internal/test/watch"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// patience is how long a test waits for what should be there at once.
const patience = watch.Patience

// env is a person at a terminal: a real pseudo-terminal with a screen that
// shows what is written to it.
type env struct {
	*inbox
	test   *testing.T
	master *os.File
	tty    *os.File
	before *term.State
	done   chan error
	came   chan bot.Message
	ended  bool

	mu     sync.Mutex
	screen vt10x.Terminal
	raw    strings.Builder
	news   chan struct{} // something was written
}

// sit starts an interactive terminal of 60 columns and 20 rows. ahead is typed
// before.
func sit(t *testing.T, change func(*Config), ahead ...string) *env {
	t.Helper()
	t.Setenv("TERM", "xterm-256color")
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	s := &env{inbox: &inbox{}, test: t, master: master, tty: tty, done: make(chan error, 1), came: make(chan bot.Message, 16), news: make(chan struct{}, 1)}
	s.screen = vt10x.New(vt10x.WithSize(60, 20))
	s.resize(60, 20)
	if s.before, err = term.GetState(int(tty.Fd())); err != nil {
		t.Fatal(err)
	}
	cfg := Config{In: tty, Out: tty, Interactive: true, Texts: loadTexts(t), Person: "me"}
	if change != nil {
		change(&cfg)
	}
	s.t = New(cfg)
	s.inbox.came = s.came
	var reading sync.WaitGroup
	reading.Go(s.watch)
	for _, text := range ahead {
		s.keys(text)
		tick := time.NewTicker(time.Millisecond)
		for typedAhead(int(tty.Fd())) == 0 { // the system takes it in by and by
			<-tick.C
		}
		tick.Stop()
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { s.done <- s.t.Run(ctx, s.handle) }()
	t.Cleanup(func() {
		cancel()
		if !s.ended {
			if err := <-s.done; err != nil {
				t.Errorf("Run ended with %v, want nil", err)
			}
		}
		_ = tty.Close()
		reading.Wait()
		_ = master.Close()
	})
	return s
}

// watch shows what the terminal is sent, until it is closed.
func (s *env) watch() {
	p := make([]byte, 4096)
	for {
		n, err := s.master.Read(p)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.raw.Write(p[:n])
		_, _ = s.screen.Write(p[:n]) // a screen in memory
		s.mu.Unlock()
		select {
		case s.news <- struct{}{}:
		default:
		}
	}
}

func (s *env) resize(width, height int) {
	s.test.Helper()
	s.mu.Lock()
	s.screen.Resize(width, height)
	s.mu.Unlock()
	if err := pty.Setsize(s.master, &pty.Winsize{Rows: uint16(height), Cols: uint16(width)}); err != nil {
		s.test.Fatal(err)
	}
	// The kernel tells the terminal's own processes only, and no test is one.
	if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
		s.test.Fatal(err)
	}
}

func (s *env) keys(text string) {
	s.test.Helper()
	write(s.test, s.master, text)
}

// first waits for the first message.
func (s *env) first() bot.Message {
	s.test.Helper()
	select {
	case m := <-s.came:
		return m
	case <-time.After(patience):
		s.test.Fatalf("no message came; the screen:\n%s", s.text())
		return bot.Message{}
	}
}

var moving = regexp.MustCompile(`[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]`)

// text is the screen with the cursor as ▏, without what moves by itself.
func (s *env) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := strings.Split(s.screen.String(), "\n")
	if c := s.screen.Cursor(); c.Y < len(lines) {
		line := []rune(lines[c.Y])
		for len(line) < c.X {
			line = append(line, ' ')
		}
		lines[c.Y] = string(line[:c.X]) + "▏" + strings.TrimLeft(string(line[c.X:]), "\x00")
	}
	for i := range lines {
		lines[i] = strings.TrimRight(moving.ReplaceAllString(lines[i], "⠿"), " \x00")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// see waits until the screen satisfies ok.
func (s *env) see(what string, ok func(screen string) bool) string {
	s.test.Helper()
	late := time.After(patience)
	for {
		if text := s.text(); ok(text) {
			return text
		}
		select {
		case <-s.news:
		case <-late:
			s.test.Fatalf("%s is not on the screen:\n%s", what, s.text())
		}
	}
}

func (s *env) seeText(want string) string {
	s.test.Helper()
	return s.see(fmt.Sprintf("%q", want), func(screen string) bool { return strings.Contains(screen, want) })
}

// golden waits until the screen is as in a file.
func (s *env) golden(name string) {
	s.test.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		last := ""
		for settled := 0; settled < 5; settled++ { // a few frames without a change
			<-time.After(frameGap)
			if text := s.text(); text != last {
				last, settled = text, 0
			}
		}
		if err := os.WriteFile(file, []byte(last), 0o644); err != nil {
			s.test.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		s.test.Fatal(err)
	}
	late := time.After(patience)
	for s.text() != string(want) {
		select {
		case <-s.news:
		case <-late:
			s.test.Fatalf("%s (-want +got):\n%s", file, cmp.Diff(string(want), s.text()))
		}
	}
}

// leaves waits for Run to end and checks that the terminal is as it was.
func (s *env) leaves() {
	s.test.Helper()
	select {
	case err := <-s.done:
		s.ended = true
		if err != nil {
			s.test.Errorf("Run ended with %v, want nil", err)
		}
	case <-time.After(patience):
		s.test.Fatalf("Run did not end; the screen:\n%s", s.text())
	}
	after, err := term.GetState(int(s.tty.Fd()))
	if err != nil {
		s.test.Fatal(err)
	}
	if diff := cmp.Diff(fmt.Sprint(s.before), fmt.Sprint(after)); diff != "" {
		s.test.Errorf("the state of the terminal (-before +after):\n%s", diff)
	}
}

// board is a frame of a task that computes and looks something up; times stay
// at zero, so that screens are the same in each run.
func board(task, title, status string, states ...string) bot.Draft {
	b := &bot.Board{Title: title, Status: status, Waiting: strings.HasPrefix(status, "Waiting")}
	for i, state := range states {
		b.Items = append(b.Items, bot.Item{ID: fmt.Sprintf("1/%c", 'a'+i), Title: "Part " + string(rune('A'+i)), Group: "math", State: state})
	}
	return bot.Draft{Kind: bot.KindBoard, Task: task, Board: b}
}

func TestConsoleFromQuestionToAnswer(t *testing.T) {
	s := sit(t, func(c *Config) { c.Banner = "**legwork**\n\nType a question." })
	s.golden("start")
	s.keys("What is 17*23?\r")
	s.seeText("› What is 17*23?")
	asked := s.first()
	board := func(task, title, status string, states ...string) bot.Draft {
		d := board(task, title, status, states...)
		d.ReplyTo = asked.ID
		return d
	}
	ctx, chat := context.Background(), s.t.Chat()
	id := mustPost(t, s.t, board("t", "What is 17*23?", "Planning"))
	mustEdit(t, s.t, id, board("t", "What is 17*23?", "Working: 1 of 3 done", "done", "waiting", "todo"))
	s.keys("next")
	s.golden("board")
	mustEdit(t, s.t, id, board("t", "What is 17*23?", "Writing the answer", "done", "done", "failed"))
	if err := s.t.Stream(ctx, chat, bot.Draft{Task: "t", Text: "The **product** is:\n\n| a | b |\n|--"}); err != nil {
		t.Fatal(err)
	}
	s.golden("stream")
	mustPost(t, s.t, bot.Draft{Kind: bot.KindAnswer, Task: "t", Text: "The **product** is:\n\n| a | b |\n|---|---|\n| x | 391 |\n", Footer: "3 sub-tasks, 2 s", ReplyTo: asked.ID})
	mustEdit(t, s.t, id, board("t", "What is 17*23?", "Done")) // too late: it is over
	s.golden("answer")
	s.keys("\x15\x04")
	s.leaves()
	if diff := cmp.Diff([]string{"What is 17*23?"}, s.texts()); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// TestConsoleAwaitsAPerson: no spinner turns while a person is awaited, wherever the
// question is, and whatever the sub-tasks began.
func TestConsoleAwaitsAPerson(t *testing.T) {
	s := sit(t, nil)
	s.seeText("›")
	id := mustPost(t, s.t, board("t", "go", "Waiting for your answer", "working", "todo"))
	s.see("a question mark", func(screen string) bool { return strings.Contains(screen, "? go · Waiting") })
	mustEdit(t, s.t, id, board("t", "go", "Working", "working", "todo"))
	s.see("a spinner", func(screen string) bool {
		return strings.Contains(screen, " go · Working") && !strings.Contains(screen, "? go")
	})
}

func TestConsoleInterrupt(t *testing.T) {
	s := sit(t, nil)
	s.seeText("› ▏")
	s.script = func(m bot.Message) {
		if m.Text == "/stop" {
			mustPost(t, s.t, bot.Draft{Kind: bot.KindAnswer, Task: "t", Text: "The task was stopped.", Failed: true})
		}
	}
	s.keys("go\r")
	s.seeText("› go")
	mustPost(t, s.t, board("t", "go", "Working", "waiting"))
	s.seeText("Working")
	s.keys("\x03")
	s.seeText("Press Ctrl-C again to exit.")
	s.seeText("✗ The task was stopped.")
	s.keys("\x03")
	s.leaves()
	if diff := cmp.Diff([]string{"go", "/stop"}, s.texts()); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// Text that is typed while the program starts is sent like everything else.
func TestConsoleTakesWhatWasTypedAhead(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux knows the text that was typed ahead: run the tests there")
	}
	s := sit(t, nil, "go\r")
	if m := s.first(); m.Text != "go" {
		t.Errorf("got the message %q, want go", m.Text)
	}
	s.keys("\x04")
	s.leaves()
}

func TestConsoleInterruptWithNothingRunning(t *testing.T) {
	s := sit(t, nil)
	s.seeText("›")
	s.keys("\x03")
	s.seeText("Press Ctrl-C again to exit.")
	s.keys("\x03")
	s.leaves()
}

func TestConsoleLeavingSaysWhatIsUnfinished(t *testing.T) {
	s := sit(t, nil)
	s.seeText("›")
	mustPost(t, s.t, board("t", "go", "Working", "waiting"))
	s.seeText("Working")
	s.keys("\x04")
	s.leaves()
	s.seeText("1 task is unfinished.")
}

func TestConsoleQuestion(t *testing.T) {
	s := sit(t, nil)
	s.seeText("›")
	mustPost(t, s.t, board("t", "go", "Waiting", "waiting"))
	id := mustPost(t, s.t, bot.Draft{Kind: bot.KindQuestion, Task: "t", Text: "May I **book** it?", Buttons: []bot.Button{{Label: "Yes", Data: "y"}, {Label: "No", Data: "n"}}})
	open := mustPost(t, s.t, bot.Draft{Kind: bot.KindQuestion, Task: "t", Text: "For when?"})
	s.golden("question")
	s.keys("2")
	s.seeText("? May I book it? → No")
	s.keys("tomorrow\r")
	s.seeText("› tomorrow")
	s.keys("\x04")
	s.leaves()
	if len(s.got) != 2 || s.got[0].Data != "n" || s.got[0].ReplyTo != id || s.got[1].Text != "tomorrow" || s.got[1].ReplyTo != open {
		t.Errorf("messages: got %+v, want data n for %s and a reply to %s", s.got, id, open)
	}
}

func TestConsoleEditing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history")
	s := sit(t, func(c *Config) { c.History, c.Commands = file, []string{"/help", "/status", "/stop"} })
	s.seeText("›")
	s.script = func(m bot.Message) {
		mustPost(t, s.t, bot.Draft{Kind: bot.KindNotice, Text: "Noted: " + m.Text[:3], ReplyTo: m.ID})
	}
	s.keys("first\\\rsecond\x1b\rthird\n\x1b[200~pasted\rlines\x1b[201~!")
	s.golden("multiline")
	s.keys("\r")
	s.seeText("Noted: fir")
	s.keys("/sta\t")
	s.seeText("› /status ▏")
	s.keys("\r")
	s.seeText("Noted: /st")
	s.keys("/s\t")
	s.seeText("/status /stop")
	s.keys("\x15\x12pasted")
	s.seeText("⌕ pasted▏  first second third pasted lines!")
	s.keys("\x1b[A") // takes what was found, and moves in it
	s.seeText("  pasted▏")
	s.keys("\x03\x03")
	s.leaves()
	if diff := cmp.Diff([]string{"first\nsecond\nthird\npasted\nlines!", "/status "}, s.texts()); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}

	again := sit(t, func(c *Config) { c.History = file })
	again.seeText("›")
	again.keys("\x1b[A\r\x04")
	again.leaves()
	if diff := cmp.Diff([]string{"/status "}, again.texts()); diff != "" {
		t.Errorf("messages from the kept history (-want +got):\n%s", diff)
	}
}

func TestConsoleTakesALongPaste(t *testing.T) {
	goal := strings.Repeat("a long goal of many words 你好\n", 3400)
	s := sit(t, nil)
	s.seeText("›")
	s.keys("\x1b[200~" + goal + "\x1b[201~")
	s.seeText("  a long goal of many words")
	s.keys("\r\x04")
	s.leaves()
	if len(s.got) != 1 || s.got[0].Text != goal {
		t.Errorf("got %d messages, want the one pasted goal of %d bytes whole", len(s.got), len(goal))
	}
}

// A text that is too long stays in the prompt, and a sentence names the limit.
func TestConsoleKeepsATextThatIsTooLong(t *testing.T) {
	s := sit(t, func(c *Config) { c.MaxText = 8 })
	s.seeText("›")
	s.keys("too long\x1b[200~!\x1b[201~\r")
	s.seeText("at most 8 bytes")
	s.seeText("› too long!")
	s.keys("\x7f\r\x04")
	s.leaves()
	if diff := cmp.Diff([]string{"too long"}, s.texts()); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// What streams is never taller than the screen.
func TestConsoleStreamFitsTheScreen(t *testing.T) {
	for _, height := range []int{30, 20, 12, 6} {
		s := sit(t, nil)
		s.resize(60, height)
		s.seeText("› ▏")
		for _, task := range []string{"t", "u"} {
			mustPost(t, s.t, board(task, "task "+task, "Writing", "done", "done"))
			if err := s.t.Stream(t.Context(), s.t.Chat(), bot.Draft{Task: task, Text: points(200)}); err != nil {
				t.Fatal(err)
			}
		}
		s.see("the end of both tasks", func(screen string) bool {
			both := strings.Count(screen, "200. point") == 2 && strings.Contains(screen, "task u")
			if height < 10 { // there is room for the last lines only
				both = strings.Contains(screen, "…\n") && strings.Contains(screen, "200. point")
			}
			return both && strings.Contains(screen, "› ▏")
		})
		s.keys("\x04")
		s.leaves()
	}
}

func points(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d. point\n", i+1)
	}
	return b.String()
}

func TestConsoleWithoutColour(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	s := sit(t, func(c *Config) { c.Banner = "**legwork**" })
	s.seeText("›")
	mustPost(t, s.t, board("t", "go", "Working", "done", "failed"))
	mustPost(t, s.t, bot.Draft{Kind: bot.KindAnswer, Task: "t", Text: "**bold** `code`", Failed: true, Footer: "f"})
	s.seeText("✗ bold code")
	s.keys("\x04")
	s.leaves()
	s.mu.Lock()
	defer s.mu.Unlock()
	if style := regexp.MustCompile(`\x1b\[[0-9;]*m`).FindString(s.raw.String()); style != "" {
		t.Errorf("a style was written in spite of NO_COLOR: %q", style)
	}
}

// TestConsoleBreaksFailuresBetweenWords: the cross takes no room from the words
// of its row.
func TestConsoleBreaksFailuresBetweenWords(t *testing.T) {
	s := sit(t, nil)
	s.seeText("›")
	text := strings.Repeat("a", 54) + " end."
	mustPost(t, s.t, bot.Draft{Kind: bot.KindAnswer, Task: "t", Text: text, Failed: true})
	s.seeText("✗ " + strings.Repeat("a", 54) + "\nend.")
	s.keys("\x04")
	s.leaves()
}

func TestDumbTerminalsGetLines(t *testing.T) {
	t.Setenv("TERM", "dumb")
	if _, ok := New(Config{Interactive: true}).frontend.(*lines); !ok {
		t.Error("a terminal that cannot move its cursor is not given lines")
	}
}

// The answer ends up on the very rows where it streamed.
func TestConsoleStreamStandsStill(t *testing.T) {
	s := sit(t, nil)
	s.seeText("› ▏")
	answer := func(text, footer string) bot.Draft {
		return bot.Draft{Kind: bot.KindAnswer, Task: "t", Text: text, Footer: footer, ReplyTo: "before"}
	}
	shown := board("t", "An old question", "Writing", "done")
	shown.ReplyTo = "before"
	mustPost(t, s.t, shown)
	if err := s.t.Stream(t.Context(), s.t.Chat(), answer("one\n\ntwo", "")); err != nil {
		t.Fatal(err)
	}
	streaming := s.seeText("⠿ Writing")
	mustPost(t, s.t, answer("one\n\ntwo", "1 sub-task"))
	final := s.seeText("1 sub-task")
	if diff := cmp.Diff(strings.Replace(streaming, "⠿ Writing", "1 sub-task", 1), final); diff != "" {
		t.Errorf("the screen while it streams and after (-want +got):\n%s", diff)
	}
	s.keys("\x04")
	s.leaves()
}

// asProgram, when set, makes the test binary a chat with two streaming tasks,
// for terminals that start programs.
const asProgram = "LEGWORK_TEST_CHAT"

// program is what the test binary does then.
func program() {
	texts, err := i18n.Load("")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	t := New(Config{In: os.Stdin, Out: os.Stdout, Interactive: true, Texts: texts})
	ctx, cancel := context.WithCancel(context.Background())
	posted := make(chan error, 1)
	go func() { posted <- stream(ctx, t) }()
	err = t.Run(ctx, func(_ context.Context, all []bot.Message) error {
		for _, m := range all {
			if _, err := t.Post(ctx, m.Chat, bot.Draft{Kind: bot.KindNotice, Text: "you said " + m.Text, ReplyTo: m.ID}); err != nil {
				return err
			}
		}
		return nil
	})
	cancel()
	fmt.Println("over", err, <-posted)
}

func stream(ctx context.Context, t *Terminal) error {
	for _, task := range []string{"t", "u"} {
		if _, err := t.Post(ctx, t.Chat(), board(task, "task "+task, "Writing with a status that is long enough to be cut", "done", "done")); err != nil {
			return err
		}
		if err := t.Stream(ctx, t.Chat(), bot.Draft{Task: task, Text: points(200)}); err != nil {
			return err
		}
	}
	return nil
}

// tmux breaks the rows that became too long, as terminals in use do; the screen
// of the other tests does not.
func TestConsoleResizes(t *testing.T) {
	binary := need.Tmux(t)
	dir := t.TempDir()
	tmux := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(binary, append([]string{"-S", filepath.Join(dir, "s"), "-f", os.DevNull}, args...)...)
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", asProgram+"=1", "NO_COLOR=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %q: %v: %s", args, err, out)
		}
		return string(out)
	}
	see := func(what string, ok func(screen string) bool) {
		t.Helper()
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		late := time.After(patience)
		for {
			screen := tmux("capture-pane", "-p")
			if ok(screen) {
				return
			}
			select {
			case <-tick.C:
			case <-late:
				t.Fatalf("%s is not on the screen:\n%s", what, screen)
			}
		}
	}
	// Rows that a smaller screen pushed out come back above the tasks of a
	// larger one.
	whole := func(screen string) bool {
		_, shown, _ := strings.Cut(screen, "task t")
		return strings.Count(screen, "task t") == 1 && strings.Count(screen, "task u") == 1 &&
			strings.Count(shown, "200. point") == 2 && strings.Count(screen, "›") == 1
	}
	tmux("new-session", "-d", "-x", "80", "-y", "24", os.Args[0]+"; cat")
	defer tmux("kill-server")
	see("both tasks", whole)
	for _, size := range [][2]string{{"40", "24"}, {"40", "14"}, {"100", "14"}, {"100", "40"}, {"30", "16"}} {
		tmux("resize-window", "-x", size[0], "-y", size[1])
		see("both tasks, once, at "+strings.Join(size[:], "x"), whole)
	}
	tmux("send-keys", "世界 hi", "Enter")
	see("the notice", func(screen string) bool { return strings.Contains(screen, "you said 世界 hi") && whole(screen) })
	tmux("send-keys", "C-d")
	see("the end", func(screen string) bool { return strings.Contains(screen, "over <nil> <nil>") })
}
