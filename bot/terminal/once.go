package terminal

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"legwork/bot"
	"legwork/bot/markdown"
)

// own is the only message of a run that asks one question, and what became of
// it.
type own struct {
	id        string
	task      string // that it opened, when that is known
	command   bool   // what it does is its answer
	accepted  bool   // it is stored
	answered  bool
	refused   bool // a notice replied to it
	concluded bool // the run is over
	earlier   int  // tasks from before that are not answered yet
}

// note learns from a draft which task is the own one.
func (o *own) note(d bot.Draft) {
	switch {
	case d.ReplyTo != o.id:
	case d.Kind == bot.KindNotice:
		o.refused = true
	case d.Task != "":
		o.task = d.Task
	}
}

// asked reports whether a draft is about the own message.
func (o *own) asked(d bot.Draft) bool {
	return d.ReplyTo == o.id || d.Task != "" && d.Task == o.task
}

// open reports whether the own task is still to be answered.
func (o *own) open() bool {
	return (o.accepted || o.task != "") && !o.answered && !o.refused && !o.command
}

// once asks the only question and waits for its answer.
func (l *lines) once(ctx context.Context, handle handler) error {
	m := l.t.message("", l.t.cfg.Text)
	m.Standalone = true
	l.mu.Lock()
	l.own = &own{id: m.ID, command: strings.HasPrefix(m.Text, "/"), earlier: l.t.cfg.Resumed}
	l.mu.Unlock()
	l.t.begin()
	err := handle(ctx, []bot.Message{m})
	if errors.Is(err, bot.ErrNotified) {
		return nil // without an answer the run has failed
	}
	if err != nil {
		return fmt.Errorf("handing on the message: %w", err)
	}
	l.mu.Lock()
	l.own.accepted = true
	l.mu.Unlock()
	return l.finish(ctx, handle)
}

// earlier writes the outcome of a task that was left from before, which is not
// what the caller asked for. Without a title nothing was heard of its question.
func (l *lines) earlier(title string, d bot.Draft) error {
	if l.own != nil {
		l.own.earlier--
	}
	if title == "" {
		title = l.t.text("terminal.earlier", nil)
	}
	text := answerText(l.t.cfg.Err, d.Text)
	if d.Failed {
		text = "✗ " + markdown.Plain(d.Text)
	}
	return l.progress("↳ " + title + "\n" + text)
}

// greet says first what a person should know: the banner where one types, and
// what goes on from last time.
func (l *lines) greet() {
	if banner := markdown.Plain(l.t.cfg.Banner); banner != "" && l.t.cfg.Text == "" && isTerminal(l.t.cfg.In) {
		l.say(banner)
		return
	}
	l.t.tellResumed()
}

// conclude notes whether the only message got its answer, and says what goes on
// at the next start when ctx ended the run.
func (l *lines) conclude(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	unfinished := len(l.boards)
	if o := l.own; o != nil {
		o.concluded = true
		served := o.answered || o.command && (o.refused || ctx.Err() == nil)
		if !served {
			l.t.failed.Store(true)
		}
		if _, known := l.boards[o.task]; known {
			unfinished--
		}
		unfinished = max(unfinished, o.earlier)
		if o.open() {
			unfinished++
		}
	}
	if ctx.Err() != nil && unfinished > 0 {
		if !l.typed && l.own == nil {
			l.t.failed.Store(true) // who reads the pipe did not get what was asked for
		}
		_ = l.progress(l.t.text("terminal.unfinished", map[string]any{"Count": unfinished})) // nowhere to report it
	}
}
