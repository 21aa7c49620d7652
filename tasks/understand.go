package tasks

import (
	"context"

	"legwork/bot"
)

// What a message means.

// route finds the meaning of one message.
func (in *Inbox) route(ctx context.Context, m bot.Message, fresh *recent) (r routed, err error) {
	defer catch(&err)
	m.Text = Clean(m.Text)
	r = routed{message: m, rules: in.rules.Load(), fresh: fresh}
	r.lang = in.hint(m)
	done, err := in.claims(ctx, &r)
	if done || err != nil {
		return r, err
	}
	if m.Kind == bot.MessageDeletion { // whoever may have deleted it
		if r.live, err = in.liveIn(ctx, m.Chat.Key()); err == nil {
			err = in.deleted(ctx, &r)
		}
		return r, err
	}
	admitted, err := in.admit(ctx, &r)
	if err != nil {
		return r, err
	}
	if r.admitted = admitted; !admitted {
		asked, err := in.askedInPrivate(ctx, &r)
		if !asked && err == nil {
			in.stranger(&r)
		}
		return r, err
	}
	if r.admin {
		if err := in.listen(ctx, &r); err != nil {
			return r, err
		}
	}
	if r.lang, err = in.language(ctx, m.From.Key(), r.lang); err != nil {
		return r, err
	}
	if r.live, err = in.liveIn(ctx, m.Chat.Key()); err != nil {
		return r, err
	}
	if err := in.understand(ctx, &r); err != nil {
		return r, err
	}
	in.bound(ctx, &r)
	return r, nil
}

// understand routes the message of somebody who may talk to the bot: a press
// or an answer to a question, a command, guidance, or a new task.
func (in *Inbox) understand(ctx context.Context, r *routed) error {
	m := r.message
	switch {
	case m.Kind == bot.MessagePress:
		return in.press(ctx, r)
	case m.Kind == bot.MessageEdit:
		if done, err := in.edited(ctx, r); done || err != nil {
			return err
		}
	}
	if taken, err := in.argument(ctx, r); taken || err != nil {
		return err
	}
	if m.Overheard {
		if meant, err := in.meant(ctx, r); !meant || err != nil {
			return err
		}
	}
	if answered, err := in.answered(ctx, r); answered || err != nil {
		return err
	}
	if name, rest, ok := splitCommand(m.Text); ok {
		return in.command(ctx, r, name, rest)
	}
	return in.plain(ctx, r)
}

// plain takes a text that is no command for guidance or a question.
func (in *Inbox) plain(ctx context.Context, r *routed) error {
	m := r.message
	switch {
	case m.Text == "" && m.Overheard:
		return nil
	case m.Text == "" && m.Media != "":
		in.say(r, "error.no_text_in_media", nil)
	case m.Text == "":
		in.say(r, "error.empty_goal", nil)
	case len(m.Text) > MaxGoal:
		in.say(r, "error.goal_too_long", map[string]any{"Max": MaxGoal})
	default:
		return in.question(ctx, r, m.Text)
	}
	return nil
}
