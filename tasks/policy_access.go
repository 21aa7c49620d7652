package tasks

import (
	"slices"

	"legwork/bot"
)

// Access says who may talk to the bot, as the config has it. Admins may add to
// it from the chat; the store keeps that.
type Access struct {
	Admins []string        // keys of persons: "telegram:12345"
	Doors  map[string]Door // by platform; one that is not in it is open to everybody
}

// Door says who may talk to the bot on one platform: nobody who is not listed.
// "*" lists everybody; among Chats it means every chat that is not private.
type Door struct {
	Users    []string // the platform's own ids
	Chats    []string // everybody in them, also in their topics and threads
	Teams    []string // workspaces
	External bool     // guests and people of other organisations count like others
}

// grant is what admins decided about one person.
type grant struct {
	Allowed bool     `json:"allowed,omitempty"` // everywhere on the platform
	Chats   []string `json:"chats,omitempty"`   // keys of chats where the person is allowed
	Ignored bool     `json:"ignored,omitempty"` // never answered, until an admin allows more
	// By is the key of the delivery that decided, so that it is recognised when
	// it comes again.
	By string `json:"by,omitempty"`
	// Visitor is who was ignored, for an admin who thinks better of it.
	Visitor *visitor `json:"visitor,omitempty"`
}

// everybody is the entry that lists all.
const everybody = "*"

// admits decides whether a message's author may talk to the bot where it was
// written. Guests and people of other organisations must be named, by the
// config or by an admin, unless the door lets them in like others.
func (a Access) admits(g grant, m bot.Message) bool {
	door, guarded := a.Doors[m.Chat.Platform]
	person, place := m.From.Key(), chatKey(m.Chat)
	switch {
	case !guarded || slices.Contains(a.Admins, person):
		return true
	case m.From.ID != "" && slices.Contains(door.Users, m.From.ID), g.Allowed, slices.Contains(g.Chats, place):
		return true
	case m.External && !door.External:
		return false
	}
	return slices.Contains(door.Users, everybody) || lists(door.Teams, m.Team) ||
		slices.Contains(door.Chats, m.Chat.ID) || !m.Chat.Private && slices.Contains(door.Chats, everybody)
}

func lists(list []string, id string) bool {
	return slices.Contains(list, everybody) || id != "" && slices.Contains(list, id)
}

// chatKey names a chat with all its topics and threads.
func chatKey(c bot.Chat) string {
	c.Thread = ""
	return c.Key()
}
