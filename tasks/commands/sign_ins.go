package commands

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"legwork/bot"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/inbox"
)

// The buttons about the sign-ins of everybody at a server; its name follows.
const (
	pressPeople = "cw:"
	pressEndAll = "ce:"
)

// maxPeople bounds the list of the people who have signed in at a server.
const maxPeople = 50

// peopleCommand lists the sign-ins of everybody at a server, for admins. The command is
// /connections SERVER.
func peopleCommand(ctx context.Context, in *inbox.Inbox, r *inbox.Request, server string) (inbox.Reply, error) {
	if reply, ok := connectionsHere(in, r, "/connections"); !ok {
		return reply, nil
	}
	if !r.Admin {
		return in.Refuse(r, "error.admin_needed"), nil
	}
	list, err := in.Store.Connections(ctx)
	if err != nil {
		return inbox.Reply{}, err
	}
	zone, err := in.Settings.Zone(ctx, r)
	if err != nil {
		return inbox.Reply{}, err
	}
	list = slices.DeleteFunc(list, func(c tasks.Connection) bool { return c.Server != server })
	servers := in.SignIns.Servers()
	_, known := servers[server]
	name := map[string]any{"Server": cards.InCode(server)}
	switch {
	case len(list) == 0 && !known:
		return in.ReplyText(r, "error.no_sign_in", map[string]any{"Name": cards.InCode(server), "Allowed": strings.Join(slices.Sorted(maps.Keys(servers)), ", ")}), nil
	case len(list) == 0:
		return in.ReplyText(r, "connections.no_people", name), nil
	}
	lines := []string{in.Texts.Text(r.Lang, "connections.people", name)}
	for _, c := range list[:min(len(list), maxPeople)] {
		data := map[string]any{"Person": cards.InCode(c.By), "Shared": c.Person == "", "Since": c.Since.In(zone).Format("2006-01-02"), "Scopes": strings.Join(c.Scopes, " ")}
		if !c.Used.IsZero() {
			data["Used"] = c.Used.In(zone).Format("2006-01-02")
		}
		lines = append(lines, in.Texts.Text(r.Lang, "connections.person", data))
	}
	if more := len(list) - maxPeople; more > 0 {
		lines = append(lines, in.Texts.Text(r.Lang, "connections.more", map[string]any{"Count": more}))
	}
	n := inbox.TextNotice(strings.Join(lines, "\n"))
	n.Buttons = []bot.Button{in.Button(r.Lang, "button.end_all", pressEndAll+server)}
	return in.Reply(r, n), nil
}

// endAllPress ends the sign-ins of everybody at a server, for admins.
func endAllPress(_ context.Context, in *inbox.Inbox, r *inbox.Request, server string) (inbox.Reply, error) {
	if reply, ok := connectionsHere(in, r, "/connections"); !ok {
		return reply, nil
	}
	if !r.Admin {
		return in.Refuse(r, "error.admin_needed"), nil
	}
	return in.ReplyLater(r, func(ctx context.Context) inbox.Notice {
		ended, revoked, err := in.SignIns.DisconnectAll(ctx, server)
		for _, id := range ended {
			in.Audit(ctx, r, "connection.end", server, cmp.Or(id.Person, "shared"))
		}
		if err != nil {
			in.Log.ErrorContext(ctx, "ending the sign-ins at a server failed", "server", server, "cause", err)
			return in.Notice(r, "problem.internal", nil)
		}
		return in.Notice(r, "notice.ended_all", map[string]any{"Server": cards.InCode(server), "Count": len(ended), "Revoked": revoked == len(ended)})
	}), nil
}
