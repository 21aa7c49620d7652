package telegramfake

import (
	"slices"
	"strings"
)

// emojis are those that a reaction may hold (core.telegram.org/bots/api#reactiontypeemoji).
const emojis = "❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡"

// ForbidReactions lets a chat allow no reactions.
func (s *activity) ForbidReactions(chatID int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mustChat(chatID).noReactions = true
}

// setMessageReaction sets or removes the bot's reaction to a message: a bot can set one
// for each message (core.telegram.org/bots/api#setmessagereaction).
func (s *botAPI) setMessageReaction(c *call) (any, *refusal) {
	id, why := c.params.int("message_id")
	if why != nil {
		return nil, why
	}
	var given []struct {
		Type  string `json:"type"`
		Emoji string `json:"emoji"`
	}
	if _, why := c.params.object("reaction", &given); why != nil {
		return nil, why
	}
	m := c.chat.messages[int(id)]
	switch {
	case m == nil:
		return nil, bad("message to react not found")
	case len(given) > 1:
		return nil, bad("REACTIONS_TOO_MANY")
	case len(given) == 0:
		m.Reaction = ""
	case given[0].Type != "emoji" || !slices.Contains(strings.Fields(emojis), given[0].Emoji), c.chat.noReactions:
		return nil, bad("REACTION_INVALID")
	default:
		m.Reaction = given[0].Emoji
	}
	c.entry.Message = m.ID
	s.note(c.chat, Event{Kind: EventReaction, Message: *m})
	return true, nil
}
