package inbox

import (
	"regexp"
	"strings"

	"legwork/bot"
)

// written finds "/NAME" in texts; what stands before it is no part of an address
// or a path.
var written = regexp.MustCompile(`(^|[^A-Za-z0-9/_.:-])/([a-z]+)\b`)

// spelled writes the commands that a text names as people write them in a chat.
func spelled(p bot.Platform, to bot.Chat, text string) string {
	speller, ok := p.(bot.Speller)
	if !ok || !strings.Contains(text, "/") {
		return text
	}
	known := map[string]bool{}
	for _, name := range CommandNames() {
		known[name] = true
	}
	return written.ReplaceAllStringFunc(text, func(found string) string {
		before, name, _ := strings.Cut(found, "/")
		if !known[name] {
			return found
		}
		return before + speller.Spell(to, name)
	})
}

// spellName is how a command's name is written in a chat.
func spellName(in *Inbox, to bot.Chat, name string) string {
	if p, err := in.Chats.Platform(to); err == nil {
		if speller, ok := p.(bot.Speller); ok {
			return speller.Spell(to, name)
		}
	}
	return "/" + name
}

// spell is spelled for a chat of one of the inbox's platforms.
func (in *Inbox) spell(to bot.Chat, text string) string {
	p, err := in.Chats.Platform(to)
	if err != nil {
		return text
	}
	return spelled(p, to, text)
}
