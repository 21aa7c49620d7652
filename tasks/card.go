package tasks

import (
	"legwork/i18n"
	"legwork/planner"
)

// Card draws what a task shows in a chat: drafts made of its journal and of what
// stands here, and of nothing else.
type Card struct {
	View  *View
	Texts *i18n.Texts
	Lasts bool // messages of the chat stay
	Quiet bool // the chat sees the questions and the outcome of a program's task, and nothing else
	Files bool // the chat takes files
	// OfferAlways says that somebody in the chat can allow calls for longer than the
	// task, and AskerExtends that the asker may extend a reached budget.
	OfferAlways  bool
	AskerExtends bool
}

// markOf is what the message of a slot is found by.
func markOf(id ID, slot string) string { return string(id) + "." + slot }

func (c Card) mark(slot string) string { return markOf(c.View.ID, slot) }

func (c Card) boardMark() string { return c.mark(planner.SlotBoard) }
