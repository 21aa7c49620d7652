package policy

import (
	"slices"

	"legwork/bot"
)

// Access says who may talk to the bot, as the config has it. Admins may add to
// it from the chat; the store keeps that.
type Access struct {
	Admins    []string                  // keys of persons: "telegram:12345"
	Platforms map[string]PlatformAccess // by platform; one that is not in it is open to everybody
}

// PlatformAccess says who may talk to the bot on one platform: only people and
// chats that are listed. "*" lists everybody; among Chats it means every chat
// that is not private.
type PlatformAccess struct {
	Users    []string // the platform's own ids
	Chats    []string // everybody in them, also in their topics and threads
	Teams    []string // workspaces
	External bool     // guests and people of other organisations count like others
}

// everybody is the entry that lists all.
const everybody = "*"

// Admits decides whether a message's author may talk to the bot where it was
// written. Guests and people of other organisations must be named, by the
// config or by an admin, unless the platform admits them like others.
func (a Access) Admits(allowed bool, chats []string, m bot.Message) bool {
	access, guarded := a.Platforms[m.Chat.Platform]
	person, place := m.From.Key(), ChatKey(m.Chat)
	switch {
	case !guarded || slices.Contains(a.Admins, person):
		return true
	case m.From.ID != "" && slices.Contains(access.Users, m.From.ID), allowed, slices.Contains(chats, place):
		return true
	case m.External && !access.External:
		return false
	}
	return slices.Contains(access.Users, everybody) || lists(access.Teams, m.Team) ||
		slices.Contains(access.Chats, m.Chat.ID) || !m.Chat.Private && slices.Contains(access.Chats, everybody)
}

func lists(list []string, id string) bool {
	return slices.Contains(list, everybody) || id != "" && slices.Contains(list, id)
}

// ChatKey names a chat with all its topics and threads.
func ChatKey(c bot.Chat) string {
	c.Thread = ""
	return c.Key()
}
