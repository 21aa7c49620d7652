package terminal

import (
	"errors"
	"slices"
	"time"

	"legwork/bot"
)

// show shows a draft: boards, streams and questions in the live part, the rest
// in the scrollback.
func (c *console) show(_ bot.Chat, id string, d bot.Draft, again bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.requestDraw()
	if d.IsFile() {
		return c.save(d)
	}
	delete(c.waiting, d.ReplyTo)
	if d.File != nil && !c.over[d.Task] {
		if err := c.scroll(append([]string{""}, fileLines(d.File, min(c.painter().width, maxText))...)); err != nil {
			return err
		}
	}
	switch {
	case d.Kind == bot.KindBoard:
		if t := c.task(d.Task); t != nil && d.Board != nil {
			board := *d.Board
			t.board, t.since, t.replyTo = &board, time.Now(), d.ReplyTo
		}
		return nil
	case d.Kind == bot.KindAnswer && d.Partial:
		if t := c.task(d.Task); t != nil {
			t.text = d.Text
		}
		return nil
	case d.Kind == bot.KindQuestion && (len(d.Buttons) > 0 || !again):
		return c.ask(questionOf(id, d))
	}
	if q, ok := c.replied[d.ReplyTo]; ok && d.Kind == bot.KindNotice && d.ReplyTo != "" {
		delete(c.replied, d.ReplyTo)
		defer func() { _ = c.ask(q) }() // the reply settled nothing; the loop reports a broken terminal
	}
	c.removeQuestion(id)
	if c.shown.seen(id, d) {
		return nil
	}
	if d.Kind == bot.KindAnswer {
		return c.answer(d)
	}
	c.menu = newMenu(id, d, c.question())
	return c.scroll(slices.Concat([]string{""}, c.painter().markdown(d.Text), c.painter().menu(c.menu)))
}

// save saves a made file and shows where it is.
func (c *console) save(d bot.Draft) error {
	path, err := c.t.save(&d)
	p := c.painter()
	if err != nil {
		return errors.Join(err, c.scroll([]string{"", p.row(piece{"✗ " + oneLine(err.Error()), red})}))
	}
	rows := []string{"", p.row(piece{c.t.text("terminal.saved", map[string]any{"Path": oneLine(path)}), green})}
	return c.scroll(append(rows, p.markdown(d.Text)...))
}

// task finds or adds the live task of an id; nil when the task is over.
func (c *console) task(id string) *task {
	if c.over[id] {
		return nil
	}
	for _, t := range c.live {
		if t.id == id {
			return t
		}
	}
	t := &task{id: id}
	c.live = append(c.live, t)
	return t
}

// skipOpenItems marks items that still ran when the task ended as skipped.
func (t *task) skipOpenItems() {
	if t.board == nil {
		return
	}
	t.board.Items = slices.Clone(t.board.Items)
	for i, it := range t.board.Items {
		if it.State == "working" || it.State == "waiting" {
			t.board.Items[i].State = "skipped"
		}
	}
}

// ask adds a question to its task, or replaces it. A question that does not
// fit above the prompt goes to the scrollback, where it can be read in full.
func (c *console) ask(q question) error {
	t := c.task(q.task)
	if t == nil {
		return nil
	}
	c.menu = menu{}
	at := slices.IndexFunc(t.questions, func(old question) bool { return old.id == q.id })
	if at < 0 {
		at = len(t.questions)
		t.questions = append(t.questions, question{})
	}
	old := t.questions[at]
	text := c.painter().markdown(q.text)
	q.head, q.above = firstLine(q.text), len(text) > max(c.screen.height/3, 3)
	t.questions[at] = q
	if !q.above || old.above && old.text == q.text {
		return nil
	}
	return c.scroll(append([]string{""}, text...))
}

// removeQuestion removes a decided question.
func (c *console) removeQuestion(id string) {
	for i, t := range c.live {
		t.questions = slices.DeleteFunc(t.questions, func(q question) bool { return q.id == id })
		if t.board == nil && t.text == "" && len(t.questions) == 0 {
			c.live = slices.Delete(c.live, i, i+1)
			return
		}
	}
}

// answer brings the outcome of a task into the scrollback and ends its live
// part.
func (c *console) answer(d bot.Draft) error {
	p := c.painter()
	lines := []string{""}
	for i, t := range c.live {
		if t.id != d.Task {
			continue
		}
		c.live = slices.Delete(c.live, i, i+1)
		t.skipOpenItems()
		lines = append(lines, p.heading(t, d.ReplyTo, 0)...)
		break
	}
	if d.Task != "" {
		c.over[d.Task] = true
	}
	c.menu = menu{}
	if len(c.live) == 0 && c.hint == c.t.text("terminal.stopping", nil) {
		c.hint = c.t.text("terminal.leave", nil)
	}
	if d.Failed {
		c.t.failed.Store(true)
	}
	lines = append(lines, p.outcome(d)...)
	if d.Footer != "" {
		lines = append(lines, "", p.row(piece{oneLine(d.Footer), faint}))
	}
	return c.scroll(lines)
}

// outcome is the text of an answer, after a cross if it failed.
func (p painter) outcome(d bot.Draft) []string {
	if !d.Failed {
		return p.markdown(d.Text)
	}
	cross := p.row(piece{"✗", red}) + " "
	p.width = max(p.width-2, 1) // the cross takes its place in the first row
	text := p.markdown(d.Text)
	if len(text) > 0 {
		text[0] = cross + text[0]
	}
	return text
}
