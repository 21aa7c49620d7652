package inbox

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"legwork/bot"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/input"
)

// SignIns are the sign-ins of people at servers of tools.
type SignIns interface {
	// Servers lists the servers at which people sign in, and whether each person does.
	Servers() (perPerson map[string]bool)
	// ID names the connection to a server that a person uses. tasks.ErrNoSignIn.
	ID(server, person string) (tasks.ConnectionID, error)
	// Begin prepares a sign-in and returns the link for the person. Paste says that the
	// person has to send the address on which the browser ends.
	Begin(ctx context.Context, s SignIn) (link string, paste bool, err error)
	// Finish ends a sign-in with the parameters of the address on which the browser ended.
	// tasks.ErrNoConnection, tasks.ErrDenied.
	Finish(ctx context.Context, redirect url.Values, by string) (tasks.Attempt, error)
	// TakesSecret reports whether people give a secret for a server, in place of signing in
	// elsewhere. The link of Begin is then empty where the person's browser may not reach
	// legwork.
	TakesSecret(server string) bool
	// GiveSecret stores the secret of an identity. A *tasks.SecretError, tasks.ErrNoSignIn.
	GiveSecret(ctx context.Context, id tasks.ConnectionID, by, secret string) error
	// Disconnect ends a connection, and reports whether the server has ended it, too.
	// tasks.ErrNoConnection.
	Disconnect(ctx context.Context, id tasks.ConnectionID) (revoked bool, err error)
	// DisconnectAll ends the connections of everybody to a server. Revoked is how many of
	// them the server has ended, too.
	DisconnectAll(ctx context.Context, server string) (ended []tasks.ConnectionID, revoked int, err error)
	// Callback is the address to which browsers return, without parameters.
	Callback() string
}

// SignIn is a sign-in that a person asks for.
type SignIn struct {
	ID       tasks.ConnectionID
	By       bot.Person // the person who asks for it
	Language string     // of that person
	Task     tasks.ID   // that waits for it; empty: none
	Scopes   []string   // rights that an earlier sign-in lacks; empty: unknown
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

// pendingSecret is a secret that a person is asked for: their next text is it.
type pendingSecret struct {
	Server  string    `json:"server"`
	Message string    `json:"message,omitempty"` // id of the message that brought it; empty: none yet
	At      time.Time `json:"at"`                // of the question
}

// AwaitSecret takes the next text of a message's author in this chat as their secret for a
// server, for tasks.AttemptTime.
func (in *Inbox) AwaitSecret(ctx context.Context, r *Request, server string) error {
	return in.Settings.Write(ctx, r.Message.Chat.Key(), tasks.SettingSecret+r.Message.From.Key(), pendingSecret{Server: server, At: in.Now()})
}

// awaitedSecret returns the secret that a message's author is asked for here; zero when
// there is none.
func awaitedSecret(ctx context.Context, in *Inbox, r *Request) (w pendingSecret, err error) {
	err = in.Settings.Read(ctx, r.Message.Chat.Key(), tasks.SettingSecret+r.Message.From.Key(), &w)
	return w, err
}

// forgetSecret waits no longer for a secret of a message's author. It reports whether it
// was expected.
func forgetSecret(ctx context.Context, in *Inbox, r *Request) (bool, error) {
	w, err := awaitedSecret(ctx, in, r)
	if err != nil || w.Server == "" {
		return false, err
	}
	open := w.Message == "" && in.Now().Sub(w.At) < tasks.AttemptTime
	return open, in.Settings.Put(ctx, r.Message.Chat.Key(), tasks.SettingSecret+r.Message.From.Key(), "")
}

// secretHandler takes the secret that a person was asked for: out of a form, or as their
// next text. A message that brought one is known by its id: when it is delivered again
// after a kill, or edited before it is deleted, it is still no question.
func secretHandler(ctx context.Context, in *Inbox, r *Request) (Outcome, error) {
	m := r.Message
	switch {
	case in.SignIns == nil || !m.Chat.Private:
		return Outcome{Taken: m.Kind == bot.MessageSecret}, nil
	case m.Kind == bot.MessageSecret:
		return took(in.TakeSecret(ctx, r, m.Data, m.Text))
	case m.Kind != bot.MessageText && m.Kind != bot.MessageEdit || m.Text == "" || len(m.Files) > 0:
		return Outcome{}, nil
	}
	w, err := awaitedSecret(ctx, in, r)
	if err != nil || w.Server == "" {
		return Outcome{}, err
	}
	if name, _, ok := input.SplitCommand(m.Text); ok && (name == "cancel" || slices.ContainsFunc(in.Commands, func(c Command) bool { return c.Name == name })) {
		return Outcome{}, nil
	}
	again := w.Message != "" && w.Message == m.ID
	if !again && (w.Message != "" || m.Standalone || in.Now().Sub(w.At) >= tasks.AttemptTime) {
		return Outcome{}, nil
	}
	w.Message = m.ID
	if err := in.Settings.Write(ctx, m.Chat.Key(), tasks.SettingSecret+m.From.Key(), w); err != nil {
		return Outcome{}, err
	}
	return took(in.TakeSecret(ctx, r, w.Server, m.Text))
}

// eraseTime is how long deleting a message with a secret may take.
const eraseTime = 10 * time.Second

// TakeSecret stores a secret of a message's author for a server, and deletes the message.
// The reply stores nothing, not even the message's key: after a kill, another delivery
// deletes the message.
func (in *Inbox) TakeSecret(ctx context.Context, r *Request, server, secret string) (Reply, error) {
	n, err := in.keepSecret(ctx, r, server, secret)
	if err != nil {
		return Reply{}, err
	}
	return in.WithoutMessage(r, n), nil
}

// keepSecret stores a secret, and returns the notice about it.
func (in *Inbox) keepSecret(ctx context.Context, r *Request, server, secret string) (Notice, error) {
	data := map[string]any{"Server": cards.InCode(server)}
	id, err := in.SignIns.ID(server, r.Message.From.Key())
	switch {
	case errors.Is(err, tasks.ErrNoSignIn):
		return in.Notice(r, "error.too_late", nil), nil
	case err != nil:
		return Notice{}, err
	case id.Person == "" && !r.Admin:
		return in.Notice(r, "error.connect_admins", data), nil
	}
	data["Shared"] = id.Person == ""
	err = in.SignIns.GiveSecret(ctx, id, r.Message.From.Key(), secret)
	bad, isBad := errors.AsType[*tasks.SecretError](err)
	switch {
	case isBad:
		n := in.Notice(r, "secret."+bad.Problem, map[string]any{"Max": tasks.MaxSecret})
		n.Text += " " + in.SpellIn(r.Message.Chat, in.Texts.Text(r.Lang, "notice.secret_again", map[string]any{"Name": server}))
		return n, nil
	case errors.Is(err, tasks.ErrNoSignIn):
		return in.Notice(r, "error.too_late", nil), nil
	case err != nil:
		in.Log.ErrorContext(ctx, "secret not stored", "server", server, "cause", err)
		return in.Notice(r, "problem.internal", nil), nil
	}
	return in.Notice(r, "notice.secret_kept", data), nil
}

// WithoutMessage deletes the message that brought a secret, and then sends a notice. It
// says so when the message cannot be deleted.
func (in *Inbox) WithoutMessage(r *Request, n Notice) Reply {
	return Reply{Say: func(ctx context.Context, _ []tasks.Receipt) Notice {
		if n.Audience = ToChat; in.erase(ctx, r) {
			return n
		}
		n.Text += "\n\n" + in.Texts.Text(r.Lang, "notice.secret_visible", nil)
		return n
	}}
}

// erase deletes a message from the chat. It reports whether the secret is no longer
// to be seen there.
func (in *Inbox) erase(ctx context.Context, r *Request) bool {
	m := r.Message
	if m.Kind == bot.MessageSecret || m.ID == "" || r.Ephemeral { // it never was there, or disappears
		return true
	}
	p, err := in.Chats.Platform(m.Chat)
	eraser, can := p.(bot.Eraser)
	if err != nil || !can {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, eraseTime)
	defer cancel()
	if err := eraser.Erase(ctx, m.Chat, m.ID); err != nil {
		in.Log.WarnContext(ctx, "message with a secret not deleted", "chat", m.Chat.Key(), "cause", err)
		return false
	}
	return true
}
