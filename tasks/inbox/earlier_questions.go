package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"legwork/planner"
	"legwork/tasks"
)

// How much of a conversation the commands about its past read and show.
const (
	pastBytes  = 512 << 10
	pastTurns  = 10
	pastLooked = 50 // turns among which a question is looked for
)

// eachPast goes through the conversation's newest turns, the newest first, as
// long as look returns true.
func eachPast(ctx context.Context, in *Inbox, r *Request, look func(tasks.Turn, *planner.Opening) bool) error {
	turns, err := in.Store.History(ctx, r.Message.Chat.Key(), "", pastBytes)
	if err != nil {
		return fmt.Errorf("reading history: %w", err)
	}
	for _, t := range slices.Backward(turns[max(0, len(turns)-pastLooked):]) {
		first, err := in.Store.Event(ctx, t.Task, 1)
		switch {
		case errors.Is(err, tasks.ErrNoTask), errors.Is(err, tasks.ErrDamaged), err == nil && first.Opening == nil:
		case err != nil:
			return fmt.Errorf("reading task %s: %w", t.Task, err)
		case !look(t, first.Opening):
			return nil
		}
	}
	return nil
}

// askAgain opens a task with the question of another one, under a dedupe key.
func askAgain(ctx context.Context, in *Inbox, r *Request, before *planner.Opening, key string) (Reply, error) {
	o, err := in.opening(ctx, r, before.Goal)
	if err != nil {
		return Reply{}, err
	}
	o.Message, o.Preview, o.Prompt = before.Message, before.Preview, before.Prompt
	return Reply{Store: []tasks.Inbound{in.opens(key, r.Message.Chat, o)}}, nil
}
