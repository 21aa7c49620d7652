package inbox

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"legwork/bot"
	"legwork/tasks"
	"legwork/tasks/cards"
)

// SignIns are the sign-ins of people at servers of tools.
type SignIns interface {
	// Servers lists the servers at which people sign in, and whether each person does.
	Servers() (perPerson map[string]bool)
	// ID names the connection to a server that a person uses. tasks.ErrNoSignIn.
	ID(server, person string) (tasks.ConnectionID, error)
	// Begin prepares a sign-in and returns the link for the person. Paste says that the
	// person has to send the address on which the browser ends.
	Begin(ctx context.Context, id tasks.ConnectionID, by bot.Person, language string) (link string, paste bool, err error)
	// Finish ends a sign-in with the parameters of the address on which the browser ended.
	// tasks.ErrNoConnection, tasks.ErrDenied.
	Finish(ctx context.Context, redirect url.Values, by string) (tasks.Attempt, error)
	// Disconnect ends a connection, and reports whether the server has ended it, too.
	// tasks.ErrNoConnection.
	Disconnect(ctx context.Context, id tasks.ConnectionID) (revoked bool, err error)
	// DisconnectAll ends the connections of everybody to a server. Revoked is how many of
	// them the server has ended, too.
	DisconnectAll(ctx context.Context, server string) (ended []tasks.ConnectionID, revoked int, err error)
	// Callback is the address to which browsers return, without parameters.
	Callback() string
}

// pastedHandler takes the address on which a browser ended after a sign-in: where the
// browser cannot reach legwork, the person sends it.
func pastedHandler(ctx context.Context, in *Inbox, r *Request) (Outcome, error) {
	if in.SignIns == nil || !r.Message.Chat.Private || r.Message.Kind != bot.MessageText {
		return Outcome{}, nil
	}
	rest, found := strings.CutPrefix(strings.Trim(strings.TrimSpace(r.Message.Text), "<>"), in.SignIns.Callback()+"?") // Slack writes <address>
	if !found || strings.ContainsAny(rest, " \n") {
		return Outcome{}, nil
	}
	query, err := url.ParseQuery(strings.ReplaceAll(rest, "&amp;", "&"))
	if err != nil {
		return took(in.ReplyText(r, "error.connect_unknown", nil), nil)
	}
	return took(in.ReplyLater(r, func(ctx context.Context) Notice {
		attempt, err := in.SignIns.Finish(ctx, query, r.Message.From.Key())
		data := map[string]any{"Server": cards.InCode(attempt.Server), "Shared": attempt.Person == ""}
		switch {
		case err == nil:
			return in.Notice(r, "notice.connected", data)
		case errors.Is(err, tasks.ErrNoConnection):
			return in.Notice(r, "error.connect_unknown", nil)
		case errors.Is(err, tasks.ErrDenied):
			return in.Notice(r, "error.connect_denied", data)
		}
		in.Log.WarnContext(ctx, "sign-in failed", "server", attempt.Server, "cause", err)
		return in.Notice(r, "error.connect_failed", data)
	}), nil)
}
