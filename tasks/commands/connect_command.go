package commands

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"legwork/bot"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/inbox"
	"legwork/tasks/input"
	"legwork/tools"
)

// pressDisconnect begins the data of a button of /connections. The name of the server
// follows.
const pressDisconnect = "cx:"

// connectCommand begins a sign-in at a server. It does so in private chats alone: other
// people could use the link to sign in with their own accounts. The command is
// /connect SERVER, or /connect SERVER SECRET.
func connectCommand(ctx context.Context, in *inbox.Inbox, r *inbox.Request, rest string) (inbox.Reply, error) {
	if server, secret := input.SplitConnect(rest); secret != "" {
		return secretCommand(ctx, in, r, server, secret)
	}
	return connect(ctx, in, r, rest)
}

// connect begins a sign-in at a server, or asks for a secret.
func connect(ctx context.Context, in *inbox.Inbox, r *inbox.Request, server string) (inbox.Reply, error) {
	if server == "" {
		return connectionsCommand(ctx, in, r, "")
	}
	if reply, ok := connectionsHere(in, r, "/connect"); !ok {
		return reply, nil
	}
	id, err := in.SignIns.ID(server, r.Message.From.Key())
	switch {
	case errors.Is(err, tasks.ErrNoSignIn):
		return in.ReplyText(r, "error.no_sign_in", map[string]any{"Name": cards.InCode(server), "Allowed": strings.Join(slices.Sorted(maps.Keys(in.SignIns.Servers())), ", ")}), nil
	case err != nil:
		return inbox.Reply{}, err
	case id.Person == "" && !r.Admin:
		return in.ReplyText(r, "error.connect_admins", map[string]any{"Server": cards.InCode(server)}), nil
	}
	return inbox.BeginSignIn(ctx, in, r, inbox.SignIn{ID: id})
}

// connectionsHere refuses in chats with others, and where no server wants a sign-in.
func connectionsHere(in *inbox.Inbox, r *inbox.Request, command string) (inbox.Reply, bool) {
	switch {
	case in.SignIns == nil || len(in.SignIns.Servers()) == 0:
		return in.ReplyText(r, "error.no_sign_ins", nil), false
	case !r.Message.Chat.Private:
		return in.ReplyText(r, "error.connect_private", map[string]any{"Command": command}), false
	}
	return inbox.Reply{}, true
}

// connectionsCommand lists the servers at which people sign in, with the sign-in that the
// author uses. An admin sees how many people have signed in, and with /connections SERVER
// who they are.
func connectionsCommand(ctx context.Context, in *inbox.Inbox, r *inbox.Request, server string) (inbox.Reply, error) {
	if server != "" {
		return peopleCommand(ctx, in, r, server)
	}
	if reply, ok := connectionsHere(in, r, "/connections"); !ok {
		return reply, nil
	}
	list, err := in.Store.Connections(ctx)
	if err != nil {
		return inbox.Reply{}, err
	}
	zone, err := in.Settings.Zone(ctx, r)
	if err != nil {
		return inbox.Reply{}, err
	}
	lines := []string{in.Texts.Text(r.Lang, "connections.title", nil)}
	var buttons []bot.Button
	servers := in.SignIns.Servers()
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		id := tasks.ConnectionID{Server: name}
		if servers[name] {
			id.Person = r.Message.From.Key()
		}
		data := map[string]any{"Server": cards.InCode(name), "Shared": id.Person == ""}
		key, press, label := "connections.none", cards.PressConnect, "button.connect"
		others := 0
		for _, c := range list {
			if c.Server == name && c.Person != id.Person {
				others++
			}
			if c.ConnectionID != id {
				continue
			}
			key, press, label = "connections.connected", pressDisconnect, "button.disconnect"
			data["Since"] = c.Since.In(zone).Format("2006-01-02")
			data["Scopes"], data["Secret"] = strings.Join(c.Scopes, " "), c.Kind == tools.AuthSecret
			if !c.Used.IsZero() {
				data["Used"] = c.Used.In(zone).Format("2006-01-02")
			}
			if id.Person == "" {
				data["By"] = c.By
			}
		}
		if r.Admin && others > 0 {
			data["Others"] = others
			b := in.Button(r.Lang, "button.people", pressPeople+name)
			b.Label += ": " + name
			buttons = append(buttons, b)
		}
		lines = append(lines, in.Texts.Text(r.Lang, key, data))
		if id.Person != "" || r.Admin {
			b := in.Button(r.Lang, label, press+name)
			b.Label += ": " + name
			buttons = append(buttons, b)
		}
	}
	n := inbox.TextNotice(strings.Join(lines, "\n"))
	n.Buttons = buttons
	return in.Reply(r, n), nil
}

// disconnectPress ends the sign-in that the author uses at a server.
func disconnectPress(ctx context.Context, in *inbox.Inbox, r *inbox.Request, server string) (inbox.Reply, error) {
	if reply, ok := connectionsHere(in, r, "/connections"); !ok {
		return reply, nil
	}
	id, err := in.SignIns.ID(server, r.Message.From.Key())
	if errors.Is(err, tasks.ErrNoSignIn) {
		return in.ReplyText(r, "error.too_late", nil), nil
	}
	if err != nil {
		return inbox.Reply{}, err
	}
	if id.Person == "" && !r.Admin {
		return in.ReplyText(r, "error.connect_admins", map[string]any{"Server": cards.InCode(server)}), nil
	}
	return in.ReplyLater(r, func(ctx context.Context) inbox.Notice {
		revoked, err := in.SignIns.Disconnect(ctx, id)
		switch {
		case errors.Is(err, tasks.ErrNoConnection):
			return in.Notice(r, "error.too_late", nil)
		case err != nil:
			in.Log.ErrorContext(ctx, "ending a sign-in failed", "server", id.Server, "cause", err)
			return in.Notice(r, "problem.internal", nil)
		}
		in.Audit(ctx, r, "connection.end", id.Server, "")
		return in.Notice(r, "notice.disconnected", map[string]any{"Server": cards.InCode(id.Server), "Revoked": revoked, "Secret": in.SignIns.TakesSecret(id.Server)})
	}), nil
}
