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

// lines is the mode for pipes: each line is a message, progress goes to Err as
// lines, and answers go to Out.
type lines struct {
	t *Terminal

	mu          sync.Mutex           // guards the fields below and both writers
	boards      map[string]bot.Board // of running tasks
	finished    map[string]bool      // tasks that are over
	shown       shownDrafts
	ownTask     *ownTask // with Config.Text: its message
	questions   []question
	ended       bool            // the input has ended: questions get no answer
	replies     []bot.Message   // made by decline after the end of the input
	wake        chan struct{}   // signals replies
	asked       chan struct{}   // signals questions
	menu        menu            // of the latest notice
	files       pending         // of the next question
	ownMessages map[string]bool // ids of the messages that were read
	declined    map[string]bool // ids of the questions that decline replied to
	interactive bool            // a person types at In, and does not have to wait for answers
}

// fileWidth is the width of the rules around a file, where the width of the screen
// is unknown.
const fileWidth = 60

func newLines(t *Terminal) *lines {
	return &lines{
		t: t, boards: map[string]bot.Board{}, finished: map[string]bool{}, shown: shownDrafts{},
		files: t.cfg.Files, wake: make(chan struct{}, 1), asked: make(chan struct{}, 1), ownMessages: map[string]bool{}, declined: map[string]bool{}, interactive: isTerminal(t.cfg.In),
	}
}

func (l *lines) run(ctx context.Context, handle handler) error {
	l.writeIntro()
	defer l.writeOutro(ctx)
	if l.t.cfg.Text != "" {
		return l.once(ctx, handle)
	}
	l.t.open()
	input, stop := startReading(ctx, l.t.cfg.In)
	var open strings.Builder // a message that continues in the next line
	for {
		all, more := batch(ctx, input)
		l.handleLines(ctx, handle, all, &open)
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

// handleLines turns lines into messages and hands them on one by one.
func (l *lines) handleLines(ctx context.Context, handle handler, all []inputLine, open *strings.Builder) {
	for _, line := range all {
		if refusal := l.t.tooLong(line.text); refusal != "" {
			l.t.failed.Store(true)
			l.writeProgress("✗ " + l.t.text("terminal.bad_line", map[string]any{"Line": line.number, "Reason": refusal}))
			continue
		}
		if part, goesOn := strings.CutSuffix(line.text, `\`); goesOn {
			open.WriteString(part + "\n")
			continue
		}
		open.WriteString(line.text)
		if text := open.String(); strings.TrimSpace(text) != "" && !l.takesFile(text) {
			l.send(ctx, handle, []bot.Message{l.message(text)})
			l.waitForAnswers(ctx)
		}
		open.Reset()
	}
}

// takesFile adds a file to the next question, when that is what a line asks for.
func (l *lines) takesFile(line string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	reply, ok, failed := l.files.command(l.t, line)
	if !ok && l.interactive {
		reply, ok = l.files.drop(l.t, line)
	}
	switch {
	case failed:
		l.t.failed.Store(true)
		_ = l.writeLine("✗ " + reply) // nowhere to report it
	case ok:
		_ = l.writeLine(reply)
	}
	return ok
}

// waitForAnswers returns when the questions of a pipe so far are answered, or
// when a task asks something that the next line may answer. So answers come in
// the order of the questions. A person who types does not have to wait.
func (l *lines) waitForAnswers(ctx context.Context) {
	if l.interactive || l.t.cfg.Wait == nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = l.t.cfg.Wait(ctx) // an error of the store shows when it is used
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

// message makes a message from a text: the press of a button if the text is its
// number, an answer to the open question, or a new question.
func (l *lines) message(text string) bot.Message {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.t.message("", text)
	l.ownMessages[m.ID] = true
	if l.menu.press(&m) {
		return m
	}
	i := l.next()
	if i < 0 || strings.HasPrefix(text, "/") {
		m.Standalone = true
		l.files.take(&m)
		return m
	}
	q := &l.questions[i]
	m.ReplyTo, m.Assumed = q.id, l.interactive // of a pipe, the next line is the reply
	b, pressed := q.buttonFor(text)
	if pressed {
		m.Kind, m.Data, m.Text = bot.MessagePress, b.Data, ""
	}
	l.files.take(&m)
	if q.reply = m.ID; pressed || !q.persists() {
		l.questions = slices.Delete(l.questions, i, i+1)
	}
	return m
}

// next is the index of the question that the next line answers: one about the latest
// line, which belongs to no task, else the first one without a reply, else the last one,
// whose reply may not have settled it; -1 for none.
func (l *lines) next() int {
	for i, q := range slices.Backward(l.questions) {
		if q.task == "" && q.reply == "" {
			return i
		}
	}
	if i := slices.IndexFunc(l.questions, func(q question) bool { return q.reply == "" }); i >= 0 {
		return i
	}
	return len(l.questions) - 1
}

// reopen marks a question as unanswered when a notice refuses the reply to it.
func (l *lines) reopen(reply string) {
	for i := range l.questions {
		if q := &l.questions[i]; reply != "" && q.reply == reply {
			q.reply = ""
			notify(l.asked)
		}
	}
}

func (l *lines) send(ctx context.Context, handle handler, messages []bot.Message) {
	if len(messages) == 0 {
		return
	}
	if err := handle(ctx, messages); err != nil && ctx.Err() == nil {
		l.t.failed.Store(true)
		if !errors.Is(err, bot.ErrNotified) {
			l.writeProgress("✗ " + err.Error())
		}
	}
}

// finish waits until all tasks have answered, and declines questions that they
// ask meanwhile.
func (l *lines) finish(ctx context.Context, handle handler) error {
	l.mu.Lock()
	l.ended = true
	if len(l.files) > 0 {
		l.t.failed.Store(true)
		_ = l.writeLine("✗ " + l.t.text("terminal.file_unasked", map[string]any{"Names": namesOf(l.files)})) // nowhere to report it
	}
	for _, q := range l.questions {
		if q.reply == "" {
			l.reopen(q.to)
		}
	}
	for _, q := range l.questions {
		if q.reply == "" {
			l.decline(q)
		}
	}
	l.questions = nil
	l.mu.Unlock()
	err := l.t.waitForTasks(ctx, l.wake, func() error {
		l.mu.Lock()
		replies := l.replies
		l.replies = nil
		l.mu.Unlock()
		l.send(ctx, handle, replies)
		if l.complete() {
			return errComplete
		}
		return nil
	})
	if errors.Is(err, errComplete) {
		return nil
	}
	return err
}

// decline replies to a question that gets no answer; mu is held.
func (l *lines) decline(q question) {
	if q.task == "" {
		return // of a command: it ends with the input
	}
	m := l.t.declineMessage(q)
	if q.calls {
		_ = l.writeLine("✗ " + m.Text) // nowhere to report it
		l.declined[q.id] = true
	}
	l.replies = append(l.replies, m)
	notify(l.wake)
}

func (l *lines) show(_ bot.Chat, id string, d bot.Draft, again bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ownTask != nil {
		if l.ownTask.concluded {
			return ErrClosed
		}
		l.ownTask.learn(d)
	}
	if d.IsFile() {
		return l.save(d)
	}
	if d.File != nil && !l.finished[d.Task] {
		if err := l.writeLine(strings.Join(fileLines(d.File, fileWidth), "\n")); err != nil {
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
	case l.declined[id]:
		return nil // the closed question would name the person, who did not decide
	}
	l.reopen(d.ReplyTo)
	// The message is not a question any more.
	l.questions = slices.DeleteFunc(l.questions, func(q question) bool { return q.id == id })
	switch {
	case l.shown.seen(id, d):
		return nil
	case d.Kind == bot.KindAnswer:
		return l.answer(d)
	}
	text := markdown.Plain(d.Text)
	if l.ownTask == nil && !l.ended {
		var open *question
		if i := l.next(); i >= 0 {
			open = &l.questions[i]
		}
		l.menu = newMenu(id, d, open)
		for i, b := range l.menu.buttons {
			text += fmt.Sprintf("\n  %s) %s", l.menu.key(i), bot.Clean(b.Label))
		}
	}
	return l.writeLine(text)
}

// save saves a made file and writes where it is; mu is held.
func (l *lines) save(d bot.Draft) error {
	path, err := l.t.save(&d)
	if err != nil {
		return errors.Join(err, l.writeLine("✗ "+oneLine(err.Error())))
	}
	text := l.t.text("terminal.saved", map[string]any{"Path": bot.Clean(path)})
	if caption := markdown.Plain(d.Text); caption != "" {
		text += "\n" + caption
	}
	return l.writeLine(text)
}

func (l *lines) question(id string, d bot.Draft) error {
	q := questionOf(id, d)
	text := "? " + markdown.Plain(d.Text)
	for i, b := range d.Buttons {
		text += fmt.Sprintf("\n  %s) %s", q.key(i), bot.Clean(b.Label))
	}
	if l.shown.seen(id, d) || l.finished[d.Task] {
		return nil
	}
	if l.ended {
		defer l.decline(q)
	} else {
		l.questions, l.menu = append(l.questions, q), menu{}
		defer notify(l.asked)
	}
	return l.writeLine(text)
}

// writeProgress writes a line to Err and ignores errors.
func (l *lines) writeProgress(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.writeLine(text)
}

// writeLine writes to Err; mu is held.
func (l *lines) writeLine(text string) error {
	_, err := io.WriteString(l.t.cfg.Err, text+"\n")
	return err
}

// board writes what changed on a board since its last frame.
func (l *lines) board(d bot.Draft) error {
	if d.Board == nil || l.finished[d.Task] {
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
		if line := itemChange(l.t, was[it.ID], it); line != "" {
			news = append(news, line)
		}
	}
	if !known || len(news) == 0 && old.Status != d.Board.Status {
		news = append([]string{"… " + bot.Clean(d.Board.Status)}, news...)
	}
	if len(news) == 0 {
		return nil
	}
	if len(l.boards) > 1 { // name the task
		title := cutWords(oneLine(d.Board.Title), 24)
		for i := range news {
			news[i] = "[" + title + "] " + news[i]
		}
	}
	return l.writeLine(strings.Join(news, "\n"))
}

// itemChange is the line about a sub-task that changed, or "".
func itemChange(t *Terminal, old, it bot.Item) string {
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
	if old.State == "" || old.State == "todo" { // its start was not shown
		line += ": " + bot.Clean(it.Title)
	}
	if it.Elapsed > 0 {
		line += " (" + elapsed(it.Elapsed) + ")"
	}
	return line
}

// answer writes an outcome, to Out if this run asked for it.
func (l *lines) answer(d bot.Draft) error {
	title := oneLine(l.boards[d.Task].Title)
	l.menu = menu{}
	delete(l.boards, d.Task)
	l.finished[d.Task] = d.Task != ""
	l.questions = slices.DeleteFunc(l.questions, func(q question) bool { return q.task == d.Task })
	if l.ownTask != nil && !l.ownTask.concerns(d) || l.ownTask == nil && !l.interactive && d.ReplyTo != "" && !l.ownMessages[d.ReplyTo] {
		return l.writeEarlierAnswer(title, d)
	}
	if l.ownTask != nil {
		l.ownTask.answered = true
		defer notify(l.wake)
	}
	if d.Failed {
		l.t.failed.Store(true)
		return l.writeLine("✗ " + markdown.Plain(d.Text))
	}
	if _, err := io.WriteString(l.t.cfg.Out, answerText(l.t.cfg.Out, d.Text)+"\n"); err != nil {
		return err
	}
	if d.Footer != "" {
		return l.writeLine(bot.Clean(d.Footer))
	}
	return nil
}

// answerText is an answer for out: rendered for a terminal, Markdown otherwise.
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
