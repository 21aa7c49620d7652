package inbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	admins, err := in.Admins(ctx)
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
	if err := in.Settings.Read(ctx, m.From.Key(), tasks.SettingAccess, &g); err != nil {
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

// Admins lists the admins of the config and those of the store.
func (in *Inbox) Admins(ctx context.Context) ([]string, error) {
	var stored []string
	if err := in.Settings.Read(ctx, tasks.OwnerLegwork, tasks.SettingAdmins, &stored); err != nil {
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
	in.QueueForAdmins(ctx, func(ctx context.Context) {
		_, _ = in.PostToAdmins(ctx, func(to PrivateChat) (bot.Draft, string) {
			return bot.Draft{Kind: bot.KindNotice, Text: text(to.Lang)}, ""
		})
	})
}

// QueueForAdmins does a job in the background, after the other jobs that tell admins
// something; see Flush.
func (in *Inbox) QueueForAdmins(ctx context.Context, job func(context.Context)) {
	in.outbox.add(ctx, "admins", job)
}

// PrivateChat is the private chat with a person, and the language of what they read
// there unasked.
type PrivateChat struct {
	Platform bot.Platform
	Chat     bot.Chat
	Lang     string
}

// PostToAdmins posts a draft to each admin, unless its text is empty, and waits for
// that. brief stands in place of the text where the draft's file can be sent. An
// admin who cannot be reached is logged and left out. The error is that there are
// admins and none can be reached.
func (in *Inbox) PostToAdmins(ctx context.Context, draft func(PrivateChat) (d bot.Draft, brief string)) (reached int, err error) {
	admins, err := in.Admins(ctx)
	if err != nil { // the damage may be what they are told about
		in.Log.ErrorContext(ctx, "reading admins failed, informing those of the config", "cause", err)
		admins = in.rules.Load().Access.Admins
	}
	for _, admin := range admins {
		failed := in.post(ctx, admin, draft)
		if failed == nil {
			reached++
			continue
		}
		if ctx.Err() == nil {
			in.Log.WarnContext(ctx, "admin not told", "admin", admin, "cause", failed)
		}
		err = errors.Join(err, fmt.Errorf("telling %s: %w", admin, failed))
	}
	if reached > 0 {
		err = nil
	}
	return reached, err
}

// post posts a draft to the private chat of a person.
func (in *Inbox) post(ctx context.Context, person string, draft func(PrivateChat) (d bot.Draft, brief string)) error {
	to, err := in.reach(ctx, person)
	if err != nil {
		return err
	}
	d, brief := draft(to)
	if d.Text == "" {
		return nil
	}
	_, err = postWhole(ctx, to.Platform, to.Chat, d, brief)
	return err
}

// reach finds the private chat with a person.
func (in *Inbox) reach(ctx context.Context, person string) (to PrivateChat, err error) {
	platform, id, _ := strings.Cut(person, ":")
	if to.Platform, err = in.Chats.Platform(bot.Chat{Platform: platform}); err != nil {
		return to, err
	}
	director, ok := to.Platform.(bot.Director)
	if !ok {
		return to, bot.ErrGone
	}
	to.Lang = in.rules.Load().Language
	spoken, err := in.Settings.Get(ctx, person, tasks.SettingPlatformLanguage)
	if err == nil {
		to.Lang, err = in.Language(ctx, person, cmp.Or(spoken, to.Lang))
	}
	if err != nil && !errors.Is(err, tasks.ErrDamaged) {
		return to, err
	}
	to.Chat, err = director.Direct(ctx, id)
	return to, err
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

// move takes account of a group that has another id now: what it holds goes
// along, and so does what the config says of it until that is changed.
func move(ctx context.Context, in *Inbox, from bot.Chat, to bot.Chat) error {
	if err := in.Store.Move(ctx, from.Key(), to); err != nil {
		return fmt.Errorf("moving %s: %w", from.Key(), err)
	}
	was, err := in.Settings.Get(ctx, to.Key(), tasks.SettingFormerID)
	if err != nil || was == from.ID {
		return err
	}
	if err := in.Settings.Put(ctx, to.Key(), tasks.SettingFormerID, from.ID); err != nil {
		return err
	}
	in.Log.InfoContext(ctx, "a group has another id now", "was", from.Key(), "is", to.Key())
	access := in.rules.Load().Access.Platforms[from.Platform]
	if !slices.Contains(access.Chats, from.ID) {
		return nil
	}
	in.TellAdmins(ctx, "admin.chat_moved", map[string]any{"Was": from.Key(), "Chat": to.Key()})
	return nil
}

// admitsMoved decides as admits does for a group that the config lists by the
// id that it had before.
func admitsMoved(ctx context.Context, in *Inbox, a policy.Access, g accessDecision, m bot.Message) (bool, error) {
	if m.Chat.Private {
		return false, nil
	}
	was, err := in.Settings.Get(ctx, policy.ChatKey(m.Chat), tasks.SettingFormerID)
	if err != nil || was == "" {
		return false, err
	}
	m.Chat.ID = was
	return a.Admits(g.Allowed, g.Chats, m), nil
}
