package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/term"

	"legwork/bot"
	"legwork/bot/markdown"
)

// lines is the mode of pipes: a line is a message, progress goes to Err as
// lines, answers go to Out, and nothing is redrawn.
type lines struct {
	t *Terminal

	mu        sync.Mutex           // guards what follows and both writers
	boards    map[string]bot.Board // of the tasks that are not over
	over      map[string]bool      // tasks that are
	shown     shown
	own       *own // the only message, when there is one
	questions []question
	ended     bool            // the input is over: nobody can answer any more
	replies   []bot.Message   // made here after the end of the input
	wake      chan struct{}   // replies has something
	asked     chan struct{}   // questions has something
	mine      map[string]bool // ids of the messages that were read
	typed     bool            // a person types at In, and need not wait for answers
}

// sheetWidth is how wide the rules around a file are where nobody knows how
// wide the screen is.
const sheetWidth = 60

func newLines(t *Terminal) *lines {
	return &lines{
		t: t, boards: map[string]bot.Board{}, over: map[string]bool{}, shown: shown{},
		wake: make(chan struct{}, 1), asked: make(chan struct{}, 1), mine: map[string]bool{}, typed: isTerminal(t.cfg.In),
	}
}

func (l *lines) run(ctx context.Context, handle handler) error {
	l.greet()
	defer l.conclude(ctx)
	if l.t.cfg.Text != "" {
		return l.once(ctx, handle)
	}
	l.t.begin()
	input, stop := startReading(ctx, l.t.cfg.In)
	var open strings.Builder // a message that goes on in the next line
	for {
		all, more := batch(ctx, input)
		l.take(ctx, handle, all, &open)
		if !more {
			break
		}
	}
	if err := stop(); err != nil {
		return fmt.Errorf("reading input: %w", err)
	}
	if open.Len() > 0 {
		l.send(ctx, handle, []bot.Message{l.message(open.String())})
	}
	return l.finish(ctx, handle)
}

// take turns lines into messages and hands them on, one after the other.
func (l *lines) take(ctx context.Context, handle handler, all []inputLine, open *strings.Builder) {
	for _, line := range all {
		if line.tooLong {
			l.say("✗ " + l.t.text("terminal.bad_line", map[string]any{"Line": line.number, "Reason": fmt.Sprintf("> %d B", maxLine)}))
			continue
		}
		if part, goesOn := strings.CutSuffix(line.text, `\`); goesOn {
			open.WriteString(part + "\n")
			continue
		}
		open.WriteString(line.text)
		if text := open.String(); strings.TrimSpace(text) != "" {
			l.send(ctx, handle, []bot.Message{l.message(text)})
			l.await(ctx)
		}
		open.Reset()
	}
}

// await returns when what a pipe asked so far is answered, or a task asks
// something that the next line may answer: answers come in the order of the
// questions. A person who types need not wait.
func (l *lines) await(ctx context.Context) {
	if l.typed || l.t.cfg.Wait == nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = l.t.cfg.Wait(ctx) // what is wrong with the store shows when it is used
	}()
	for open := false; !open; {
		select {
		case <-over:
			open = true
		case <-l.asked:
			l.mu.Lock()
			open = len(l.questions) > 0
			l.mu.Unlock()
		}
	}
	cancel()
	<-over
}

// message makes a delivery of a text: the choice of a button where the text is
// its number, an answer to the open question, or a message of its own.
func (l *lines) message(text string) bot.Message {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.t.message("", text)
	l.mine[m.ID] = true
	i := l.next()
	if i < 0 || strings.HasPrefix(text, "/") {
		m.Standalone = true
		return m
	}
	q := &l.questions[i]
	m.ReplyTo = q.id
	b, pressed := q.typed(text)
	if pressed {
		m.Kind, m.Data, m.Text = bot.MessagePress, b.Data, ""
	}
	if q.reply = m.ID; pressed || !q.lasts() {
		l.questions = slices.Delete(l.questions, i, i+1)
	}
	return m
}

// next is the index of the question that the next line answers: the first one
// that got no answer, or else the last that may not have been settled by its own;
// -1 for none.
func (l *lines) next() int {
	if i := slices.IndexFunc(l.questions, func(q question) bool { return q.reply == "" }); i >= 0 {
		return i
	}
	return len(l.questions) - 1
}

// reopen takes account of words that are replied to with a notice: they settled
// nothing.
func (l *lines) reopen(reply string) {
	for i := range l.questions {
		if q := &l.questions[i]; reply != "" && q.reply == reply {
			q.reply = ""
			l.ring()
		}
	}
}

// ring says that there is a question to be answered.
func (l *lines) ring() {
	select {
	case l.asked <- struct{}{}:
	default:
	}
}

func (l *lines) send(ctx context.Context, handle handler, messages []bot.Message) {
	if len(messages) == 0 {
		return
	}
	if err := handle(ctx, messages); err != nil && ctx.Err() == nil {
		l.t.failed.Store(true)
		if !errors.Is(err, bot.ErrNotified) {
			l.say("✗ " + err.Error())
		}
	}
}

// finish waits until everything is answered. Questions that come now are
// replied to with the fact that nobody is there.
func (l *lines) finish(ctx context.Context, handle handler) error {
	l.mu.Lock()
	l.ended = true
	for _, q := range l.questions {
		if q.reply == "" {
			l.decline(q)
		}
	}
	l.questions = nil
	l.mu.Unlock()
	if l.t.cfg.Wait == nil {
		return nil
	}
	over := make(chan error, 1)
	go func() { over <- l.t.cfg.Wait(ctx) }()
	for {
		select {
		case err := <-over:
			return err
		case <-l.wake:
			l.mu.Lock()
			replies := l.replies
			l.replies = nil
			l.mu.Unlock()
			l.send(ctx, handle, replies)
		}
	}
}

// decline replies to a question in nobody's name; mu is held.
func (l *lines) decline(q question) {
	if q.task == "" {
		return // of a command, which is over with its input
	}
	m := l.t.nobody(q)
	if q.calls {
		_ = l.progress("✗ " + m.Text) // nowhere to report it
	}
	l.replies = append(l.replies, m)
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *lines) show(_ bot.Chat, id string, d bot.Draft, again bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.own != nil {
		if l.own.concluded {
			return ErrClosed
		}
		l.own.note(d)
	}
	if d.File != nil && !l.over[d.Task] {
		if err := l.progress(strings.Join(sheet(d.File, sheetWidth), "\n")); err != nil {
			return err
		}
	}
	switch {
	case d.Kind == bot.KindBoard:
		return l.board(d)
	case d.Kind == bot.KindQuestion && (len(d.Buttons) > 0 || !again):
		return l.question(id, d)
	case d.Partial:
		return nil
	}
	l.reopen(d.ReplyTo)
	// What is left is no question any more, if it was one.
	l.questions = slices.DeleteFunc(l.questions, func(q question) bool { return q.id == id })
	switch {
	case l.shown.before(id, d):
		return nil
	case d.Kind == bot.KindAnswer:
		return l.answer(d)
	}
	return l.progress(markdown.Plain(d.Text))
}

func (l *lines) question(id string, d bot.Draft) error {
	q := questionOf(id, d)
	text := "? " + markdown.Plain(d.Text)
	for i, b := range d.Buttons {
		text += fmt.Sprintf("\n  %s) %s", q.key(i), bot.Clean(b.Label))
	}
	if l.shown.before(id, d) || l.over[d.Task] {
		return nil
	}
	if l.ended {
		l.decline(q)
	} else {
		l.questions = append(l.questions, q)
		defer l.ring()
	}
	return l.progress(text)
}

// say writes a line of progress; an error has nowhere to go.
func (l *lines) say(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.progress(text)
}

// progress writes to Err; mu is held.
func (l *lines) progress(text string) error {
	_, err := io.WriteString(l.t.cfg.Err, text+"\n")
	return err
}

// board writes what changed on a board since its last frame.
func (l *lines) board(d bot.Draft) error {
	if d.Board == nil || l.over[d.Task] {
		return nil
	}
	old, known := l.boards[d.Task]
	l.boards[d.Task] = *d.Board
	var news []string
	was := map[string]bot.Item{}
	for _, it := range old.Items {
		was[it.ID] = it
	}
	for _, it := range d.Board.Items {
		if line := itemNews(l.t, was[it.ID], it); line != "" {
			news = append(news, line)
		}
	}
	if !known || len(news) == 0 && old.Status != d.Board.Status {
		news = append([]string{"… " + bot.Clean(d.Board.Status)}, news...)
	}
	if len(news) == 0 {
		return nil
	}
	if len(l.boards) > 1 { // say which task it is about
		title := bot.CutText(oneLine(d.Board.Title), 24)
		for i := range news {
			news[i] = "[" + title + "] " + news[i]
		}
	}
	return l.progress(strings.Join(news, "\n"))
}

// itemNews is the line about a sub-task that changed, or "".
func itemNews(t *Terminal, old, it bot.Item) string {
	name := bot.Clean(it.ID + " " + group(t, it))
	switch {
	case it.State == old.State && it.Doing != old.Doing && it.Doing != "":
		return "  " + name + ": " + bot.Clean(t.text("board.calling", map[string]any{"Tool": it.Doing}))
	case it.State == old.State || it.State == "todo":
		return ""
	case it.State == "working":
		return "▶ " + name + ": " + bot.Clean(it.Title)
	}
	line := icon(it.State) + " " + name
	if old.State == "" || old.State == "todo" { // its start was not seen
		line += ": " + bot.Clean(it.Title)
	}
	if it.Elapsed > 0 {
		line += " (" + elapsed(it.Elapsed) + ")"
	}
	return line
}

// answer writes an outcome: on Out when it is what was asked for here.
func (l *lines) answer(d bot.Draft) error {
	title := oneLine(l.boards[d.Task].Title)
	delete(l.boards, d.Task)
	l.over[d.Task] = d.Task != ""
	l.questions = slices.DeleteFunc(l.questions, func(q question) bool { return q.task == d.Task })
	if l.own != nil && !l.own.asked(d) || l.own == nil && !l.typed && d.ReplyTo != "" && !l.mine[d.ReplyTo] {
		return l.earlier(title, d)
	}
	if l.own != nil {
		l.own.answered = true
	}
	if d.Failed {
		l.t.failed.Store(true)
		return l.progress("✗ " + markdown.Plain(d.Text))
	}
	if _, err := io.WriteString(l.t.cfg.Out, answerText(l.t.cfg.Out, d.Text)+"\n"); err != nil {
		return err
	}
	if d.Footer != "" {
		return l.progress(bot.Clean(d.Footer))
	}
	return nil
}

// answerText is an answer as out takes it: rendered on a terminal, Markdown
// everywhere else.
func answerText(out io.Writer, text string) string {
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return strings.TrimRight(bot.Clean(text), "\n")
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		width = 80
	}
	return markdown.Terminal(text, min(width, maxText), markdown.Style{Color: Color(out)})
}
