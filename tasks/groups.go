package tasks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"legwork/bot"
)

// settingsOf are what the config says about a chat, also by the id that it had
// before.
func settingsOf(ctx context.Context, store Store, all map[string]ChatSettings, chat bot.Chat) (ChatSettings, error) {
	for range 2 {
		for _, key := range []string{chat.Key(), chat.Room()} {
			if own, ok := all[key]; ok {
				return own, nil
			}
		}
		if len(all) == 0 || chat.Private {
			break
		}
		was, err := store.Setting(ctx, chat.Room(), settingWas)
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

// openGroups are those that a person can use in a chat, where the config names
// some or none for all.
func openGroups(all []Group, named []string, chat bot.Chat, person bot.Person) []Group {
	return slices.DeleteFunc(all, func(g Group) bool {
		return len(named) > 0 && !slices.Contains(named, g.Name) || !g.open(chat, person)
	})
}

// groupsFor lists the groups that the message's author can use where it was
// written.
func (in *Inbox) groupsFor(ctx context.Context, r *Request) ([]Group, error) {
	if in.Tools == nil {
		return nil, nil
	}
	settings, err := settingsOf(ctx, in.Store, r.Rules.ChatSettings, r.Message.Chat)
	if err != nil {
		return nil, err
	}
	return openGroups(in.Tools.Groups(ctx), settings.Groups, r.Message.Chat, r.Message.From), nil
}

// groupsCommand lists the tool groups that the person may use in this chat.
func groupsCommand(ctx context.Context, in *Inbox, r *Request, _ string) (Reply, error) {
	open, err := in.groupsFor(ctx, r)
	if err != nil {
		return Reply{}, err
	}
	var lines []string
	for _, g := range open {
		lines = append(lines, strings.TrimSuffix(fmt.Sprintf("- **%s**: %s", g.Name, line(g.Description)), ": "))
	}
	if len(lines) == 0 {
		return in.replyText(r, "groups.none", nil), nil
	}
	text := in.Texts.Text(r.Lang, "groups.intro", nil) + "\n\n" + strings.Join(lines, "\n")
	return in.reply(r, textNotice(text)), nil
}
