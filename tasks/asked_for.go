package tasks

import (
	"context"
	"errors"
	"fmt"

	"legwork/planner"
)

// Tasks of programs whose questions and outcome stand in a chat that the program
// named (planner.Notify). Admins answer there.

// maxAskingThere is how many tasks of programs that wait for people are looked at
// for the one that a reply speaks to.
const maxAskingThere = 200

// askedHere finds a program's task by its id when its questions stand in the chat
// of a message: then that counts as the task's chat.
func (in *Inbox) askedHere(ctx context.Context, r *routed, id ID) (t liveTask, ok bool, err error) {
	first, err := in.Store.Event(ctx, id, 1)
	if errors.Is(err, ErrNoTask) || errors.Is(err, ErrDamaged) {
		return t, false, nil
	}
	if err != nil {
		return t, false, fmt.Errorf("reading task %s: %w", id, err)
	}
	if !tellsHere(first.Opening, r) {
		return t, false, nil
	}
	state, err := in.Store.State(ctx, id)
	if errors.Is(err, ErrNoTask) || errors.Is(err, ErrDamaged) {
		return t, false, nil
	}
	if err != nil {
		return t, false, fmt.Errorf("reading task %s: %w", id, err)
	}
	return liveTask{Live{id, r.message.Chat, first.Opening.From}, state}, !state.Finished(), nil
}

// tellsHere reports that the outcome of the task goes to the chat of a message.
func tellsHere(o *planner.Opening, r *routed) bool {
	return o != nil && o.Notify != nil && o.Notify.Chat != nil && o.Notify.Chat.Key() == r.message.Chat.Key()
}

// askingHere lists the tasks of programs that ask in the chat of a message, by one
// of whose messages it is a reply.
func (in *Inbox) askingHere(ctx context.Context, r *routed) ([]liveTask, error) {
	if !r.admin || r.message.ReplyTo == "" {
		return nil, nil
	}
	rows, _, err := in.Store.Tasks(ctx, TaskQuery{Rooms: []string{PlatformAPI + ":*"}, Waits: true, Limit: maxAskingThere})
	if err != nil {
		return nil, fmt.Errorf("listing tasks that wait: %w", err)
	}
	for _, row := range rows {
		t, ok, err := in.askedHere(ctx, r, row.Task)
		if err != nil {
			return nil, err
		}
		if ok && t.speaks(r.message.ReplyTo) {
			return []liveTask{t}, nil
		}
		if ok || !r.message.Chat.Private {
			continue
		}
		if t, ok, err = in.anyTask(ctx, r, row.Task); err != nil {
			return nil, err
		}
		if ok && t.shows(r.message.Chat, planner.ActionID{}, r.message.ReplyTo) {
			return []liveTask{t}, nil
		}
	}
	return nil, nil
}
