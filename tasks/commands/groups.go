package commands

import (
	"context"
	"fmt"
	"strings"

	"legwork/tasks/cards"
	"legwork/tasks/inbox"
)

// groupsCommand lists the tool groups that the author may use in this chat.
func groupsCommand(ctx context.Context, in *inbox.Inbox, r *inbox.Request, _ string) (inbox.Reply, error) {
	open, err := in.GroupsFor(ctx, r)
	if err != nil {
		return inbox.Reply{}, err
	}
	var lines []string
	for _, g := range open {
		lines = append(lines, strings.TrimSuffix(fmt.Sprintf("- **%s**: %s", g.Name, cards.Line(g.Description)), ": "))
	}
	if len(lines) == 0 {
		return in.ReplyText(r, "groups.none", nil), nil
	}
	text := in.Texts.Text(r.Lang, "groups.intro", nil) + "\n\n" + strings.Join(lines, "\n")
	return in.Reply(r, inbox.TextNotice(text)), nil
}
