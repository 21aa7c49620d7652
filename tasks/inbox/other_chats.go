package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
)

// Tasks of programs whose questions and outcome stand in a chat that the program
// named (planner.Notify). Admins answer there.

// maxAskingThere is how many tasks of programs that wait for people are looked at
// for the one that a reply speaks to.
const maxAskingThere = 200

// askedHere finds a program's task by its id when its questions stand in the chat
// of a message: then that counts as the task's chat.
func askedHere(ctx context.Context, in *Inbox, r *Request, id tasks.ID) (t LiveTask, ok bool, err error) {
	first, err := in.Store.Event(ctx, id, 1)
	if errors.Is(err, tasks.ErrNoTask) || errors.Is(err, tasks.ErrDamaged) {
		return t, false, nil
	}
	if err != nil {
		return t, false, fmt.Errorf("reading task %s: %w", id, err)
	}
	if !tellsHere(first.Opening, r) {
		return t, false, nil
	}
	state, err := in.Store.State(ctx, id)
	if errors.Is(err, tasks.ErrNoTask) || errors.Is(err, tasks.ErrDamaged) {
		return t, false, nil
	}
	if err != nil {
		return t, false, fmt.Errorf("reading task %s: %w", id, err)
	}
	return LiveTask{tasks.Live{Task: id, Chat: r.Message.Chat, From: first.Opening.From}, state}, !state.Finished(), nil
}

// tellsHere reports that the outcome of the task goes to the chat of a message.
func tellsHere(o *planner.Opening, r *Request) bool {
	return o != nil && o.Notify != nil && o.Notify.Chat != nil && o.Notify.Chat.Key() == r.Message.Chat.Key()
}

// askingHere lists the tasks of programs that ask in the chat of a message, by one
// of whose messages it is a reply.
func askingHere(ctx context.Context, in *Inbox, r *Request) ([]LiveTask, error) {
	if !r.Admin || r.Message.ReplyTo == "" {
		return nil, nil
	}
	rows, _, err := in.Store.Tasks(ctx, tasks.TaskQuery{Rooms: []string{tasks.PlatformAPI + ":*"}, Waits: true, Limit: maxAskingThere})
	if err != nil {
		return nil, fmt.Errorf("listing tasks that wait: %w", err)
	}
	for _, row := range rows {
		t, ok, err := askedHere(ctx, in, r, row.Task)
		if err != nil {
			return nil, err
		}
		if ok && t.speaks(r.Message.ReplyTo) {
			return []LiveTask{t}, nil
		}
		if ok || !r.Message.Chat.Private {
			continue
		}
		if t, ok, err = anyTask(ctx, in, r, row.Task); err != nil {
			return nil, err
		}
		if ok && t.shows(r.Message.Chat, planner.ActionID{}, r.Message.ReplyTo) {
			return []LiveTask{t}, nil
		}
	}
	return nil, nil
}

// askedElsewhere lists the tasks of other chats that ask a message's author in private.
func askedElsewhere(ctx context.Context, in *Inbox, r *Request) ([]LiveTask, error) {
	if !r.Rules.Approvals.Private {
		return nil, nil
	}
	all, err := in.Store.Live(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("listing tasks: %w", err)
	}
	return in.WithStates(ctx, slices.DeleteFunc(all, func(l tasks.Live) bool {
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
		if own.Lang, err = in.Language(ctx, m.From.Key(), r.Lang); err != nil {
			return Outcome{}, err
		}
		if pressed {
			return took(taskPress(ctx, in, &own))
		}
		return answerHandler(ctx, in, &own)
	}
	return Outcome{}, nil
}
