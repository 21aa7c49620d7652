// Package cards draws the messages of a task: boards, approvals, questions, forms
// and outcomes. Each is a function of the task's view and of the Card's fields.
package cards

import (
	"legwork/bot"
	"legwork/i18n"
	"legwork/tasks"
)

// Card draws the messages of a task from its journal and from the fields below.
type Card struct {
	View         *tasks.View
	Texts        *i18n.Texts
	Lasts        bool // the messages of the chat do not disappear
	CanReply     bool // people can reply to one particular message there
	WithoutBoard bool // the chat sees only the questions and the outcome of a program's task
	Files        bool // the chat takes files
	ShowsTasks   bool // answers lead to a view of their task there
	// OfferAlways means that a person in the chat may grant calls beyond the task.
	// AskerExtends means that the asker may extend a reached budget. AskerIsAdmin means
	// that the asker is one of the admins whom the texts name.
	OfferAlways  bool
	AskerExtends bool
	AskerIsAdmin bool
	// Page is linked below questions; empty: it is not.
	Page tasks.Page
}

// MarkOf is the mark by which the message of a slot is found.
func MarkOf(id tasks.ID, slot string) string { return string(id) + "." + slot }

func (c Card) mark(slot string) string { return MarkOf(c.View.ID, slot) }

// BoardButtons returns the Stop button while the task can be stopped.
func (c Card) BoardButtons() []bot.Button {
	if !c.Lasts || c.View.State.Settled() {
		return nil
	}
	return []bot.Button{c.button("button.stop", PressStop)}
}

// button makes a button that acts on the whole task.
func (c Card) button(key, press string) bot.Button {
	return bot.Button{Label: c.Texts.Text(c.View.Opening().Language, key, nil), Data: press + ":" + string(c.View.ID)}
}

// introduced adds the name of the task to a text about a program's task, in the
// chat that the program named.
func (c Card) introduced(text string) string {
	o := c.View.Opening()
	if !c.WithoutBoard || o.Intro != "" || text == "" {
		return text
	}
	data := map[string]any{"Name": PlainText(NameOf(o.From.Name, o.From.Key())), "Goal": PlainText(Title(o.Goal))}
	return c.Texts.Text(o.Language, "notify.intro", data) + "\n\n" + text
}
