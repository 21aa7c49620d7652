package setup_test

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"legwork/app/setup"
	"legwork/conf"
	"legwork/internal/test/watch"
)

// screen is what a terminal shows, with a way to wait for it.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
	news chan struct{}
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.news != nil {
		close(s.news)
		s.news = nil
	}
	return s.text.Write(p)
}

// wait blocks until the screen shows words behind what it showed at from, and
// returns where they end.
func (s *screen) wait(t *testing.T, from int, words string) int {
	t.Helper()
	late := time.After(watch.Patience)
	for {
		s.mu.Lock()
		text := s.text.String()
		if s.news == nil {
			s.news = make(chan struct{})
		}
		news := s.news
		s.mu.Unlock()
		if at := strings.Index(text[from:], words); at >= 0 {
			return from + at + len(words)
		}
		select {
		case <-news:
		case <-late:
			t.Fatalf("%q is not shown; the screen is\n%s", words, text)
		}
	}
}

// terminalTalk runs a talk on a pseudo-terminal.
func terminalTalk(t *testing.T, b *env) (typed io.Writer, shown *screen, end func() error, stop context.CancelFunc) {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: b.columns}); err != nil {
		t.Fatal(err)
	}
	saved, _, err := conf.WithEnvFile(b.folder, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	shown = &screen{}
	b.options.In, b.options.Out, b.options.Saved = slave, slave, saved
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	var ended error
	over := make(chan struct{})
	work.Go(func() {
		defer close(over)
		_, ended = setup.Run(ctx, b.options)
	})
	work.Go(func() { _, _ = io.Copy(shown, master) }) // ends with the terminal
	end = func() error {
		select {
		case <-over:
		case <-time.After(watch.Patience):
			t.Error("the talk did not end")
			stop()
		}
		_ = slave.Close()
		_ = master.Close()
		work.Wait()
		return ended
	}
	return master, shown, end, stop
}

// TestTerminal holds that secrets are not shown while they are typed, and all
// else is.
func TestTerminal(t *testing.T) {
	b := newEnv(t)
	typed, shown, end, stop := terminalTalk(t, b)
	defer stop()
	at := 0
	answer := func(question, text string) {
		at = shown.wait(t, at, question)
		at = shown.wait(t, at, "> ")
		if _, err := io.WriteString(typed, text); err != nil {
			t.Fatal(err)
		}
	}
	answer("Language", "\n")
	answer("Language model", b.model[1:len(b.model)-1]+"\x1b[1~"+b.model[:1]+"\x1b[4~"+b.model[len(b.model)-1:]+"\r") // first and last letter behind Home and End of tmux
	answer("API key", "sk-0123-wrong\r")
	answer("answer again", "sk-0123-pasted\r")
	answer("API key", "wrong\x15sk-0123456780\x1b[D\x7f9\r")
	answer("Model", "bih\x7fg\r")
	answer("Telegram", botToken+"\r")
	answer("Slack", "\r")
	answer("Admins", "telegram:1\n")
	answer("Web search", "\n")
	answer("time zone", "UTC\n")
	answer("Daily budget", "\n")
	answer("API token", "no\r")
	if err := end(); err != nil {
		t.Fatal(err)
	}
	text := shown.text.String()
	if !strings.Contains(text, "*****") {
		t.Errorf("the screen shows no stars for a secret:\n%s", text)
	}
	if !strings.Contains(text, b.model[1:len(b.model)-1]) || strings.Contains(text, "sk-01") || strings.Contains(text, botToken[:12]) {
		t.Errorf("the screen shows a secret, or not what else was typed:\n%s", text)
	}
	if got := b.load(); got.LLM.Models["main"].APIKey != key || got.Telegram.Token != botToken {
		t.Errorf("the typed text became %+v", got.LLM.Models["main"])
	}
}

// TestInterrupted holds that Ctrl-C at a secret, and a signal at any question,
// end the talk at once and write nothing.
func TestInterrupted(t *testing.T) {
	for _, at := range []string{"signal at a question", "signal at a secret", "Ctrl-C at a question", "Ctrl-C at a secret", "Ctrl-D at a secret"} {
		t.Run(at, func(t *testing.T) {
			b := newEnv(t)
			typed, shown, end, stop := terminalTalk(t, b)
			defer stop()
			place := shown.wait(t, 0, "> ")
			if strings.HasSuffix(at, "secret") {
				if _, err := io.WriteString(typed, "\n"); err != nil {
					t.Fatal(err)
				}
				place = shown.wait(t, place, "> ")
				if _, err := io.WriteString(typed, b.model+"\n"); err != nil {
					t.Fatal(err)
				}
				shown.wait(t, shown.wait(t, place, "stars"), "> ")
			}
			switch {
			case strings.HasPrefix(at, "signal"):
				stop()
			case strings.HasPrefix(at, "Ctrl-C"):
				_, _ = typed.Write([]byte{3})
			default:
				_, _ = typed.Write([]byte{4})
			}
			if err := end(); err == nil || !strings.Contains(err.Error(), "nothing was written") {
				t.Errorf("Run returned %v", err)
			}
		})
	}
}

// TestWrapped holds that texts break between words on a narrow terminal.
func TestWrapped(t *testing.T) {
	b := newEnv(t)
	b.columns = 40
	typed, shown, end, stop := terminalTalk(t, b)
	defer stop()
	shown.wait(t, 0, "> ")
	_, _ = typed.Write([]byte{3})
	if err := end(); err == nil {
		t.Error("Run went on after Ctrl-C")
	}
	text := strings.ReplaceAll(shown.text.String(), "\r\n", "\n")
	for line := range strings.Lines(text) {
		if len(strings.TrimRight(line, " \n")) > 40 {
			t.Errorf("the line %q is longer than the screen is wide", line)
		}
	}
	welcome := b.options.Texts.Text("en", "init.welcome", nil)
	if joined := strings.Join(strings.Fields(text), " "); !strings.HasPrefix(joined, welcome) {
		t.Errorf("the screen shows\n%s\nwant the words of %q", text, welcome)
	}
}
