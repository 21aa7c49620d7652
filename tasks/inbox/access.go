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

// admit decides whether the inbox handles a message, and whether its author is an
// admin. It reads the decisions of admins only when the config alone does not
// admit the author.
func (in *Inbox) admit(ctx context.Context, m bot.Message, access policy.Access) (admitted, admin bool, err error) {
	admins, err := in.Admins(ctx)
	if err != nil {
		return false, false, err
	}
	if key := m.From.Key(); slices.Contains(admins, key) || slices.Contains(access.Owners, key) {
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

// admitOwner is admit for the owner of a schedule. The web chat is open to people with a
// session, which a schedule does not have. So its owner must be able to sign in now: with
// a token or through the provider of the config, or by a link from a private chat where
// legwork still listens to them.
func (in *Inbox) admitOwner(ctx context.Context, m bot.Message, access policy.Access) (admitted, admin bool, err error) {
	switch {
	case m.Chat.Platform != tasks.PlatformWeb:
	case m.From.Platform == tasks.PlatformWeb:
		if !access.SignsIn(m.From.ID) {
			return false, false, nil
		}
	default:
		m.Chat = bot.Chat{Platform: m.From.Platform, ID: m.From.ID, Private: true}
		var g accessDecision
		if err := in.Settings.Read(ctx, m.From.Key(), tasks.SettingAccess, &g); err != nil {
			return false, false, err
		}
		if g.Person != nil && g.Person.Chat.Private { // in Slack its id is not that of the person
			m.Chat = g.Person.Chat
		}
	}
	return in.admit(ctx, m, access)
}

// Admits reports whether the author of a message may talk to the bot in the
// message's chat. When the store cannot be read, Admits returns false.
func (in *Inbox) Admits(ctx context.Context, m bot.Message) bool {
	ok, _, err := in.admit(ctx, m, in.rules.Load().Access)
	if err != nil {
		in.Log.ErrorContext(ctx, "access not read", "chat", m.Chat.Key(), "cause", err)
	}
	return ok && err == nil
}

// Admins returns the keys of all admins, from the config and from the store.
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

// NotifyAdmins sends the text of a key to each admin in their private chat and in
// their language. It returns at once; Flush waits for the sending. An admin who
// cannot be reached is logged and skipped.
func (in *Inbox) NotifyAdmins(ctx context.Context, key string, data any) {
	in.NotifyAdminsWith(ctx, func(lang string) string { return in.Texts.Text(lang, key, data) })
}

// NotifyAdminsWith is NotifyAdmins for a text that the caller writes in each language.
func (in *Inbox) NotifyAdminsWith(ctx context.Context, text func(lang string) string) {
	in.QueueForAdmins(ctx, func(ctx context.Context) {
		_, _ = in.PostToAdmins(ctx, func(to PrivateChat) (bot.Draft, string) {
			return bot.Draft{Kind: bot.KindNotice, Text: text(to.Lang)}, ""
		})
	})
}

// QueueForAdmins runs a job in the background, after all earlier jobs that send
// messages to admins. Flush waits for it.
func (in *Inbox) QueueForAdmins(ctx context.Context, job func(context.Context)) {
	in.outbox.add(ctx, "admins", job)
}

// PrivateChat is the private chat with a person, and the language for messages
// that the person did not ask for.
type PrivateChat struct {
	Platform bot.Platform
	Chat     bot.Chat
	Lang     string
}

// PostToAdmins posts a draft to each admin and waits until that is done. It posts
// nothing where the draft's text is empty. Where the platform can send the draft's
// file, brief replaces the text. An admin who cannot be reached is logged and
// skipped. PostToAdmins returns an error only when it reached none of the admins.
func (in *Inbox) PostToAdmins(ctx context.Context, draft func(PrivateChat) (d bot.Draft, brief string)) (reached int, err error) {
	admins, err := in.Admins(ctx)
	if err != nil { // the notice may be about this very damage
		in.Log.ErrorContext(ctx, "stored admins not read", "cause", err)
		admins = in.rules.Load().Access.Admins
	}
	for _, admin := range admins {
		failed := in.post(ctx, admin, draft)
		if failed == nil {
			reached++
			continue
		}
		if ctx.Err() == nil {
			in.Log.WarnContext(ctx, "admin not notified", "admin", admin, "cause", failed)
		}
		err = errors.Join(err, fmt.Errorf("notifying %s: %w", admin, failed))
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
		to.Lang, err = in.Settings.Language(ctx, person, cmp.Or(spoken, to.Lang))
	}
	if err != nil && !errors.Is(err, tasks.ErrDamaged) {
		return to, err
	}
	to.Chat, err = director.Direct(ctx, id)
	return to, err
}

// accessDecision is the decision of an admin about one person.
type accessDecision struct {
	Allowed bool     `json:"allowed,omitempty"` // everywhere on the platform
	Chats   []string `json:"chats,omitempty"`   // keys of chats where the person is allowed
	Ignored bool     `json:"ignored,omitempty"` // the person gets no answer until an admin admits them
	// By is the key of the message with the decision. A repeated delivery of that
	// message is recognised by it.
	By string `json:"by,omitempty"`
	// Person is the request that was decided. With it, an admin can still admit a
	// person whom they ignored before.
	Person *accessRequest `json:"person,omitempty"`
}

// move handles a group that got another id. The store moves the data of the group
// to the new id. Access rules of the config for the old id hold for the new one
// until the config changes.
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
	in.Log.InfoContext(ctx, "group id changed", "from", from.Key(), "to", to.Key())
	access := in.rules.Load().Access.Platforms[from.Platform]
	if !slices.Contains(access.Chats, from.ID) {
		return nil
	}
	in.NotifyAdmins(ctx, "admin.chat_moved", map[string]any{"Was": from.Key(), "Chat": to.Key()})
	return nil
}

// admitsMoved decides about a group that the config lists by its earlier id.
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
