package inbox

import (
	"context"
	"errors"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/policy"
)

// BeginSignIn begins a sign-in of the author in a private chat.
func BeginSignIn(ctx context.Context, in *Inbox, r *Request, s SignIn) (Reply, error) {
	s.By, s.Language = r.Message.From, r.Lang
	if in.SignIns.TakesSecret(s.ID.Server) {
		return askSecret(ctx, in, r, s)
	}
	return in.ReplyLater(r, func(ctx context.Context) Notice { return linkNotice(ctx, in, r, s) }), nil // a repeated delivery begins no second one
}

// linkNotice begins a sign-in and gives the author the link.
func linkNotice(ctx context.Context, in *Inbox, r *Request, s SignIn) Notice {
	data := map[string]any{"Server": cards.InCode(s.ID.Server)}
	link, paste, err := in.SignIns.Begin(ctx, s)
	if err != nil {
		in.Log.WarnContext(ctx, "beginning a sign-in failed", "server", s.ID.Server, "cause", err)
		return in.Notice(r, "error.connect_begin", data)
	}
	in.Audit(ctx, r, "connection.begin", s.ID.Server, "")
	return in.Notice(r, "notice.connect", map[string]any{
		"Server": data["Server"], "Minutes": int(tasks.AttemptTime.Minutes()), "Link": link, "Paste": paste, "Shared": s.ID.Person == "",
	})
}

// askSecret asks for the secret of an identity in the way of the platform that shows it to
// the fewest: a form of the platform, a page of legwork, or the next message, which legwork
// deletes.
func askSecret(ctx context.Context, in *Inbox, r *Request, s SignIn) (Reply, error) {
	in.Audit(ctx, r, "connection.begin", s.ID.Server, "")
	p, err := in.Chats.Platform(r.Message.Chat)
	if err != nil {
		return Reply{}, err
	}
	data := map[string]any{"Server": cards.InCode(s.ID.Server), "Minutes": int(tasks.AttemptTime.Minutes()), "Shared": s.ID.Person == ""}
	if asker, ok := p.(bot.SecretAsker); ok {
		return in.ReplyLater(r, func(ctx context.Context) Notice { return showForm(ctx, in, r, asker, s.ID.Server, data) }), nil
	}
	link, _, err := in.SignIns.Begin(ctx, s)
	if err != nil {
		return Reply{}, err
	}
	_, erases := p.(bot.Eraser)
	data["Link"], data["Deletes"] = link, erases
	if link != "" && !erases && !r.Ephemeral {
		return in.ReplyText(r, "notice.secret_page", data), nil
	}
	if err := in.AwaitSecret(ctx, r, s.ID.Server); err != nil { // before the command counts as handled
		return Reply{}, err
	}
	n := in.Notice(r, "notice.secret_ask", data)
	n.Audience = ToChat
	if r.Ephemeral {
		n.Kind, n.Hidden, n.FreeText = bot.KindQuestion, true, true // the next line answers it
	}
	return in.Reply(r, n), nil
}

// showForm opens a form for a secret, or offers a button that does.
func showForm(ctx context.Context, in *Inbox, r *Request, asker bot.SecretAsker, server string, data map[string]any) Notice {
	text := func(key string) string { return in.Texts.Text(r.Lang, key, map[string]any{"Server": server}) }
	err := asker.AskSecret(ctx, r.Message, bot.SecretForm{Data: server, Title: text("secret.title"), Label: text("secret.label"), Submit: text("button.connect"), Cancel: text("button.cancel")})
	if err == nil {
		return Notice{}
	}
	if !errors.Is(err, bot.ErrGone) {
		in.Log.WarnContext(ctx, "form for a secret not shown", "server", server, "cause", err)
	}
	n := in.Notice(r, "notice.secret_form", data)
	n.Buttons = []bot.Button{in.Button(r.Lang, "button.secret", cards.PressConnect+server)}
	return n
}

// signInPress handles a press under the card of a task that waits for a sign-in. Another
// person could use the link of a sign-in: it is shown in private chats alone.
func signInPress(ctx context.Context, in *Inbox, r *Request, t LiveTask, about planner.ActionID, verb string, q *planner.Question) (Reply, error) {
	id := tasks.ConnectionID{Server: q.Server, Person: q.SignIn.Person}
	wanted := SignIn{ID: id, Task: t.Task, Scopes: q.SignIn.Scopes}
	data := map[string]any{"Server": cards.InCode(q.Server), "Command": "/connect " + q.Server}
	aside := func(key string) Reply {
		n := in.Notice(r, key, data)
		n.Audience = ToAuthor
		return in.Reply(r, n)
	}
	switch {
	case verb == cards.VerbDecline:
		return decideCard(in, r, t, about, planner.Decision{}), nil
	case verb != cards.VerbConnect || in.SignIns == nil:
		return in.ReplyText(r, "error.too_late", nil), nil
	case id.Person != "" && id.Person != r.Message.From.Key():
		return aside("error.connect_person"), nil
	case id.Person == "" && !r.Admin:
		return aside("error.connect_admins"), nil
	case !r.Message.Chat.Private && in.SignIns.TakesSecret(q.Server):
		return aside("error.connect_private"), nil
	case !r.Message.Chat.Private:
		return in.ReplyLater(r, func(ctx context.Context) Notice { return linkElsewhere(ctx, in, r, wanted) }), nil
	}
	reply, err := BeginSignIn(ctx, in, r, wanted)
	if err != nil || !r.Ephemeral {
		return reply, err
	}
	begun := reply.Say
	reply.Say = func(ctx context.Context, receipts []tasks.Receipt) Notice { // the press removed the card from the screen
		n := begun(ctx, receipts)
		if n.Kind != bot.KindQuestion {
			without := in.Button(r.Lang, "button.go_without", cards.DecisionData(cards.PressField, t.Task, about.Seq, 0, cards.VerbDecline))
			n.Kind, n.Task, n.Buttons = bot.KindQuestion, string(t.Task), []bot.Button{without}
		}
		return n
	}
	return reply, nil
}

// linkElsewhere begins a sign-in and sends the link to the author's private chat.
func linkElsewhere(ctx context.Context, in *Inbox, r *Request, s SignIn) Notice {
	s.By, s.Language = r.Message.From, r.Lang
	key := "notice.connect_elsewhere"
	to, err := in.reach(ctx, r.Message.From.Key())
	if err == nil {
		_, err = postWhole(ctx, to.Platform, to.Chat, linkNotice(ctx, in, r, s).Draft, "")
	}
	if err != nil {
		in.Log.InfoContext(ctx, "link of a sign-in not sent in private", "server", s.ID.Server, "cause", err)
		key = "error.connect_private"
	}
	n := in.Notice(r, key, map[string]any{"Command": "/connect " + s.ID.Server})
	n.Audience = ToAuthor
	return n
}

// SignedIn lets the tasks go on that wait for a connection. When the connection is not
// there, it does nothing.
func SignedIn(ctx context.Context, in *Inbox, id tasks.ConnectionID) {
	c, err := in.Store.Connection(ctx, id)
	if errors.Is(err, tasks.ErrNoConnection) {
		return
	}
	var list []tasks.Live
	if err == nil {
		list, err = in.Store.Live(ctx, "")
	}
	if err != nil {
		in.Log.ErrorContext(ctx, "tasks that wait for a sign-in not found", "server", id.Server, "cause", err)
		return
	}
	for _, t := range list {
		if err := signedIn(ctx, in, t.Task, c); err != nil && !tasks.Unreadable(err) {
			in.Log.ErrorContext(ctx, "task that waits for a sign-in not continued", "task", t.Task, "server", id.Server, "cause", err)
		}
	}
}

// signedIn decides the questions of a task that wait for a connection.
func signedIn(ctx context.Context, in *Inbox, id tasks.ID, c tasks.Connection) error {
	return ChangeTask(ctx, in, id, func(s planner.State) (list []planner.Event, err error) {
		for _, a := range planner.Todo(s) {
			if a.Kind != planner.KindAsk || a.ID.Subject != planner.SubjectForm {
				continue
			}
			e, err := in.Store.Event(ctx, id, a.ID.Seq)
			if err != nil {
				return nil, err
			}
			if policy.AsksFor(e, c.ConnectionID) && policy.SignedIn(e, c) {
				list = append(list, planner.Event{Type: planner.Decided, Action: a.ID, By: c.By, Decision: &planner.Decision{Approve: true}})
			}
		}
		return list, nil
	})
}

// signInGap is how often the admins are told that a sign-in is missing.
const signInGap = time.Hour

// SignInWanted tells the admins that tasks wait for the sign-in at a server that everybody
// shares. It returns at once; Flush waits for the sending.
func SignInWanted(ctx context.Context, in *Inbox, server string) {
	if !in.notified.first("sign-in "+server, signInGap, in.Now()) {
		return
	}
	in.QueueForAdmins(ctx, func(ctx context.Context) {
		_, _ = in.PostToAdmins(ctx, func(to PrivateChat) (bot.Draft, string) {
			return bot.Draft{
				Kind: bot.KindQuestion, Text: in.Texts.Text(to.Lang, "sign_in.admins", map[string]any{"Server": cards.InCode(server)}),
				Buttons: []bot.Button{in.Button(to.Lang, "button.connect", cards.PressConnect+server)},
			}, ""
		})
	})
}
