// Package terminal is the chat platform of a terminal: an interactive chat
// with a live board, plain lines for pipes, and JSON events for programs.
package terminal

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"legwork/bot"
	"legwork/i18n"
)

// Name is the platform of the chats and persons made here.
const Name = "terminal"

// ErrClosed is the error of drafts that come after Run ended. They must be shown
// at the next start.
var ErrClosed = errors.New("the terminal is closed")

// Config says how a Terminal looks and what it is connected to.
type Config struct {
	In  io.Reader // input. When ctx ends, Run closes it if it is an io.Closer but not an *os.File
	Out io.Writer // answers; in interactive mode all output
	Err io.Writer // progress of the line mode; nil drops it

	// Interactive chooses a live display and line editing; In and Out must be
	// terminals then (see IsTerminal). Terminals that cannot move their cursor
	// (TERM=dumb) get the line mode.
	Interactive bool
	// JSON chooses the program mode: JSON lines in, JSON events out.
	JSON bool
	// Text, if set, is the only message of the line mode. Out gets only its answer;
	// answers to earlier questions go to Err. In is read for replies to the questions
	// of its task, when In and Err are terminals (see Attended).
	Text string
	// Files go along with Text, or else with the first question of the interactive and the
	// line mode.
	Files []bot.Attachment
	// Dir is the folder where made files are saved; empty: the current one.
	Dir string

	// Chat names the conversation: "terminal:"+Chat; "main" when empty. Programs
	// may name others in their messages.
	Chat     string
	Person   string   // id of the person; the login name when empty
	History  string   // file of earlier inputs for the interactive mode; empty for none
	Banner   string   // Markdown shown first in interactive mode, and on Err when lines are typed at a terminal
	Commands []string // what Tab completes, such as "/help"
	MaxText  int      // most bytes of a message in the interactive and the line mode; 1 MiB when zero
	Resumed  int      // unfinished tasks of earlier runs; the line and JSON modes report them on Err, a Banner should mention them

	Texts    *i18n.Texts   // required unless JSON is set
	Language func() string // of the texts; nil or "" means the default one

	// Attached says that tasks go on when the terminal is left, so that a run with Text
	// ends with its own answer.
	Attached bool
	// Unfinished returns the key of the text about tasks that are unfinished at the end;
	// nil means "terminal.unfinished", and an empty key no text.
	Unfinished func() string

	// Wait returns when no task of this chat is live. Run calls it after the end
	// of the input in the line and JSON modes; nil means not to wait.
	Wait func(context.Context) error
}

// Terminal is a bot.Platform, a bot.Streamer, a bot.Filer and a bot.Fetcher. A draft is shown when
// the call returns. Calls before Run wait for it.
type Terminal struct {
	cfg      Config
	frontend frontend
	names    string // random part of message ids
	count    atomic.Int64
	failed   atomic.Bool
	opened   chan struct{} // closed when Run begins
	closed   chan struct{} // closed when Run ended
}

// handler is what Run hands messages to.
type handler func(context.Context, []bot.Message) error

// frontend is one of the three modes.
type frontend interface {
	run(ctx context.Context, handle handler) error
	// show shows a draft; id names it, and again says that the message was shown
	// before.
	show(to bot.Chat, id string, d bot.Draft, again bool) error
}

// New makes a terminal. It does nothing until Run.
func New(cfg Config) *Terminal {
	cfg.Chat, cfg.MaxText = cmp.Or(cfg.Chat, "main"), cmp.Or(cfg.MaxText, 1<<20)
	if cfg.Person == "" {
		cfg.Person = Login()
	}
	if cfg.Err == nil {
		cfg.Err = io.Discard
	}
	t := &Terminal{cfg: cfg, names: strings.ToLower(rand.Text()[:10]), opened: make(chan struct{}), closed: make(chan struct{})}
	switch {
	case cfg.JSON:
		t.frontend = newEvents(t)
	case cfg.Interactive && os.Getenv("TERM") != "dumb":
		t.frontend = newConsole(t)
	default:
		t.frontend = newLines(t)
	}
	return t
}

// IsTerminal reports whether both ends are terminals, as the interactive mode
// needs.
func IsTerminal(in, out *os.File) bool {
	return term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd()))
}

// isTerminal reports whether an input or output is a terminal.
func isTerminal(end any) bool {
	f, ok := end.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Color reports whether out takes colours: it is a terminal but not a dumb one,
// and NO_COLOR is not set (no-color.org).
func Color(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}

// Name implements bot.Platform.
func (t *Terminal) Name() string { return Name }

// Limits implements bot.Platform: any length, frames at most 20 times a
// second, and boards that a restart removes.
func (t *Terminal) Limits() bot.Limits {
	return bot.Limits{Edits: true, EditGap: 50 * time.Millisecond, Ephemeral: true}
}

// Chat is the conversation of this terminal.
func (t *Terminal) Chat() bot.Chat {
	return bot.Chat{Platform: Name, ID: t.cfg.Chat, Private: true}
}

// Person is the person at the terminal.
func (t *Terminal) Person() bot.Person {
	return bot.Person{Platform: Name, ID: t.cfg.Person, Name: t.cfg.Person}
}

// Failed reports whether an answer said that something went wrong. With
// Config.Text it is about that message alone, and also true when Run ended without
// an answer to it: it was refused, or ctx ended first.
func (t *Terminal) Failed() bool { return t.failed.Load() }

// Run implements bot.Platform. It can be called once. It returns nil when the
// person left, when the input ended and all its questions are answered, and when
// ctx ended. It restores the terminal.
func (t *Terminal) Run(ctx context.Context, handle func(context.Context, []bot.Message) error) error {
	defer close(t.closed)
	if err := t.frontend.run(ctx, handle); err != nil && ctx.Err() == nil {
		return fmt.Errorf("running terminal: %w", err)
	}
	return nil
}

// open lets waiting drafts through; a frontend calls it when it can show them.
func (t *Terminal) open() { close(t.opened) }

// Post implements bot.Platform. The id is random.
func (t *Terminal) Post(ctx context.Context, to bot.Chat, d bot.Draft) (string, error) {
	id := newID()
	return id, t.deliver(ctx, to, id, d, false)
}

// Edit implements bot.Platform. An edit that changes nothing shows nothing.
func (t *Terminal) Edit(ctx context.Context, to bot.Chat, id string, d bot.Draft) error {
	return t.deliver(ctx, to, id, d, true)
}

// Files implements bot.Filer: a file is shown in full, or is part of an event.
func (t *Terminal) Files(bot.Chat) bool { return true }

// Direct implements bot.Director: there is one person, and one chat with them.
func (t *Terminal) Direct(_ context.Context, person string) (bot.Chat, error) {
	if person != t.Person().ID {
		return bot.Chat{}, fmt.Errorf("only %q uses this terminal: %w", t.Person().ID, bot.ErrGone)
	}
	return t.Chat(), nil
}

// Streams implements bot.Streamer.
func (t *Terminal) Streams(bot.Chat) bool { return true }

// Stream implements bot.Streamer.
func (t *Terminal) Stream(ctx context.Context, to bot.Chat, d bot.Draft) error {
	d.Kind, d.Partial = bot.KindAnswer, true
	return t.deliver(ctx, to, "", d, true)
}

func (t *Terminal) deliver(ctx context.Context, to bot.Chat, id string, d bot.Draft, again bool) error {
	// Unfinished tasks of other conversations of this terminal are shown too:
	// there may be no later opportunity.
	if to.Platform != Name {
		return fmt.Errorf("there is no chat %q in this terminal", to.Key())
	}
	select {
	case <-t.opened:
	case <-t.closed:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-t.closed:
		return ErrClosed
	default:
	}
	if again {
		d.File = nil
	}
	if err := t.frontend.show(to, id, d, again); err != nil {
		return fmt.Errorf("writing to the terminal: %w", err)
	}
	return nil
}

// message makes the delivery of a text; an empty id is replaced by a new one.
func (t *Terminal) message(id, text string) bot.Message {
	if id == "" {
		id = fmt.Sprintf("%s-%d", t.names, t.count.Add(1))
	}
	chat := t.Chat()
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
	return bot.Message{Key: chat.Key() + ":" + id, Chat: chat, From: t.Person(), ID: id, Text: text, At: time.Now(), Language: t.language()}
}

// waitForTasks waits until all tasks have answered. It calls decline after each
// signal of wake: a task has asked a question after the end of the input.
func (t *Terminal) waitForTasks(ctx context.Context, wake <-chan struct{}, decline func() error) error {
	if t.cfg.Wait == nil {
		return nil
	}
	over, forget := t.startWaiting(ctx)
	defer forget()
	for {
		select {
		case err := <-over:
			return err
		case <-wake:
			if err := decline(); err != nil {
				return err
			}
		}
	}
}

// startWaiting calls Config.Wait in the background; over gets its result. forget ends
// the wait.
func (t *Terminal) startWaiting(ctx context.Context) (over <-chan error, forget func()) {
	ctx, cancel := context.WithCancel(ctx)
	result := make(chan error, 1)
	go func() {
		defer close(result)
		result <- t.cfg.Wait(ctx)
	}()
	return result, func() {
		cancel()
		for range result {
		}
	}
}

// notify fills a channel with one place.
func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (t *Terminal) language() string {
	if t.cfg.Language == nil {
		return ""
	}
	return t.cfg.Language()
}

// text is a sentence in the person's language.
func (t *Terminal) text(key string, data map[string]any) string {
	if t.cfg.Texts == nil {
		return key
	}
	return t.cfg.Texts.Text(t.language(), key, data)
}

// tooLong is the text that refuses a message which is longer than Config.MaxText; empty
// for other messages.
func (t *Terminal) tooLong(text string) string {
	if len(text) <= t.cfg.MaxText {
		return ""
	}
	return t.text("error.goal_too_long", map[string]any{"Max": t.cfg.MaxText})
}

// unfinished is the text about tasks that are unfinished at the end; it may be empty.
func (t *Terminal) unfinished(count int) string {
	key := "terminal.unfinished"
	if t.cfg.Unfinished != nil {
		key = t.cfg.Unfinished()
	}
	if key == "" {
		return ""
	}
	return t.text(key, map[string]any{"Count": count})
}

// reportResumed writes to Err that tasks of earlier runs go on.
func (t *Terminal) reportResumed() {
	if t.cfg.Resumed > 0 {
		_, _ = fmt.Fprintln(t.cfg.Err, t.text("terminal.resumed", map[string]any{"Count": t.cfg.Resumed})) // nowhere to report it
	}
}

// Login is the name of the person at the machine.
func Login() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "me"
}
