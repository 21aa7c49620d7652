package terminal

import (
	"strconv"
	"strings"

	"legwork/bot"
)

// question is a draft that waits for a decision.
type question struct {
	id      string
	task    string // empty for one of a command
	text    string
	buttons []bot.Button
	words   bool   // a number may be its answer, and presses no button
	hidden  bool   // its answer is a secret
	calls   bool   // it is about calls of tools, which words do not decide
	reply   string // id of the message that answers it; empty while there is none
	to      string // id of the message that it is about; that message may be the reply to another question

	// Of the console only.
	head  string // the first line of the text, without markup
	above bool   // the text stands in the scrollback
}

func questionOf(id string, d bot.Draft) question {
	return question{id: id, task: d.Task, text: d.Text, buttons: d.Buttons, to: d.ReplyTo, words: d.FreeText, hidden: d.Hidden, calls: len(d.Calls) > 0}
}

// refusal is the button that says no; there may be none.
func (q *question) refusal() (bot.Button, bool) {
	for _, b := range q.buttons {
		if b.Style == bot.StyleDanger {
			return b, true
		}
	}
	return bot.Button{}, false
}

// persists reports that words may leave the question open: when it is settled, its
// message says so.
func (q *question) persists() bool {
	_, ok := q.refusal()
	return ok
}

// key is what a person types for a button: its number, or where numbers are
// answers a dash, and two of them to say no.
func (q *question) key(i int) string {
	switch {
	case !q.words:
		return strconv.Itoa(i + 1)
	case q.buttons[i].Style == bot.StyleDanger:
		return "--"
	}
	return "-"
}

// hint is the text that says how to answer.
func (q *question) hint() string {
	switch {
	case q.calls: // words decide nothing about these
		return "terminal.decide"
	case q.words:
		return "terminal.dashes"
	}
	return "terminal.choose"
}

// buttonFor finds the button that a text presses.
func (q *question) buttonFor(text string) (bot.Button, bool) {
	text = strings.TrimSpace(text)
	n, err := strconv.Atoi(text)
	for i, b := range q.buttons {
		if q.key(i) == text || !q.words && err == nil && n == i+1 {
			return b, true
		}
	}
	return bot.Button{}, false
}

// menu is the buttons of the latest notice, such as those of /forget. A person types
// the number of one and presses Enter. It is over with the next message, answer or
// question: numbers may mean something else then.
type menu struct {
	id      string
	buttons []bot.Button
	after   int // how many numbers the buttons of the open question have
}

// newMenu offers the buttons of a notice while a question may be open. It offers none
// while numbers answer that question.
func newMenu(id string, d bot.Draft, open *question) menu {
	m := menu{id: id, buttons: d.Buttons}
	if open != nil {
		m.after = len(open.buttons)
		if open.words {
			m.buttons = nil
		}
	}
	return m
}

// key is what a person types for a button.
func (n *menu) key(i int) string { return strconv.Itoa(n.after + i + 1) }

// press makes a message the press of a button when its text is the button's number,
// and ends the menu.
func (n *menu) press(m *bot.Message) bool {
	last := *n
	*n = menu{}
	for i, b := range last.buttons {
		if strings.TrimSpace(m.Text) == last.key(i) {
			m.Kind, m.Data, m.ReplyTo, m.Text = bot.MessagePress, b.Data, last.id, ""
			return true
		}
	}
	return false
}

// declineMessage is the reply to a question that gets no answer: the button that refuses,
// if there is one, and a text that says why.
func (t *Terminal) declineMessage(q question) bot.Message {
	key := "terminal.unattended"
	if q.calls {
		key = "terminal.unapproved"
	}
	m := t.message("", t.text(key, nil))
	m.ReplyTo, m.Unattended = q.id, true
	if b, ok := q.refusal(); ok {
		m.Kind, m.Data = bot.MessagePress, b.Data
	}
	return m
}
