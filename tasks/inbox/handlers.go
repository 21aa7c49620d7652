package inbox

import (
	"context"
	"slices"
	"strings"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/input"
)

// handle decides what a message means, and returns the reply to it.
func (in *Inbox) handle(ctx context.Context, m bot.Message, b *batch) (h handled, err error) {
	defer tasks.Catch(&err)
	m.Text = input.Clean(m.Text)
	if m.Kind == bot.MessageEdit {
		m.Standalone = true // if no task has read the old text, the new text is a question of its own
	}
	r := &Request{Message: m, Rules: in.rules.Load(), Lang: platformLanguage(in, m), MayAsk: true, Ephemeral: in.Ephemeral(m.Chat), Batch: b}
	h.request = r
	if out, err := claimAdmin(ctx, in, r); out.Taken || err != nil {
		h.reply = out.Reply
		return h, err
	}
	if m.Kind == bot.MessageDeletion { // no access check: any member may have deleted it
		if r.Live, err = in.liveIn(ctx, m.Chat.Key()); err == nil {
			h.reply, err = deletedMessage(ctx, in, r)
		}
		return h, err
	}
	if h.admitted, r.Admin, err = in.admit(ctx, m, r.Rules.Access); err != nil {
		return h, err
	}
	if !h.admitted {
		out, err := privateAnswer(ctx, in, r)
		if h.admitted, h.reply = out.Taken, out.Reply; !out.Taken && err == nil {
			h.reply = unauthorized(in, r)
		}
		return h, err
	}
	if r.Admin {
		if err := in.Settings.rememberLanguage(ctx, r); err != nil {
			return h, err
		}
	}
	if r.Lang, err = in.Settings.Language(ctx, m.From.Key(), r.Lang); err != nil {
		return h, err
	}
	if r.Live, err = in.liveIn(ctx, m.Chat.Key()); err != nil {
		return h, err
	}
	if m.Earlier, err = in.labelQuoted(ctx, m); err != nil {
		return h, err
	}
	m = input.InWords(in.Texts, r.Lang, withFewFiles(in.Texts, r.Lang, m))
	r.Message = m
	if m.Overheard {
		if r.MayAsk, err = mayAsk(ctx, in, r); err != nil {
			return h, err
		}
	}
	for _, take := range in.handlers {
		out, err := take(ctx, r)
		if err != nil {
			return h, err
		}
		if out.Taken {
			leaveNameOut(r, out.Reply)
			h.reply = withinLimits(ctx, in, r, sayUnread(in, r, out.Reply))
			return h, nil
		}
	}
	return h, nil
}

// leaveNameOut takes the person out of the decisions of a message that no person sent.
func leaveNameOut(r *Request, reply Reply) {
	for i := range reply.Store {
		if e := &reply.Store[i].Event; r.Message.Unattended && e.Type == planner.Decided {
			d := *e.Decision
			d.Name, e.By, e.Decision = "", "", &d
		}
	}
}

// handlers returns the handlers of messages from people with access, in the order
// in which they are tried.
func handlers(in *Inbox) []Handler {
	with := func(h func(context.Context, *Inbox, *Request) (Outcome, error)) Handler {
		return func(ctx context.Context, r *Request) (Outcome, error) { return h(ctx, in, r) }
	}
	return []Handler{
		with(secretHandler), with(pressHandler), with(editHandler), with(promptArgumentHandler), with(overheardHandler),
		with(filesHandler), with(pastedHandler), with(answerHandler), with(commandHandler), with(textHandler),
	}
}

// overheardHandler drops messages that are not addressed to the bot. It lets a
// message through if its author may ask with it, or if the author is an admin and
// a task runs in the conversation.
func overheardHandler(_ context.Context, in *Inbox, r *Request) (Outcome, error) {
	return Outcome{Taken: r.Message.Overheard && !r.MayAsk && !r.mayGuide()}, nil
}

// mayGuide reports whether the author is an admin and a task runs in the conversation.
func (r *Request) mayGuide() bool {
	return r.Admin && slices.ContainsFunc(r.Live, func(t LiveTask) bool { return !t.State.Settled() })
}

// FollowsUp reports whether a message that does not address the bot will be a question
// or guidance, and not the answer to a question of a task. When the store cannot be
// read, FollowsUp returns false.
func (in *Inbox) FollowsUp(ctx context.Context, m bot.Message) bool {
	follows, err := followsUp(ctx, in, &Request{Message: m, Batch: newBatch()})
	if err != nil {
		in.Log.ErrorContext(ctx, "conversation not read", "chat", m.Chat.Key(), "cause", err)
	}
	return follows && err == nil
}

func followsUp(ctx context.Context, in *Inbox, r *Request) (follows bool, err error) {
	if _, r.Admin, err = in.admit(ctx, r.Message, in.rules.Load().Access); err != nil {
		return false, err
	}
	if r.Live, err = in.liveIn(ctx, r.Message.Chat.Key()); err != nil {
		return false, err
	}
	if _, answers := r.answeredAsk(r.Live); answers {
		return false, nil
	}
	may, err := mayAsk(ctx, in, r)
	return may || r.mayGuide(), err
}

// textHandler handles all other texts, as guidance or as a question.
func textHandler(ctx context.Context, in *Inbox, r *Request) (Outcome, error) {
	m := r.Message
	switch {
	case m.Text == "" && m.Overheard && len(m.Files) == 0:
		return Outcome{Taken: true}, nil
	case m.Text == "" && FilesGoal(in, r) != "":
		return took(OpenQuestion(ctx, in, r, FilesGoal(in, r)))
	case m.Text == "" && m.Media == "rich_message":
		return took(in.ReplyText(r, "error.rich_message", nil), nil)
	case m.Text == "" && m.Media != "":
		return took(in.ReplyText(r, "error.no_text_in_media", nil), nil)
	case m.Text == "" && len(m.Earlier) > 0:
		return took(OpenQuestion(ctx, in, r, in.Texts.Text(r.Lang, "prompt.look", nil)))
	case m.Text == "":
		return took(in.ReplyText(r, "error.empty_goal", nil), nil)
	case len(m.Text) > MaxGoal:
		return took(in.ReplyText(r, "error.goal_too_long", map[string]any{"Max": MaxGoal}), nil)
	}
	return took(OpenQuestion(ctx, in, r, m.Text))
}

// sayUnread adds to a reply that legwork does not read the media of the message, if
// the text of the message goes to a task.
func sayUnread(in *Inbox, r *Request, reply Reply) Reply {
	m := r.Message
	if m.Media == "" || m.Text == "" || m.Kind != bot.MessageText || !concernsTask(reply.Store) {
		return reply
	}
	before := reply.Say
	reply.Say = func(ctx context.Context, receipts []tasks.Receipt) Notice {
		unread := in.Notice(r, "notice.unread", input.UnreadData(in.Texts, r.Lang, m))
		unread.Audience = ToChat
		if before == nil {
			return unread
		}
		n := before(ctx, receipts)
		switch {
		case n.Later != nil:
		case n.Text == "":
			return unread
		default:
			n.Text = strings.Join([]string{n.Text, unread.Text}, "\n\n")
		}
		return n
	}
	return reply
}

// concernsTask reports whether a delivery opens a task or gives words to one.
func concernsTask(store []tasks.Inbound) bool {
	for _, item := range store {
		if t := item.Event.Type; item.Open != nil || item.To != "" && (t == planner.GuidanceAdded || t == planner.Joined || t == planner.Decided || t == planner.Heard) {
			return true
		}
	}
	return false
}
