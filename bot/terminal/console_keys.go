package terminal

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"legwork/bot"
	"legwork/i18n"
)

// handleKeys handles keys.
func (c *console) handleKeys(keys []key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range keys {
		if c.left {
			return
		}
		if c.searching != nil && c.handleSearchKey(k) {
			continue
		}
		c.handleKey(k)
	}
	if len(keys) > 0 {
		c.requestDraw()
	}
}

// handleKey handles one key.
func (c *console) handleKey(k key) {
	c.answering = c.answered()
	switch k.name {
	case keyInterrupt:
		c.interrupt()
	case keyLeave:
		if len(c.edit.text) == 0 {
			c.leave()
		} else {
			c.edit.apply(key{name: keyDelete})
		}
	case keyEnter:
		c.enter()
	case keyTab:
		c.complete()
	case keySearch:
		c.searching = &historySearch{history: c.history, from: len(c.history.entries), found: len(c.history.entries)}
	case keyUp, keyPrevious:
		if !c.edit.up() {
			c.recall(c.history.older(c.edit.String()))
		}
	case keyDown, keyNext:
		if !c.edit.down() {
			c.recall(c.history.newer())
		}
	case keyRedraw:
		c.screen.drawn = frame{}
		_, _ = c.screen.out.Write([]byte("\x1b[H\x1b[2J")) // the next frame reports a broken terminal
	case keyText:
		if !c.choose(k.text) {
			c.edit.apply(k)
		}
	default:
		c.edit.apply(k)
	}
}

func (c *console) recall(text string, ok bool) {
	if ok {
		c.edit.set(text)
	}
}

// interrupt is Ctrl-C: it stops running tasks and clears the prompt; a second one
// leaves.
func (c *console) interrupt() {
	now := time.Now()
	again := now.Sub(c.pressed) < quitGap
	c.pressed = now
	switch {
	case again:
		c.leave()
	case c.busy():
		c.setHint(c.t.text("terminal.stopping", nil))
		c.submit(c.t.message("", "/stop"))
	default:
		c.edit.set("")
		c.setHint(c.t.text("terminal.leave", nil))
	}
}

func (c *console) leave() {
	c.left = true
	close(c.quit)
}

// enter sends the prompt; a backslash at its end begins a new line instead.
func (c *console) enter() {
	text := c.edit.String()
	if strings.HasSuffix(text, `\`) && c.edit.pos == len(c.edit.text) {
		c.edit.apply(key{name: keyBackspace})
		c.edit.insert("\n")
		return
	}
	if strings.TrimSpace(text) == "" {
		c.edit.set("")
		return
	}
	if refusal := c.t.tooLong(text); refusal != "" { // the text stays in the prompt
		c.setHint(refusal)
		return
	}
	hidden, shown := c.hidden(), bot.WithoutSecret(text)
	c.edit.set("")
	if hidden {
		shown = mask(text)
	} else if err := c.history.add(shown); err != nil {
		c.setHint(err.Error())
	}
	if !hidden && c.takesFile(text) {
		return
	}
	m := c.t.message("", text)
	if !c.menu.press(&m) {
		if q := c.question(); q != nil && !strings.HasPrefix(text, "/") {
			m = c.answers(*q, m)
		}
	}
	c.files.take(&m)
	c.lastAsked = m.ID
	echo := c.painter().echo(shown)
	if len(m.Files) > 0 {
		echo = append(echo, c.painter().row(piece{"  + " + namesOf(m.Files), faint}))
	}
	if c.scroll(echo) == nil { // the loop reports a broken terminal
		c.submit(m)
	}
}

// answers makes a message the answer to a question, and removes the question from
// the screen unless a text cannot settle it. If the person began to write before the
// question was open, the prompt did not show that the text is its answer.
func (c *console) answers(q question, m bot.Message) bot.Message {
	m.ReplyTo, m.Assumed = q.id, c.answering != q.id
	b, pressed := q.buttonFor(m.Text)
	if pressed {
		m.Kind, m.Data, m.Text = bot.MessagePress, b.Data, ""
	}
	if pressed || q.task == "" || q.persists() && !q.calls {
		c.removeQuestion(q.id)
		c.replied[m.ID] = q
	}
	return m
}

// submit queues a message for handing on.
func (c *console) submit(m bot.Message) {
	select {
	case c.outbox <- m:
		c.waiting[m.ID] = true
	default: // the queue is full: keep the text
		c.edit.set(m.Text)
		c.files = append(m.Files, c.files...)
	}
}

// takesFile adds a file to the next question, when that is what a line asks for.
func (c *console) takesFile(line string) bool {
	reply, ok, failed := c.files.command(c.t, line)
	if !ok {
		reply, ok = c.files.drop(c.t, line)
	}
	if ok {
		c.setHint(reply)
	}
	if failed {
		c.edit.set(line)
	}
	return ok
}

// answered is the id of the question that the text in the prompt answers: the one that
// was open when the person began to write. It is empty when there is none, or when
// another question is open now.
func (c *console) answered() string {
	q := c.question()
	if q == nil || q.calls || len(c.edit.text) > 0 && c.answering != q.id {
		return ""
	}
	return q.id
}

// hidden reports whether the text in the prompt is a secret.
func (c *console) hidden() bool {
	q := c.question()
	return q != nil && q.hidden && !strings.HasPrefix(c.edit.String(), "/")
}

// mask is what is shown in the place of a secret.
func mask(text string) string { return strings.Repeat("•", utf8.RuneCountInString(text)) }

// question is the one that waits for a decision: one about a message of the person,
// which belongs to no task, else the oldest one.
func (c *console) question() *question {
	for _, t := range c.live {
		if t.id == "" && len(t.questions) > 0 {
			return &t.questions[len(t.questions)-1]
		}
	}
	for _, t := range c.live {
		if len(t.questions) > 0 {
			return &t.questions[0]
		}
	}
	return nil
}

// choose presses the button whose number was typed into an empty prompt.
func (c *console) choose(typed string) bool {
	q := c.question()
	if q == nil || q.words || len(c.edit.text) > 0 || len(typed) != 1 {
		return false
	}
	n := int(typed[0] - '1')
	if typed[0] < '1' || n >= len(q.buttons) {
		return false
	}
	m := c.t.message("", "")
	m.Kind, m.Data, m.ReplyTo = bot.MessagePress, q.buttons[n].Data, q.id
	if err := c.scroll([]string{"", c.painter().decisionRow(*q, oneLine(q.buttons[n].Label))}); err != nil {
		return true // the loop reports a broken terminal
	}
	c.submit(m)
	c.removeQuestion(q.id)
	return true
}

// complete finishes a command, or the language after /lang.
func (c *console) complete() {
	text := c.edit.String()
	if c.edit.pos != len(c.edit.text) || !strings.HasPrefix(text, "/") {
		return
	}
	start, choices := "", append(slices.Clip(c.t.cfg.Commands), fileCommand)
	if strings.HasPrefix(text, "/lang ") {
		start, choices = "/lang ", nil
		for _, l := range i18n.Languages() {
			choices = append(choices, l.Code)
		}
	}
	typed := strings.TrimPrefix(text, start)
	var fits []string
	for _, choice := range choices {
		if strings.HasPrefix(choice, typed) {
			fits = append(fits, choice)
		}
	}
	if len(fits) == 0 {
		return
	}
	c.edit.set(start + common(fits))
	if len(fits) == 1 {
		c.edit.insert(" ")
	} else {
		c.setHint(strings.Join(fits, " "))
	}
}

// common is the longest text that all choices start with.
func common(choices []string) string {
	s := choices[0]
	for _, c := range choices[1:] {
		for !strings.HasPrefix(c, s) {
			s = s[:len(s)-1]
		}
	}
	return s
}

// historySearch is a search through the history, from the newest entry backwards.
type historySearch struct {
	history *history
	query   string
	from    int // where the next search begins
	found   int // the entry that is shown; len(entries) for none
}

// handleSearchKey gives a key to the search and reports whether it was used up.
// Enter and keys of editing put the found entry into the prompt; a key of editing
// then has its usual effect.
func (c *console) handleSearchKey(k key) bool {
	l := c.searching
	switch k.name {
	case keyText:
		l.query += k.text
		l.search(len(l.history.entries))
	case keyBackspace:
		e := editor{}
		e.set(l.query)
		e.apply(k)
		l.query = e.String()
		l.search(len(l.history.entries))
	case keySearch:
		l.search(l.from)
	case keyEscape, keyInterrupt:
		c.searching = nil
	default:
		c.searching = nil
		if l.found < len(l.history.entries) {
			c.edit.set(l.history.entries[l.found])
		}
		return k.name == keyEnter
	}
	return true
}

func (l *historySearch) search(from int) {
	if l.query == "" {
		l.from, l.found = len(l.history.entries), len(l.history.entries)
		return
	}
	if i, ok := l.history.search(l.query, from); ok {
		l.from, l.found = i, i
	}
}

// prompt shows the search in place of the prompt.
func (l *historySearch) prompt(p painter) frame {
	query := "⌕ " + bot.CutText(oneLine(l.query), p.width/2)
	match := ""
	if l.found < len(l.history.entries) {
		match = "  " + oneLine(l.history.entries[l.found])
	}
	return frame{rows: []string{p.row(piece{query, cyan}, piece{match, faint})}, column: bot.TextWidth(query)}
}
