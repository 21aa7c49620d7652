package terminal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"legwork/bot"
	"legwork/bot/markdown"
)

// ownTask is the message of a run that asks one question (Config.Text), and its
// state.
type ownTask struct {
	id        string
	task      string // the task it opened, when known
	command   bool   // a command; its effect is the answer
	accepted  bool   // it is stored
	answered  bool
	refused   bool // a notice replied to it
	concluded bool // the run is over
	earlier   int  // unfinished tasks of earlier runs
}

// learn learns from a draft which task the message opened.
func (o *ownTask) learn(d bot.Draft) {
	switch {
	case d.ReplyTo != o.id:
	case d.Kind == bot.KindNotice:
		o.refused = true
	case d.Task != "":
		o.task = d.Task
	}
}

// concerns reports whether a draft is about the message.
func (o *ownTask) concerns(d bot.Draft) bool {
	return d.ReplyTo == o.id || d.Task != "" && d.Task == o.task
}

// pending reports whether the task still has to answer.
func (o *ownTask) pending() bool {
	return (o.accepted || o.task != "") && !o.answered && !o.refused && !o.command
}

// once asks the only question and waits for its answer.
func (l *lines) once(ctx context.Context, handle handler) error {
	m := l.t.message("", l.t.cfg.Text)
	m.Standalone = true
	l.mu.Lock()
	m.Files, l.files = l.files, nil
	l.ownTask = &ownTask{id: m.ID, command: strings.HasPrefix(m.Text, "/"), earlier: l.t.cfg.Resumed}
	l.mu.Unlock()
	l.t.open()
	err := handle(ctx, []bot.Message{m})
	if errors.Is(err, bot.ErrNotified) {
		return nil // a run without an answer counts as failed
	}
	if err != nil {
		return fmt.Errorf("handing on the message: %w", err)
	}
	l.mu.Lock()
	l.ownTask.accepted = true
	l.mu.Unlock()
	if Attended(l.t.cfg.In, l.t.cfg.Err) {
		return l.attend(ctx, handle)
	}
	return l.finish(ctx, handle)
}

// complete reports whether the run has its answer and does not wait for other tasks.
func (l *lines) complete() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.t.cfg.Attached && l.ownTask != nil && l.ownTask.answered
}

// errComplete ends the wait for tasks of others.
var errComplete = errors.New("the run has its answer")

// Attended reports whether a person can answer the questions of a task: they type at
// in, and read progress.
func Attended(in io.Reader, progress io.Writer) bool { return isTerminal(in) && isTerminal(progress) }

// attend waits for the answer, and takes what the person types as replies to the
// questions of the task. It ignores lines that no question waits for.
func (l *lines) attend(ctx context.Context, handle handler) error {
	if l.t.cfg.Wait == nil {
		return nil
	}
	input, stop := startReading(ctx, l.t.cfg.In)
	defer func() { _ = stop() }() // the shell reads the rest
	over, forget := l.t.startWaiting(ctx)
	defer forget()
	for {
		select {
		case err := <-over:
			return err
		case <-l.wake:
			if l.complete() {
				return nil
			}
		case line, ok := <-input:
			if !ok { // Ctrl-D: there are no further replies
				return l.finish(ctx, handle)
			}
			l.mu.Lock()
			asked := l.next() >= 0
			l.mu.Unlock()
			if asked && strings.TrimSpace(line.text) != "" {
				l.send(ctx, handle, []bot.Message{l.message(line.text)})
			}
		}
	}
}

// writeEarlierAnswer writes the outcome of a task of an earlier run. title is
// empty when its question is unknown.
func (l *lines) writeEarlierAnswer(title string, d bot.Draft) error {
	if l.ownTask != nil {
		l.ownTask.earlier--
	}
	title = cmp.Or(title, l.t.text("terminal.earlier", nil))
	text := answerText(l.t.cfg.Err, d.Text)
	if d.Failed {
		text = "✗ " + markdown.Plain(d.Text)
	}
	return l.writeLine("↳ " + title + "\n" + text)
}

// writeIntro writes the banner for a person who types, or the number of resumed
// tasks.
func (l *lines) writeIntro() {
	if banner := markdown.Plain(l.t.cfg.Banner); banner != "" && l.t.cfg.Text == "" && isTerminal(l.t.cfg.In) {
		l.writeProgress(banner)
		return
	}
	l.t.reportResumed()
}

// writeOutro notes whether the message of Config.Text got its answer. When ctx
// ended the run, it says that unfinished tasks continue at the next start.
func (l *lines) writeOutro(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	unfinished := len(l.boards)
	if o := l.ownTask; o != nil {
		o.concluded = true
		served := o.answered || o.command && (o.refused || ctx.Err() == nil)
		if !served {
			l.t.failed.Store(true)
		}
		if _, known := l.boards[o.task]; known {
			unfinished--
		}
		unfinished = max(unfinished, o.earlier)
		if o.pending() {
			unfinished++
		}
	}
	if ctx.Err() != nil && unfinished > 0 {
		if !l.interactive && l.ownTask == nil {
			l.t.failed.Store(true) // the reader of the pipe did not get the whole answer
		}
		if text := l.t.unfinished(unfinished); text != "" {
			_ = l.writeLine(text) // nowhere to report it
		}
	}
}
