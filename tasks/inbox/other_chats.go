package inbox

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
)

// A program can name a chat for the questions and the outcome of its task
// (planner.Notify). Admins answer in that chat.

// maxAskingThere is the maximum number of waiting tasks of programs among which
// the task of a reply is looked for.
const maxAskingThere = 200

// taskAskingHere finds a program's task by its id if its questions are shown in the
// chat of the message. That chat then counts as the task's chat.
func taskAskingHere(ctx context.Context, in *Inbox, r *Request, id tasks.ID) (t LiveTask, ok bool, err error) {
	o, err := openingOf(ctx, in, id)
	if err != nil || !notifiesHere(o, r) {
		return t, false, err
	}
	t.Live = tasks.Live{Task: id, Chat: r.Message.Chat, From: o.From}
	t.State, ok, err = stateOf(ctx, in, id)
	return t, ok && !t.State.Finished(), err
}

// notifiesHere reports whether the outcome of a task goes to the chat of the message.
func notifiesHere(o *planner.Opening, r *Request) bool {
	return o != nil && o.Notify != nil && o.Notify.Chat != nil && o.Notify.Chat.Key() == r.Message.Chat.Key()
}

// repliedProgramTask returns the program's task whose message an admin replies to, as a
// list of at most one.
func repliedProgramTask(ctx context.Context, in *Inbox, r *Request) ([]LiveTask, error) {
	if !r.Admin || r.Message.ReplyTo == "" {
		return nil, nil
	}
	rows, _, err := in.Store.Tasks(ctx, tasks.TaskQuery{Rooms: []string{tasks.PlatformAPI + ":*"}, Waits: true, Limit: maxAskingThere})
	if err != nil {
		return nil, fmt.Errorf("listing tasks that wait: %w", err)
	}
	for _, row := range rows {
		t, ok, err := taskAskingHere(ctx, in, r, row.Task)
		if err != nil {
			return nil, err
		}
		if ok && t.sent(r.Message.ReplyTo) {
			return []LiveTask{t}, nil
		}
		if ok || !r.Message.Chat.Private {
			continue
		}
		if t, ok, err = findTask(ctx, in, r, row.Task); err != nil {
			return nil, err
		}
		if ok && t.showsAsk(r.Message.Chat, planner.ActionID{}, r.Message.ReplyTo) {
			return []LiveTask{t}, nil
		}
	}
	return nil, nil
}

// tasksAskingInPrivate lists the tasks of other chats that ask the message's author in
// private.
func tasksAskingInPrivate(ctx context.Context, in *Inbox, r *Request) ([]LiveTask, error) {
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

// privateAnswer handles a private message of a person who has access only in
// other chats, when a task there asks the person in private.
func privateAnswer(ctx context.Context, in *Inbox, r *Request) (Outcome, error) {
	m := r.Message
	if !m.Chat.Private || m.Kind == bot.MessageEdit || m.Kind == bot.MessageDeletion {
		return Outcome{}, nil
	}
	away, err := tasksAskingInPrivate(ctx, in, r)
	if err != nil {
		return Outcome{}, err
	}
	verb, rest, _ := strings.Cut(m.Data, ":")
	id, _, _ := strings.Cut(rest, ":")
	for _, t := range away {
		there := m
		there.Kind, there.Chat, there.Data, there.Text = bot.MessageText, t.Chat, "", ""
		pressed := (verb == cards.PressApproval || verb == cards.PressField || verb == cards.PressReview || verb == pressGiveWords) && tasks.ID(id) == t.Task
		if _, answers := r.answeredAsk([]LiveTask{t}); !pressed && (m.Kind == bot.MessagePress || !answers) || !in.Admits(ctx, there) {
			continue
		}
		own := *r
		if own.Lang, err = in.Settings.Language(ctx, m.From.Key(), r.Lang); err != nil {
			return Outcome{}, err
		}
		if pressed {
			return took(taskPress(ctx, in, &own))
		}
		return answerHandler(ctx, in, &own)
	}
	return Outcome{}, nil
}
