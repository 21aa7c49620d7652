package inbox

import (
	"context"
	"errors"
	"fmt"

	"legwork/planner"
	"legwork/tasks"
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
