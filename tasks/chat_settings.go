package tasks

import (
	"context"
	"fmt"

	"legwork/bot"
)

// SettingsOf returns the configured settings of a chat. It also finds the settings
// under the id that the chat had before.
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
		was, err := store.Setting(ctx, chat.Room(), SettingFormerID)
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
