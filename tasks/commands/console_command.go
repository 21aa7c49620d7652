package commands

import (
	"context"

	"legwork/internal/loopback"
	"legwork/tasks"
	"legwork/tasks/inbox"
)

// consoleCommand gives the author a link that signs them in at the page once. It does
// so in private chats alone: others could use the link first. The command is /console.
func consoleCommand(ctx context.Context, in *inbox.Inbox, r *inbox.Request, _ string) (inbox.Reply, error) {
	page := inbox.PageURL(in)
	switch {
	case r.Message.Chat.Platform == tasks.PlatformWeb:
		return in.ReplyText(r, "error.console_here", nil), nil
	case !r.Message.Chat.Private:
		return in.ReplyText(r, "error.console_private", nil), nil
	case page == "":
		return in.ReplyText(r, "error.no_page", nil), nil
	}
	return in.ReplyLater(r, func(ctx context.Context) inbox.Notice { // a repeated delivery makes no second link
		link, err := inbox.SignInLink(ctx, in, inbox.ChatPersonOf(r.Message))
		if err != nil {
			in.Log.ErrorContext(ctx, "making a sign-in link failed", "cause", err)
			return in.Notice(r, "problem.internal", nil)
		}
		in.Audit(ctx, r, "session.link", "", "")
		return in.Notice(r, "notice.console", map[string]any{"Link": link, "Minutes": int(tasks.LinkTime.Minutes()), "Local": loopback.Address(page)})
	}), nil
}
