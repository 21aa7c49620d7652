package inbox

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"legwork/bot"
	"legwork/tasks"
	"legwork/tasks/policy"
)

// admit decides whether a message is heard at all, and learns whether its
// author is an admin. What admins granted is read only where the config does
// not decide.
func (in *Inbox) admit(ctx context.Context, m bot.Message, access policy.Access) (admitted, admin bool, err error) {
	admins, err := in.admins(ctx)
	if err != nil {
		return false, false, err
	}
	if slices.Contains(admins, m.From.Key()) {
		return true, true, nil
	}
	if access.Admits(false, nil, m) {
		return true, false, nil
	}
	var g accessDecision
	if err := in.read(ctx, m.From.Key(), tasks.SettingAccess, &g); err != nil {
		return false, false, err
	}
	if access.Admits(g.Allowed, g.Chats, m) {
		return true, false, nil
	}
	admitted, err = admitsMoved(ctx, in, access, g, m)
	return admitted, false, err
}

// Admits reports that a message's author may talk to the bot there. A store
// that cannot be read admits no one.
func (in *Inbox) Admits(ctx context.Context, m bot.Message) bool {
	ok, _, err := in.admit(ctx, m, in.rules.Load().Access)
	if err != nil {
		in.Log.ErrorContext(ctx, "access not read", "chat", m.Chat.Key(), "cause", err)
	}
	return ok && err == nil
}

// admins lists the admins of the config and those of the store.
func (in *Inbox) admins(ctx context.Context) ([]string, error) {
	var stored []string
	if err := in.read(ctx, tasks.OwnerLegwork, tasks.SettingAdmins, &stored); err != nil {
		return nil, err
	}
	configured := in.rules.Load().Access.Admins
	if len(stored) == 0 {
		return configured, nil
	}
	list := slices.Concat(configured, stored)
	slices.Sort(list)
	return slices.Compact(list), nil
}

// TellAdmins sends each admin the text of that key in their private chat, in
// their language. It does not wait for that; see Flush. Who cannot be reached is
// logged and left out.
func (in *Inbox) TellAdmins(ctx context.Context, key string, data any) {
	in.tellAdmins(ctx, func(lang string) string { return in.Texts.Text(lang, key, data) })
}

// tellAdmins is TellAdmins for a text that is written for each language.
func (in *Inbox) tellAdmins(ctx context.Context, text func(lang string) string) {
	in.outbox.add(ctx, queueAdmins, func(ctx context.Context) {
		in.toAdmins(ctx, func(lang string) bot.Draft { return bot.Draft{Kind: bot.KindNotice, Text: text(lang)} })
	})
}

// queueAdmins is the outbox's queue of what admins are told.
const queueAdmins = "admins"

// toAdmins posts a draft to each admin.
func (in *Inbox) toAdmins(ctx context.Context, draft func(lang string) bot.Draft) {
	admins, err := in.admins(ctx)
	if err != nil { // perhaps it is the damage that the notice is about
		in.Log.ErrorContext(ctx, "only the admins of the config can be told", "cause", err)
		admins = in.rules.Load().Access.Admins
	}
	for _, admin := range admins {
		if err := in.direct(ctx, admin, draft); err != nil && ctx.Err() == nil {
			in.Log.WarnContext(ctx, "an admin could not be told", "admin", admin, "cause", err)
		}
	}
}

// direct posts a draft to the private chat of a person.
func (in *Inbox) direct(ctx context.Context, person string, draft func(lang string) bot.Draft) error {
	p, chat, lang, err := in.reach(ctx, person)
	if err != nil {
		return err
	}
	_, err = p.Post(ctx, chat, draft(lang))
	return err
}

// reach finds the private chat with a person, and the language of what they read
// there unasked.
func (in *Inbox) reach(ctx context.Context, person string) (p bot.Platform, chat bot.Chat, lang string, err error) {
	platform, id, _ := strings.Cut(person, ":")
	if p, err = in.Chats.Platform(bot.Chat{Platform: platform}); err != nil {
		return p, chat, "", err
	}
	director, ok := p.(bot.Director)
	if !ok {
		return p, chat, "", bot.ErrGone
	}
	lang = in.rules.Load().Language
	spoken, err := in.setting(ctx, person, tasks.SettingSpoken)
	if err == nil {
		lang, err = in.language(ctx, person, cmp.Or(spoken, lang))
	}
	if err != nil && !errors.Is(err, tasks.ErrDamaged) {
		return p, chat, "", err
	}
	chat, err = director.Direct(ctx, id)
	return p, chat, lang, err
}

// accessDecision is what admins decided about one person.
type accessDecision struct {
	Allowed bool     `json:"allowed,omitempty"` // everywhere on the platform
	Chats   []string `json:"chats,omitempty"`   // keys of chats where the person is allowed
	Ignored bool     `json:"ignored,omitempty"` // never answered, until an admin allows more
	// By is the key of the delivery that decided, so that it is recognised when
	// it comes again.
	By string `json:"by,omitempty"`
	// Person is the ignored person, for an admin who thinks better of it.
	Person *accessRequest `json:"person,omitempty"`
}
