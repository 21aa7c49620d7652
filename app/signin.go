package app

import (
	"cmp"
	"context"
	"net"
	"net/netip"

	"legwork/app/data"
	"legwork/bot"
	"legwork/bot/terminal"
	"legwork/internal/telemetry"
	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/tasks/inbox"
	"legwork/tasks/policy"
	"legwork/web"
)

// signIn says how people sign in at the page. configFile says that admins can edit one.
func (a *core) signIn(configFile bool) *web.SignIn {
	return &web.SignIn{
		Store: a.store, Rights: a.rights, ConfigFile: configFile, Version: telemetry.ReadBuild().Version,
		Language: func(ctx context.Context, person string) string {
			usual := a.inbox.CurrentRules().Language
			language, err := a.inbox.Settings.Language(ctx, person, usual)
			if err != nil {
				a.log.WarnContext(ctx, "language of a person not read", "person", person, "cause", err)
			}
			return cmp.Or(language, usual)
		},
		Record: func(ctx context.Context, e tasks.AuditEntry) { data.Record(ctx, a.store, a.log, e) },
	}
}

// rights returns what a person who signed in by a link may do: everything for admins,
// for others what they may do in chats.
func (a *core) rights(ctx context.Context, v tasks.ChatPerson) (api.Principal, error) {
	if v.Chat.Platform == tasks.PlatformWeb { // the page is open to all who signed in there
		return api.Principal{}, api.ErrForbidden
	}
	admitted, admin, err := inbox.AdmitsPerson(ctx, a.inbox, v)
	switch {
	case err != nil:
		return api.Principal{}, err
	case !admitted:
		return api.Principal{}, api.ErrForbidden
	case admin:
		return api.Principal{Role: policy.RoleAdmin, Person: v.Person, Team: v.Team, External: v.External, Chats: []string{"*"}, Webhooks: []string{"*"}}, nil
	}
	return api.Principal{Role: policy.RolePerson, Person: v.Person, Team: v.Team, External: v.External}, nil
}

// ownerLink makes a link that signs in the person at this machine's terminal, who is an
// admin. inbox.ErrNoPage.
func (a *core) ownerLink(ctx context.Context) (string, error) {
	me := bot.Person{Platform: terminal.Name, ID: terminal.Login()}
	return inbox.SignInLink(ctx, a.inbox, tasks.ChatPerson{Person: me, Chat: bot.Chat{Platform: terminal.Name, ID: me.ID, Private: true}})
}

// pageAddress is the address of the page: the public one, or where legwork listens on
// this machine. Empty: legwork does not listen.
func pageAddress(public, listening string) string {
	if public != "" || listening == "" {
		return public
	}
	host, port, err := net.SplitHostPort(listening)
	if err != nil {
		return ""
	}
	if address, err := netip.ParseAddr(host); err != nil || address.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}
