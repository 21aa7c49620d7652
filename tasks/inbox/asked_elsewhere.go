package inbox

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"legwork/bot"
	"legwork/tasks"
	"legwork/tasks/cards"
)

// askedElsewhere lists the tasks of other chats that ask a message's author in private.
func askedElsewhere(ctx context.Context, in *Inbox, r *Request) ([]LiveTask, error) {
	if !r.Rules.Approvals.Private {
		return nil, nil
	}
	all, err := in.Store.Live(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("listing tasks: %w", err)
	}
	return in.withStates(ctx, slices.DeleteFunc(all, func(l tasks.Live) bool {
		return l.From.Key() != r.Message.From.Key() || l.Chat.Key() == r.Message.Chat.Key()
	}))
}

// askedInPrivate takes the answer of somebody in a private chat whom the bot hears
// only elsewhere, when a task of theirs asks them there.
func askedInPrivate(ctx context.Context, in *Inbox, r *Request) (Outcome, error) {
	m := r.Message
	if !m.Chat.Private || m.Kind == bot.MessageEdit || m.Kind == bot.MessageDeletion {
		return Outcome{}, nil
	}
	away, err := askedElsewhere(ctx, in, r)
	if err != nil {
		return Outcome{}, err
	}
	verb, rest, _ := strings.Cut(m.Data, ":")
	id, _, _ := strings.Cut(rest, ":")
	for _, t := range away {
		there := m
		there.Kind, there.Chat, there.Data, there.Text = bot.MessageText, t.Chat, "", ""
		pressed := (verb == cards.PressApproval || verb == cards.PressField || verb == cards.PressReview) && tasks.ID(id) == t.Task
		if _, answers := r.answers([]LiveTask{t}); !pressed && (m.Kind == bot.MessagePress || !answers) || !in.Admits(ctx, there) {
			continue
		}
		own := *r
		if own.Lang, err = in.language(ctx, m.From.Key(), r.Lang); err != nil {
			return Outcome{}, err
		}
		if pressed {
			return took(taskPress(ctx, in, &own))
		}
		return answerHandler(ctx, in, &own)
	}
	return Outcome{}, nil
}
