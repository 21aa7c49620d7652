package inbox

import (
	"context"

	"legwork/bot"
	"legwork/tasks"
)

// handle finds out what a message means and what comes of it.
func (in *Inbox) handle(ctx context.Context, m bot.Message, b *batch) (h handled, err error) {
	defer tasks.Catch(&err)
	m.Text = Clean(m.Text)
	if m.Kind == bot.MessageEdit {
		m.Standalone = true // where no task heard the old text, the new one is a question of its own
	}
	r := &Request{Message: m, Rules: in.rules.Load(), Lang: hint(in, m), MayAsk: true, Ephemeral: in.Ephemeral(m.Chat), Batch: b}
	h.request = r
	if out, err := claimAdmin(ctx, in, r); out.Taken || err != nil {
		h.reply = out.Reply
		return h, err
	}
	if m.Kind == bot.MessageDeletion { // anyone may have deleted it
		if r.Live, err = in.liveIn(ctx, m.Chat.Key()); err == nil {
			h.reply, err = deletedMessage(ctx, in, r)
		}
		return h, err
	}
	if h.admitted, r.Admin, err = in.admit(ctx, m, r.Rules.Access); err != nil {
		return h, err
	}
	if !h.admitted {
		out, err := askedInPrivate(ctx, in, r)
		if h.admitted, h.reply = out.Taken, out.Reply; !out.Taken && err == nil {
			h.reply = unauthorized(in, r)
		}
		return h, err
	}
	if r.Admin {
		if err := rememberLanguage(ctx, in, r); err != nil {
			return h, err
		}
	}
	if r.Lang, err = in.Language(ctx, m.From.Key(), r.Lang); err != nil {
		return h, err
	}
	if r.Live, err = in.liveIn(ctx, m.Chat.Key()); err != nil {
		return h, err
	}
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
			h.reply = withinLimits(ctx, in, r, out.Reply)
			return h, nil
		}
	}
	return h, nil
}

// handlers are asked in this order what a message of somebody who may talk to the
// bot means.
func handlers(in *Inbox) []Handler {
	with := func(h func(context.Context, *Inbox, *Request) (Outcome, error)) Handler {
		return func(ctx context.Context, r *Request) (Outcome, error) { return h(ctx, in, r) }
	}
	return []Handler{
		with(pressHandler), with(editHandler), with(promptArgumentHandler), with(overheardHandler),
		with(answerHandler), with(commandHandler), with(textHandler),
	}
}

// overheardHandler takes the messages that are not addressed to the bot, unless their
// author has a task running here, may steer one as an admin, or asked last.
func overheardHandler(_ context.Context, in *Inbox, r *Request) (Outcome, error) {
	if !r.Message.Overheard || r.MayAsk {
		return Outcome{}, nil
	}
	for _, t := range r.Live {
		if r.Admin && !t.State.Settled() {
			return Outcome{}, nil
		}
	}
	return Outcome{Taken: true}, nil
}

// textHandler takes a text that is nothing else for guidance or a question.
func textHandler(ctx context.Context, in *Inbox, r *Request) (Outcome, error) {
	m := r.Message
	switch {
	case m.Text == "" && m.Overheard:
		return Outcome{Taken: true}, nil
	case m.Text == "" && m.Media != "":
		return took(in.ReplyText(r, "error.no_text_in_media", nil), nil)
	case m.Text == "":
		return took(in.ReplyText(r, "error.empty_goal", nil), nil)
	case len(m.Text) > MaxGoal:
		return took(in.ReplyText(r, "error.goal_too_long", map[string]any{"Max": MaxGoal}), nil)
	}
	return took(OpenQuestion(ctx, in, r, m.Text))
}
