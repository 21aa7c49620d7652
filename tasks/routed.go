package tasks

import (
	"context"
	"errors"
	"fmt"

	"legwork/bot"
	"legwork/planner"
)

// routed is a message whose meaning is known: what to store, and what to say
// when it is stored.
type routed struct {
	message  bot.Message // its text made clean
	rules    *Rules
	lang     string
	admitted bool       // its author may talk to the bot here
	admin    bool       // its author is one
	asker    bool       // it is not addressed to the bot, but its author may ask on
	passing  bool       // its chat's messages do not last
	pasted   bool       // it is a further piece of a question that came in several
	live     []liveTask // of its conversation, oldest first
	fresh    *recent
	store    []Inbound // the first one says whether it was delivered before
	// reply, unless nil, tells what to say after the message was stored for the
	// first time.
	reply func(ctx context.Context, receipts []Receipt) said
}

// liveTask is a live task with its state.
type liveTask struct {
	Live
	state planner.State
}

// liveIn lists the live tasks of a conversation, oldest first. A damaged one is
// left out.
func (in *Inbox) liveIn(ctx context.Context, conversation string) ([]liveTask, error) {
	list, err := in.Store.Live(ctx, conversation)
	if err != nil {
		return nil, fmt.Errorf("listing tasks: %w", err)
	}
	out := make([]liveTask, 0, len(list))
	for _, l := range list {
		s, err := in.Store.State(ctx, l.Task)
		if errors.Is(err, ErrDamaged) || errors.Is(err, ErrNoTask) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading task %s: %w", l.Task, err)
		}
		out = append(out, liveTask{l, s})
	}
	return out, nil
}

// add stores an event of a task under a key of its own, since each task may be
// over by then. The first has the message's, so that it is known when it comes
// again.
func (r *routed) add(id ID, e planner.Event) {
	key := r.message.Key
	if n := len(r.store); n > 0 {
		key = fmt.Sprintf("%s#%d", key, n)
	}
	r.store = append(r.store, Inbound{Key: key, Chat: r.message.Chat, To: id, Event: e})
}

// find returns the live task of that id.
func (r *routed) find(id ID) (liveTask, bool) {
	for _, t := range r.live {
		if t.Task == id {
			return t, true
		}
	}
	return liveTask{}, false
}

// steers reports that the message's author may steer a task.
func (r *routed) steers(t liveTask) bool { return r.admin || t.From.Key() == r.message.From.Key() }
