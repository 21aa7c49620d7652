package inbox

import (
	"context"
	"fmt"
	"strings"

	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tools"
)

// groupsFor lists the groups that the message's author can use where it was
// written.
func (in *Inbox) groupsFor(ctx context.Context, r *Request) ([]tools.Group, error) {
	if in.Tools == nil {
		return nil, nil
	}
	settings, err := tasks.SettingsOf(ctx, in.Store, r.Rules.ChatSettings, r.Message.Chat)
	if err != nil {
		return nil, err
	}
	return tasks.OpenGroups(in.Tools.Groups(), settings.Groups, r.Message.Chat, r.Message.From), nil
}

// groupsCommand lists the tool groups that the person may use in this chat.
func groupsCommand(ctx context.Context, in *Inbox, r *Request, _ string) (Reply, error) {
	open, err := in.groupsFor(ctx, r)
	if err != nil {
		return Reply{}, err
	}
	var lines []string
	for _, g := range open {
		lines = append(lines, strings.TrimSuffix(fmt.Sprintf("- **%s**: %s", g.Name, cards.Line(g.Description)), ": "))
	}
	if len(lines) == 0 {
		return in.replyText(r, "groups.none", nil), nil
	}
	text := in.Texts.Text(r.Lang, "groups.intro", nil) + "\n\n" + strings.Join(lines, "\n")
	return in.reply(r, textNotice(text)), nil
}
