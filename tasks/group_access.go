package tasks

import (
	"context"
	"fmt"
	"slices"

	"legwork/bot"
	"legwork/tools"
)

// SettingsOf are what the config says about a chat, also by the id that it had
// before.
func SettingsOf(ctx context.Context, store Store, all map[string]ChatSettings, chat bot.Chat) (ChatSettings, error) {
	for range 2 {
		for _, key := range []string{chat.Key(), chat.Room()} {
			if own, ok := all[key]; ok {
				return own, nil
			}
		}
		if len(all) == 0 || chat.Private {
			break
		}
		was, err := store.Setting(ctx, chat.Room(), SettingWas)
		if err != nil {
			return ChatSettings{}, fmt.Errorf("reading settings: %w", err)
		}
		if was == "" {
			break
		}
		chat.ID = was
	}
	return ChatSettings{}, nil
}

// OpenGroups are those that a person can use in a chat, where the config names
// some or none for all.
func OpenGroups(all []tools.Group, named []string, chat bot.Chat, person bot.Person) []tools.Group {
	return slices.DeleteFunc(all, func(g tools.Group) bool {
		return len(named) > 0 && !slices.Contains(named, g.Name) || !groupOpen(g, chat, person)
	})
}

// groupOpen reports whether a person may use the group in a chat.
func groupOpen(g tools.Group, chat bot.Chat, person bot.Person) bool {
	if len(g.Allow) == 0 {
		return true
	}
	for _, who := range g.Allow {
		if who == "*" || who == person.Key() || who == chat.Key() || who == chat.Room() {
			return true
		}
	}
	return false
}
