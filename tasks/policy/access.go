// Package policy decides what calls, people and programs may do. Its decisions are
// functions of values.
package policy

import (
	"slices"
	"strings"

	"legwork/bot"
)

// Access says who may talk to the bot according to the config. Admins can admit
// more people in the chat; the store keeps their decisions.
type Access struct {
	Admins    []string                  // keys of persons: "telegram:12345"
	Owners    []string                  // admins who get no notices: the person at the machine, and admin tokens in the web chat
	Platforms map[string]PlatformAccess // by platform; one that is not in it is open to everybody

	Tokens   []string // names of the tokens that let people sign in at the page
	Provider string   // host of the OIDC provider that lets people sign in at the page; empty: none
}

// PlatformAccess lists the people and chats that may talk to the bot on one
// platform. "*" stands for everybody; among Chats it stands for every chat that is
// not private.
type PlatformAccess struct {
	Users    []string // the platform's own ids
	Chats    []string // all people in them, including their topics and threads
	Teams    []string // workspaces
	External bool     // treat guests and people of other organisations like all others
}

// everybody is the list entry that stands for all.
const everybody = "*"

// Admits reports whether a message's author may talk to the bot in the message's
// chat. allowed and chats are the decisions of admins about the author. The config
// or an admin must name guests and people of other organisations, unless the
// platform's External is set.
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

// SignsIn reports whether a person of the page, by their id, can still sign in: with a
// token, or as SUBJECT@HOST of the provider. Only the provider knows whether it still
// has the person.
func (a Access) SignsIn(id string) bool {
	at := strings.LastIndex(id, "@")
	return slices.Contains(a.Tokens, id) || at >= 0 && a.Provider != "" && id[at+1:] == a.Provider
}

func lists(list []string, id string) bool {
	return slices.Contains(list, everybody) || id != "" && slices.Contains(list, id)
}

// ChatKey is the key of a chat with all its topics and threads.
func ChatKey(c bot.Chat) string {
	c.Thread = ""
	return c.Key()
}
