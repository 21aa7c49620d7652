package inbox

import (
	"context"
	"errors"
	"fmt"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
)

// Request is a message with what is known about it before a handler sees it.
// Handlers read it and change nothing in it.
type Request struct {
	Message bot.Message // its text made clean
	Rules   *Rules
	Lang    string
	Admin   bool       // its author is one
	MayAsk  bool       // its author may ask a question with it; false only for some messages that are not addressed to the bot
	Passing bool       // its chat's messages do not last
	Live    []LiveTask // of its conversation, oldest first
	Batch   *batch     // what the messages before it in the same delivery do
}

// LiveTask is a live task with its state.
type LiveTask struct {
	tasks.Live
	State planner.State
}

// liveIn lists the live tasks of a conversation, oldest first. A damaged one is
// left out.
func (in *Inbox) liveIn(ctx context.Context, conversation string) ([]LiveTask, error) {
	list, err := in.Store.Live(ctx, conversation)
	if err != nil {
		return nil, fmt.Errorf("listing tasks: %w", err)
	}
	return in.withStates(ctx, list)
}

// withStates reads the states of live tasks. A task whose journal is damaged or
// gone is left out.
func (in *Inbox) withStates(ctx context.Context, list []tasks.Live) ([]LiveTask, error) {
	out := make([]LiveTask, 0, len(list))
	for _, l := range list {
		s, err := in.Store.State(ctx, l.Task)
		if errors.Is(err, tasks.ErrDamaged) || errors.Is(err, tasks.ErrNoTask) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading task %s: %w", l.Task, err)
		}
		out = append(out, LiveTask{l, s})
	}
	return out, nil
}

// task returns the live task of that id.
func (r *Request) task(id tasks.ID) (LiveTask, bool) {
	for _, t := range r.Live {
		if t.Task == id {
			return t, true
		}
	}
	return LiveTask{}, false
}

// steers reports that the message's author may steer a task.
func (r *Request) steers(t LiveTask) bool { return r.Admin || t.From.Key() == r.Message.From.Key() }
