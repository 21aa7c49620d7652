package telegramfake

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
)

// Command is one that the bot's menu shows.
type Command struct {
	Command     string `json:"command"`
	Description string `json:"description"`
}

const (
	maxCommands    = 100
	maxDescription = 256
)

var (
	goodCommand  = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)
	goodLanguage = regexp.MustCompile(`^[a-z]{2}$`)
)

// Commands are what the menu shows in a scope ("default", "all_private_chats",
// ...) to people of a language; an empty one is for all others.
func (s *botAPI) Commands(scope, language string) []Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.commands[`{"type":"`+scope+`"} `+language])
}

// Description is the bot's own of a kind ("description" or
// "short_description") for a language; an empty one is for all others.
func (s *botAPI) Description(kind, language string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.texts[kind+" "+language]
}

// menu is the key of a scope and language.
func menu(c *call) (string, *refusal) {
	scope := map[string]any{"type": "default"}
	if _, why := c.params.object("scope", &scope); why != nil {
		return "", why
	}
	known := []string{"default", "all_private_chats", "all_group_chats", "all_chat_administrators", "chat", "chat_administrators", "chat_member"}
	if kind, _ := scope["type"].(string); !slices.Contains(known, kind) {
		return "", bad("can't parse BotCommandScope: unsupported type specified")
	}
	if language := c.params["language_code"]; language != "" && !goodLanguage.MatchString(language) {
		return "", bad("invalid language code specified")
	}
	key, _ := json.Marshal(scope) // of what was JSON
	return string(key) + " " + c.params["language_code"], nil
}

func (s *botAPI) setMyCommands(c *call) (any, *refusal) {
	key, why := menu(c)
	if why != nil {
		return nil, why
	}
	var list []Command
	given, why := c.params.object("commands", &list)
	switch {
	case why != nil:
		return nil, why
	case !given:
		return nil, bad("can't parse commands: expected an Array of BotCommand")
	case len(list) > maxCommands:
		return nil, bad("BOT_COMMANDS_TOO_MUCH")
	}
	for _, command := range list {
		if !goodCommand.MatchString(command.Command) {
			return nil, bad("BOT_COMMAND_INVALID")
		}
		if n := len([]rune(command.Description)); n < 1 || n > maxDescription {
			return nil, bad("BOT_COMMAND_DESCRIPTION_INVALID")
		}
	}
	s.commands[key] = list
	return true, nil
}

func (s *botAPI) deleteMyCommands(c *call) (any, *refusal) {
	key, why := menu(c)
	if why != nil {
		return nil, why
	}
	delete(s.commands, key)
	return true, nil
}

func (s *botAPI) getMyCommands(c *call) (any, *refusal) {
	key, why := menu(c)
	if why != nil {
		return nil, why
	}
	return append([]Command{}, s.commands[key]...), nil
}

func (s *botAPI) setMyDescription(c *call) (any, *refusal) {
	return s.describe(c, "description", 512)
}

func (s *botAPI) setMyShortDescription(c *call) (any, *refusal) {
	return s.describe(c, "short_description", 120)
}

func (s *botAPI) describe(c *call, kind string, most int) (any, *refusal) {
	if len([]rune(c.params[kind])) > most {
		return nil, bad("bot %s is too long", kind)
	}
	s.texts[kind+" "+c.params["language_code"]] = c.params[kind]
	return true, nil
}

func (s *botAPI) getChat(c *call) (any, *refusal) {
	full := c.chat.json()
	maps.Copy(full, map[string]any{"accent_color_id": 0, "max_reaction_count": 11, "accepted_gift_types": map[string]any{}})
	return full, nil
}

func (s *botAPI) getChatMember(c *call) (any, *refusal) {
	id, why := c.params.int("user_id")
	if why != nil {
		return nil, why
	}
	u, known := s.users[id]
	if !known {
		return nil, bad("invalid user_id specified")
	}
	status := "left"
	if _, in := c.chat.members[id]; in || id == s.Bot.ID {
		status = "member"
	}
	if id == s.Bot.ID && c.chat.admin {
		status = "administrator"
	}
	return map[string]any{"user": u.json(), "status": status}, nil
}

func (s *botAPI) leaveChat(c *call) (any, *refusal) {
	if c.chat.kind == "private" {
		return nil, bad("chat member status can't be changed in private chats")
	}
	delete(c.chat.members, s.Bot.ID)
	c.chat.closed = "bot is not a member of the " + c.chat.kind + " chat"
	s.tellMember(c.chat, s.Bot, "member", "left")
	return true, nil
}
