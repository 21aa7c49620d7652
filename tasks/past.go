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

// history lists the newest exchanges of the conversation.
func (in *Inbox) history(ctx context.Context, r *routed, _ string) error {
	turns, err := in.Store.History(ctx, r.message.Chat.Key(), "", pastBytes)
	if err != nil {
		return fmt.Errorf("reading history: %w", err)
	}
	if len(turns) == 0 {
		in.say(r, "history.none", nil)
		return nil
	}
	var lines []string
	for _, t := range turns[max(0, len(turns)-pastTurns):] {
		lines = append(lines, "- "+in.Texts.Text(r.lang, "history.turn", map[string]any{
			"Elapsed": in.Now().Sub(t.At), "Goal": plainText(title(t.Goal)), "Answer": plainText(line(markdown.Plain(t.Answer))),
		}))
	}
	in.reply(r, said{text: strings.Join(lines, "\n")})
	return nil
}

// retry asks the person's newest question that has ended again.
func (in *Inbox) retry(ctx context.Context, r *routed, _ string) error {
	var last *planner.Opening
	err := in.eachPast(ctx, r, func(t Turn, o *planner.Opening) bool {
		running, live := r.find(t.Task) // an outcome may be seen before that is stored
		if o.From.Key() == r.message.From.Key() && (!live || running.state.Settled()) {
			last = o
		}
		return last == nil
	})
	if err != nil {
		return err
	}
	if last == nil {
		in.say(r, "error.nothing_to_retry", nil)
		return nil
	}
	return in.askAgain(ctx, r, last, r.message.Key)
}

// eachPast goes through the conversation's newest turns, the newest first, as
// long as look returns true.
func (in *Inbox) eachPast(ctx context.Context, r *routed, look func(Turn, *planner.Opening) bool) error {
	turns, err := in.Store.History(ctx, r.message.Chat.Key(), "", pastBytes)
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
func (in *Inbox) askAgain(ctx context.Context, r *routed, before *planner.Opening, key string) error {
	o, err := in.opening(ctx, r, before.Goal)
	if err != nil {
		return err
	}
	o.Message, o.Preview, o.Prompt = before.Message, before.Preview, before.Prompt
	r.store = []Inbound{in.opens(key, r.message.Chat, o)}
	return nil
}
