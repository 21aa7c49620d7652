package app

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"slices"
	"time"

	"legwork/app/data"
	"legwork/bot"
	"legwork/bot/terminal"
	"legwork/i18n"
	"legwork/internal/telemetry"
	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/tasks/inbox"
	"legwork/tasks/policy"
	"legwork/web"
	"legwork/web/problem"
)

// signIn says how people sign in at the page. configFile says that admins can edit one.
func (a *core) signIn(configFile bool) *web.SignIn {
	return &web.SignIn{
		Store: a.store, Rights: a.rights, ConfigFile: configFile, Version: telemetry.ReadBuild().Version,
		Preferences: a.preferences, Prefer: a.prefer,
		Record: func(ctx context.Context, e tasks.AuditEntry) { data.Record(ctx, a.store, a.log, e) },
	}
}

// preferences are those of a person.
func (a *core) preferences(ctx context.Context, person string) (p web.Preferences, err error) {
	if p.Language, err = a.inbox.Settings.Get(ctx, person, tasks.SettingLanguage); err != nil {
		return p, err
	}
	p.Timezone, err = a.inbox.Settings.Get(ctx, person, tasks.SettingTimezone)
	p.Timezone = cmp.Or(p.Timezone, a.inbox.CurrentRules().Timezone)
	return p, err
}

// prefer changes preferences of a person, as /lang and /timezone do.
func (a *core) prefer(ctx context.Context, person string, p web.Preferences) error {
	wrong := problem.New(problem.Invalid, "Correct the values that are listed.")
	if p.Language != "" && !slices.ContainsFunc(i18n.Languages(), func(l i18n.Language) bool { return l.Code == p.Language }) {
		wrong.Errors = append(wrong.Errors, problem.Mistake{Location: "body.language", Message: "a language of legwork, such as en"})
	}
	if _, err := time.LoadLocation(p.Timezone); err != nil || p.Timezone == "Local" {
		wrong.Errors = append(wrong.Errors, problem.Mistake{Location: "body.timezone", Message: "an IANA name, such as Europe/Berlin"})
	}
	if len(wrong.Errors) > 0 {
		return wrong
	}
	for name, value := range map[string]string{tasks.SettingLanguage: p.Language, tasks.SettingTimezone: p.Timezone} {
		if value == "" {
			continue
		}
		if err := a.inbox.Settings.Put(ctx, person, name, value); err != nil {
			return err
		}
	}
	return nil
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
