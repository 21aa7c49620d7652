package terminal

import (
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"legwork/bot"
	"legwork/bot/markdown"
)

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
