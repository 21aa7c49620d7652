// Package cards draws what a task shows in a chat: boards, approvals, questions,
// forms and outcomes. Each is a function of the task's view and of nothing else.
package cards

import (
	"legwork/bot"
	"legwork/i18n"
	"legwork/tasks"
)

// Card draws what a task shows in a chat: drafts made of its journal and of what
// stands here, and of nothing else.
type Card struct {
	View         *tasks.View
	Texts        *i18n.Texts
	Lasts        bool // messages of the chat stay
	WithoutBoard bool // the chat sees the questions and the outcome of a program's task, and nothing else
	Files        bool // the chat takes files
	// OfferAlways says that somebody in the chat can allow calls for longer than the
	// task, and AskerExtends that the asker may extend a reached budget.
	OfferAlways  bool
	AskerExtends bool
}

// MarkOf is what the message of a slot is found by.
func MarkOf(id tasks.ID, slot string) string { return string(id) + "." + slot }

func (c Card) mark(slot string) string { return MarkOf(c.View.ID, slot) }

// BoardButtons offers Stop while there is something to stop.
func (c Card) BoardButtons() []bot.Button {
	if !c.Lasts || c.View.State.Settled() {
		return nil
	}
	return []bot.Button{c.button("button.stop", PressStop)}
}

// button makes one that acts on the whole task.
func (c Card) button(key, press string) bot.Button {
	return bot.Button{Label: c.Texts.Text(c.View.Opening().Language, key, nil), Data: press + ":" + string(c.View.ID)}
}

// introduced is a text of a program's task in the chat that the program named:
// first it says which task it is.
func (c Card) introduced(text string) string {
	o := c.View.Opening()
	if !c.WithoutBoard || o.Intro != "" || text == "" {
		return text
	}
	data := map[string]any{"Name": PlainText(NameOf(o.From.Name, o.From.Key())), "Goal": PlainText(Title(o.Goal))}
	return c.Texts.Text(o.Language, "notify.intro", data) + "\n\n" + text
}
