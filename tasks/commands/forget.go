package commands

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"legwork/bot"
	"legwork/internal/clip"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/inbox"
)

const (
	forgetTime  = 10 * time.Minute // how long the buttons of the question are valid
	pressForget = "f:"             // "yes:UNIX-TIME" or "no" follows
)

// forgetCommand asks whether to delete the conversation. "/forget yes" deletes it
// at once.
func forgetCommand(ctx context.Context, in *inbox.Inbox, r *inbox.Request, rest string) (inbox.Reply, error) {
	switch {
	case !r.Message.Chat.Private && !r.Admin:
		return in.ReplyText(r, "error.admins_only", nil), nil
	case strings.EqualFold(rest, "yes"):
		return forgetConversation(ctx, in, r, r.Message.Key), nil
	default:
		s := in.Notice(r, "notice.forget", nil)
		s.Buttons = []bot.Button{
			in.Button(r.Lang, "button.forget", pressForget+"yes:"+strconv.FormatInt(in.Now().Unix(), 10)),
			in.Button(r.Lang, "button.keep", pressForget+"no"),
		}
		return in.Reply(r, s), nil
	}
}

// forgetPress handles the answer to that question. A yes counts once, and only
// within forgetTime.
func forgetPress(ctx context.Context, in *inbox.Inbox, r *inbox.Request, choice string) (inbox.Reply, error) {
	if !r.Message.Chat.Private && !r.Admin {
		return in.ReplyAside(r, "error.admins_only"), nil
	}
	yes, ok := strings.CutPrefix(choice, "yes:")
	if !ok {
		s := in.Notice(r, "notice.kept", nil)
		s.Replace.Pressed = true
		return in.Reply(r, s), nil
	}
	asked, _ := strconv.ParseInt(yes, 10, 64) // 0 when it is no number: too long ago
	if age := in.Now().Sub(time.Unix(asked, 0)); age < -forgetTime || age > forgetTime {
		return in.ReplyText(r, "error.too_late", nil), nil
	}
	return forgetConversation(ctx, in, r, "forget:"+r.Message.Chat.Key()+":"+yes), nil
}

// forgetConversation deletes the data of the conversation after the message is
// stored. A repeated delivery deletes nothing, so messages since then are safe.
func forgetConversation(ctx context.Context, in *inbox.Inbox, r *inbox.Request, key string) inbox.Reply {
	m := r.Message
	summary, err := in.Store.Summary(ctx, m.Chat.Key()) // read now: the stored cut hides it
	if err != nil {
		in.Log.WarnContext(ctx, "conversation summary not read", "chat", m.Chat.Key(), "cause", err)
	}
	return inbox.Reply{Store: []tasks.Inbound{{Key: key, Chat: m.Chat, Cut: true}}, Say: func(ctx context.Context, _ []tasks.Receipt) inbox.Notice {
		s, err := deleteConversation(ctx, in, r, summary.Text != "")
		if err != nil {
			in.Log.ErrorContext(ctx, "conversation not deleted", "chat", m.Chat.Key(), "cause", err)
			return in.Notice(r, "problem.internal", nil)
		}
		s.Replace.Pressed = true
		if m.Kind != bot.MessagePress {
			s.Audience = inbox.ToChat
		}
		return s
	}}
}

// deleteConversation deletes the data and tells people what it deleted: questions
// with their answers and journals, and the summary. For a whole chat, but not for
// a thread in it, it also deletes the grants of the chat and the notes that tools
// keep about it.
func deleteConversation(ctx context.Context, in *inbox.Inbox, r *inbox.Request, summarised bool) (inbox.Notice, error) {
	chat := r.Message.Chat
	n, err := in.Store.Forget(ctx, chat.Key())
	in.Settings.Clear()
	if err != nil {
		return inbox.Notice{}, err
	}
	lines := []string{in.Texts.Text(r.Lang, "notice.forgotten", map[string]any{"Count": n})}
	in.Audit(ctx, r, "data.forget", chat.Key(), "")
	tell := func(key string, n int) {
		if n > 0 {
			lines = append(lines, in.Texts.Text(r.Lang, key, map[string]any{"Count": n}))
		}
	}
	if summarised {
		tell("notice.forgotten_summary", 1)
	}
	if chat.Key() == chat.Room() {
		grants, err := forgetGrants(ctx, in, chat)
		if err != nil {
			return inbox.Notice{}, err
		}
		tell("notice.forgotten_grants", grants)
		if in.Notes != nil {
			notes, err := in.Notes(ctx, chat)
			if err != nil {
				return inbox.Notice{}, err
			}
			tell("notice.forgotten_notes", notes)
		}
	}
	if chat.Private && chat.Key() == chat.Room() && in.SignIns != nil {
		ended, err := endSignIns(ctx, in, r)
		if err != nil {
			return inbox.Notice{}, err
		}
		tell("notice.forgotten_sign_ins", ended)
	}
	if schedules, err := in.Store.Schedules(ctx, chat.Key()); err == nil {
		tell("notice.forgotten_not_schedules", len(schedules))
	}
	if platform, err := in.Chats.Platform(chat); err == nil {
		if f, ok := platform.(bot.Forgetter); ok {
			f.Forgot(ctx, chat)
		}
	}
	if in.Forgotten != nil {
		in.Forgotten()
	}
	if running := runningGoals(ctx, in, chat); running != "" {
		lines = append(lines, in.Texts.Text(r.Lang, "notice.forgotten_running", map[string]any{"Goal": running}))
	}
	return inbox.TextNotice(in.SpellIn(chat, strings.Join(lines, " "))), nil
}

// forgetGrants deletes the grants of a chat, and returns how many of them were
// still valid.
func forgetGrants(ctx context.Context, in *inbox.Inbox, chat bot.Chat) (held int, err error) {
	err = inbox.ChangeGrants(ctx, in, chat, func(list []tasks.ChatGrant) ([]tasks.ChatGrant, bool) {
		for _, g := range list {
			if g.Holds(in.Now()) {
				held++
			}
		}
		return nil, len(list) > 0
	})
	return held, err
}

// runningGoals lists the questions of the chat's running tasks, which are not
// deleted. It is empty when no task runs or when they cannot be read.
func runningGoals(ctx context.Context, in *inbox.Inbox, chat bot.Chat) string {
	live, err := in.Store.Live(ctx, chat.Key())
	if err != nil {
		return ""
	}
	var names []string
	for _, l := range live {
		if o, err := tasks.OpeningOf(ctx, in.Store, l.Task); err == nil && o != nil {
			names = append(names, cards.PlainText(clip.Line(cards.Title(o.Goal), runningName)))
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), "; ")
}

// runningName is the maximum length of such a question in characters.
const runningName = 60

// endSignIns ends the author's own sign-ins at servers, and returns their number. The
// sign-ins that everybody shares stay.
func endSignIns(ctx context.Context, in *inbox.Inbox, r *inbox.Request) (ended int, err error) {
	list, err := in.Store.Connections(ctx)
	if err != nil {
		return 0, err
	}
	for _, c := range list {
		if c.Person != r.Message.From.Key() {
			continue
		}
		if _, err := in.SignIns.Disconnect(ctx, c.ConnectionID); err != nil && !errors.Is(err, tasks.ErrNoConnection) {
			return ended, err
		}
		in.Audit(ctx, r, "connection.end", c.Server, "")
		ended++
	}
	return ended, nil
}
