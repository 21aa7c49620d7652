// Package terminal is the chat platform of a terminal: an interactive chat
// with a live board, plain lines for pipes, and JSON events for programs.
package terminal

import (
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

// ErrClosed is returned for drafts that come after Run ended: nobody would see
// them, so they must be shown at the next start.
var ErrClosed = errors.New("the terminal is closed")

// Config says how a Terminal looks and what it is connected to.
type Config struct {
	In  io.Reader // what the person or program writes. Run closes it when ctx ends and it is no *os.File, if it can
	Out io.Writer // answers; in interactive mode everything
	Err io.Writer // progress of the line mode; nil drops it

	// Interactive asks for live display and line editing; In and Out must be
	// terminals then (see IsTerminal). On a terminal that cannot move its cursor
	// (TERM=dumb) lines are used all the same.
	Interactive bool
	// JSON asks for the program mode: JSON lines in, JSON events out.
	JSON bool
	// Text, when set, is the only message of the line mode; In is not read, and
	// Out gets the answer to it alone. Answers to earlier questions go to Err.
	Text string

	// Chat names the conversation: "terminal:"+Chat; "main" when empty. Programs
	// may name others in their messages.
	Chat    string
	Person  string // id of the person; the login name when empty
	History string // file of earlier inputs for the interactive mode; empty for none
	Banner  string // Markdown shown first in interactive mode, and on Err when lines are typed at a terminal
	Resumed int    // tasks left from before, which the line and JSON modes tell of on Err; the Banner is to say it itself

	Texts    *i18n.Texts   // needed unless JSON is set
	Language func() string // of the texts; nil or "" means the default one

	// Wait returns when no task of this chat is live. Run calls it after the end
	// of the input in the line and JSON modes; nil means not to wait.
	Wait func(context.Context) error
}

// Terminal is a bot.Platform, a bot.Streamer and a bot.Filer. Its drafts are shown when
// their call returns; before Run began, calls wait for it.
type Terminal struct {
	cfg    Config
	face   face
	names  string // random part of message ids
	count  atomic.Int64
	failed atomic.Bool
	open   chan struct{} // closed when Run begins
	closed chan struct{} // closed when Run ended
}

// handler is what Run hands messages to.
type handler func(context.Context, []bot.Message) error

// face is one of the three modes.
type face interface {
	run(ctx context.Context, handle handler) error
	// show shows a draft; id names it, and again says that the message was shown
	// before.
	show(to bot.Chat, id string, d bot.Draft, again bool) error
}

// New makes a terminal. It does nothing until Run.
func New(cfg Config) *Terminal {
	if cfg.Chat == "" {
		cfg.Chat = "main"
	}
	if cfg.Person == "" {
		cfg.Person = Login()
	}
	if cfg.Err == nil {
		cfg.Err = io.Discard
	}
	t := &Terminal{cfg: cfg, names: strings.ToLower(rand.Text()[:10]), open: make(chan struct{}), closed: make(chan struct{})}
	switch {
	case cfg.JSON:
		t.face = newEvents(t)
	case cfg.Interactive && os.Getenv("TERM") != "dumb":
		t.face = newScreenFace(t)
	default:
		t.face = newLines(t)
	}
	return t
}

// IsTerminal reports whether both ends are terminals, as the interactive mode
// needs.
func IsTerminal(in, out *os.File) bool {
	return term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd()))
}

// isTerminal reports whether in is one, where somebody types.
func isTerminal(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Color reports whether colours are wanted on out: it is a terminal, NO_COLOR
// is not set, and the terminal is not a dumb one.
func Color(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}

// Name implements bot.Platform.
func (t *Terminal) Name() string { return Name }

// Limits implements bot.Platform: any length, frames at most 20 times a
// second, and nothing of a board is left after a restart.
func (t *Terminal) Limits() bot.Limits {
	return bot.Limits{Edits: true, EditGap: 50 * time.Millisecond, Ephemeral: true}
}

// Chat is the conversation of this terminal.
func (t *Terminal) Chat() bot.Chat {
	return bot.Chat{Platform: Name, ID: t.cfg.Chat, Private: true}
}

// Person is who writes here.
func (t *Terminal) Person() bot.Person {
	return bot.Person{Platform: Name, ID: t.cfg.Person, Name: t.cfg.Person}
}

// Failed reports whether an answer said that something went wrong. With
// Config.Text it speaks of that message alone, and is true as well when Run
// ended without an answer to it: it was refused, or ctx ended first.
func (t *Terminal) Failed() bool { return t.failed.Load() }

// Run implements bot.Platform. It can be called once. It returns nil when the
// person left, when the input ended and all its questions are answered, and
// when ctx ended; the terminal is as it was before then.
func (t *Terminal) Run(ctx context.Context, handle func(context.Context, []bot.Message) error) error {
	defer close(t.closed)
	if err := t.face.run(ctx, handle); err != nil && ctx.Err() == nil {
		return fmt.Errorf("running terminal: %w", err)
	}
	return nil
}

// begin lets waiting drafts through; a face calls it when it can show them.
func (t *Terminal) begin() { close(t.open) }

// Post implements bot.Platform. The id is random.
func (t *Terminal) Post(ctx context.Context, to bot.Chat, d bot.Draft) (string, error) {
	id := "m" + strings.ToLower(rand.Text()[:16])
	return id, t.put(ctx, to, id, d, false)
}

// Edit implements bot.Platform. An edit that changes nothing shows nothing.
func (t *Terminal) Edit(ctx context.Context, to bot.Chat, id string, d bot.Draft) error {
	return t.put(ctx, to, id, d, true)
}

// Files implements bot.Filer: a file is shown in full, or is part of the event.
func (t *Terminal) Files(bot.Chat) bool { return true }

// Direct implements bot.Director: there is one person, and one chat with them.
func (t *Terminal) Direct(_ context.Context, person string) (bot.Chat, error) {
	if person != t.Person().ID {
		return bot.Chat{}, fmt.Errorf("nobody but %q is at this terminal: %w", t.Person().ID, bot.ErrGone)
	}
	return t.Chat(), nil
}

// Streams implements bot.Streamer.
func (t *Terminal) Streams(bot.Chat) bool { return true }

// Stream implements bot.Streamer.
func (t *Terminal) Stream(ctx context.Context, to bot.Chat, d bot.Draft) error {
	d.Kind, d.Partial = bot.KindAnswer, true
	return t.put(ctx, to, "", d, true)
}

func (t *Terminal) put(ctx context.Context, to bot.Chat, id string, d bot.Draft, again bool) error {
	// What another conversation of this terminal left unfinished is shown too:
	// there may be no other moment for it.
	if to.Platform != Name {
		return fmt.Errorf("there is no chat %q in this terminal", to.Key())
	}
	select {
	case <-t.open:
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
	if err := t.face.show(to, id, d, again); err != nil {
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

// tellResumed says on Err that tasks from before go on.
func (t *Terminal) tellResumed() {
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
