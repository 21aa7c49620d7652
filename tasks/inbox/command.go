package inbox

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"legwork/bot"
	"legwork/internal/clip"
	"legwork/internal/nearest"
	"legwork/tasks/input"
)

// Command is a command that people can write.
type Command struct {
	Name string // without the slash
	// Run takes the text after the name.
	Run func(ctx context.Context, in *Inbox, r *Request, rest string) (Reply, error)
}

// Press is a kind of button. The data of its buttons begins with Prefix.
type Press struct {
	Prefix string
	// Run takes the data after the prefix.
	Run func(ctx context.Context, in *Inbox, r *Request, rest string) (Reply, error)
}

// commandHandler runs a command, or suggests the nearest known one. Any command
// ends the questions about a prompt's arguments and a secret.
func commandHandler(ctx context.Context, in *Inbox, r *Request) (Outcome, error) {
	name, rest, ok := input.SplitCommand(r.Message.Text)
	if !ok {
		return Outcome{}, nil
	}
	return took(runCommand(ctx, in, r, name, rest))
}

func runCommand(ctx context.Context, in *Inbox, r *Request, name, rest string) (Reply, error) {
	left, err := deletePendingPrompt(ctx, in, r)
	if err != nil {
		return Reply{}, err
	}
	awaited, err := forgetSecret(ctx, in, r)
	if err != nil {
		return Reply{}, err
	}
	switch {
	case left && name == "cancel":
		return in.ReplyText(r, "prompts.over", nil), nil
	case awaited && name == "cancel":
		return in.ReplyText(r, "notice.secret_over", nil), nil
	}
	for _, c := range in.Commands {
		if c.Name == name {
			return c.Run(ctx, in, r, rest)
		}
	}
	return in.ReplyText(r, "error.unknown_command", map[string]any{"Command": spellName(in, r.Message.Chat, clip.Bytes(name, maxCommand)), "Near": nearestCommand(in, name)}), nil
}

// maxCommand is the maximum length in bytes of an unknown name that a notice
// repeats.
const maxCommand = 40

// nearestCommand returns the known command, with its slash, that a misspelt name
// probably means. It is empty when no command is near.
func nearestCommand(in *Inbox, name string) string {
	var known []string
	for _, c := range in.Commands {
		known = append(known, c.Name)
	}
	if near := nearest.Typo(name, known); near != "" {
		return "/" + near
	}
	return ""
}

// commandPattern finds "/NAME" in a text, unless the slash is part of an address or a
// path.
var commandPattern = regexp.MustCompile(`(^|[^A-Za-z0-9/_.:-])/([a-z]+)\b`)

// SpellOn replaces each known command in a text by the spelling that people type
// on a platform.
func (in *Inbox) SpellOn(p bot.Platform, to bot.Chat, text string) string {
	speller, ok := p.(bot.Speller)
	if !ok || !strings.Contains(text, "/") {
		return text
	}
	return commandPattern.ReplaceAllStringFunc(text, func(found string) string {
		before, name, _ := strings.Cut(found, "/")
		if !slices.ContainsFunc(in.Commands, func(c Command) bool { return c.Name == name }) {
			return found
		}
		return before + speller.Spell(to, name)
	})
}

// spellName is the spelling of a command's name in a chat.
func spellName(in *Inbox, to bot.Chat, name string) string {
	if p, err := in.Chats.Platform(to); err == nil {
		if speller, ok := p.(bot.Speller); ok {
			return speller.Spell(to, name)
		}
	}
	return "/" + name
}

// SpellIn is SpellOn for the platform of a chat.
func (in *Inbox) SpellIn(to bot.Chat, text string) string {
	p, err := in.Chats.Platform(to)
	if err != nil {
		return text
	}
	return in.SpellOn(p, to, text)
}
