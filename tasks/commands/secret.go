package commands

import (
	"context"
	"errors"

	"legwork/bot"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/inbox"
)

// secretCommand takes a secret that somebody wrote behind the command. Wherever that was,
// and whatever comes of it, the message is deleted.
func secretCommand(ctx context.Context, in *inbox.Inbox, r *inbox.Request, server, secret string) (inbox.Reply, error) {
	if _, ok := connectionsHere(in, r, "/connect"); ok && in.SignIns.TakesSecret(server) {
		return in.TakeSecret(ctx, r, server, secret)
	}
	reply, err := connect(ctx, in, r, server)
	if err != nil || reply.Say == nil {
		return reply, err
	}
	return in.WithoutMessage(r, reply.Say(ctx, nil)), nil
}

// askSecret asks for the secret of an identity in the way of the platform that shows it to
// the fewest: a form of the platform, a page of legwork, or the next message, which legwork
// deletes.
func askSecret(ctx context.Context, in *inbox.Inbox, r *inbox.Request, id tasks.ConnectionID) (inbox.Reply, error) {
	in.Audit(ctx, r, "connection.begin", id.Server, "")
	p, err := in.Chats.Platform(r.Message.Chat)
	if err != nil {
		return inbox.Reply{}, err
	}
	data := map[string]any{"Server": cards.InCode(id.Server), "Minutes": int(tasks.AttemptTime.Minutes()), "Shared": id.Person == ""}
	if asker, ok := p.(bot.SecretAsker); ok {
		return in.ReplyLater(r, func(ctx context.Context) inbox.Notice { return showForm(ctx, in, r, asker, id.Server, data) }), nil
	}
	link, _, err := in.SignIns.Begin(ctx, id, r.Message.From, r.Lang)
	if err != nil {
		return inbox.Reply{}, err
	}
	_, erases := p.(bot.Eraser)
	data["Link"], data["Deletes"] = link, erases
	if link != "" && !erases && !r.Ephemeral {
		return in.ReplyText(r, "notice.secret_page", data), nil
	}
	if err := in.AwaitSecret(ctx, r, id.Server); err != nil { // before the command counts as handled
		return inbox.Reply{}, err
	}
	n := in.Notice(r, "notice.secret_ask", data)
	n.Audience = inbox.ToChat
	if r.Ephemeral {
		n.Kind, n.Hidden, n.FreeText = bot.KindQuestion, true, true // the next line answers it
	}
	return in.Reply(r, n), nil
}

// showForm opens a form for a secret, or offers a button that does.
func showForm(ctx context.Context, in *inbox.Inbox, r *inbox.Request, asker bot.SecretAsker, server string, data map[string]any) inbox.Notice {
	text := func(key string) string { return in.Texts.Text(r.Lang, key, map[string]any{"Server": server}) }
	err := asker.AskSecret(ctx, r.Message, bot.SecretForm{Data: server, Title: text("secret.title"), Label: text("secret.label"), Submit: text("button.connect"), Cancel: text("button.cancel")})
	if err == nil {
		return inbox.Notice{}
	}
	if !errors.Is(err, bot.ErrGone) {
		in.Log.WarnContext(ctx, "form for a secret not shown", "server", server, "cause", err)
	}
	n := in.Notice(r, "notice.secret_form", data)
	n.Buttons = []bot.Button{in.Button(r.Lang, "button.secret", pressConnect+server)}
	return n
}
