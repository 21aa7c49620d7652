package tasks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"legwork/bot/markdown"
	"legwork/planner"
)

// How much of a conversation the commands about its past read and show.
const (
	pastBytes  = 512 << 10
	pastTurns  = 10
	pastLooked = 50 // turns among which a question is looked for
)

// historyCommand lists the newest exchanges of the conversation.
func historyCommand(ctx context.Context, in *Inbox, r *Request, _ string) (Reply, error) {
	turns, err := in.Store.History(ctx, r.Message.Chat.Key(), "", pastBytes)
	if err != nil {
		return Reply{}, fmt.Errorf("reading history: %w", err)
	}
	if len(turns) == 0 {
		return in.replyText(r, "history.none", nil), nil
	}
	var lines []string
	for _, t := range turns[max(0, len(turns)-pastTurns):] {
		lines = append(lines, "- "+in.Texts.Text(r.Lang, "history.turn", map[string]any{
			"Elapsed": in.Now().Sub(t.At), "Goal": plainText(title(t.Goal)), "Answer": plainText(line(markdown.Plain(t.Answer))),
		}))
	}
	return in.reply(r, textNotice(strings.Join(lines, "\n"))), nil
}

// retryCommand asks the person's newest question that has ended again.
func retryCommand(ctx context.Context, in *Inbox, r *Request, _ string) (Reply, error) {
	var last *planner.Opening
	err := eachPast(ctx, in, r, func(t Turn, o *planner.Opening) bool {
		running, live := r.task(t.Task) // an outcome may be seen before that is stored
		if o.From.Key() == r.Message.From.Key() && (!live || running.State.Settled()) {
			last = o
		}
		return last == nil
	})
	if err != nil {
		return Reply{}, err
	}
	if last == nil {
		return in.replyText(r, "error.nothing_to_retry", nil), nil
	}
	return askAgain(ctx, in, r, last, r.Message.Key)
}

// eachPast goes through the conversation's newest turns, the newest first, as
// long as look returns true.
func eachPast(ctx context.Context, in *Inbox, r *Request, look func(Turn, *planner.Opening) bool) error {
	turns, err := in.Store.History(ctx, r.Message.Chat.Key(), "", pastBytes)
	if err != nil {
		return fmt.Errorf("reading history: %w", err)
	}
	for _, t := range slices.Backward(turns[max(0, len(turns)-pastLooked):]) {
		first, err := in.Store.Event(ctx, t.Task, 1)
		switch {
		case errors.Is(err, ErrNoTask), errors.Is(err, ErrDamaged), err == nil && first.Opening == nil:
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
	return Reply{Store: []Inbound{in.opens(key, r.Message.Chat, o)}}, nil
}
