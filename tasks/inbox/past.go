package inbox

import (
	"context"
	"fmt"
	"strings"

	"legwork/bot/markdown"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
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
			"Elapsed": in.Now().Sub(t.At), "Goal": cards.PlainText(cards.Title(t.Goal)), "Answer": cards.PlainText(cards.Line(markdown.Plain(t.Answer))),
		}))
	}
	return in.reply(r, textNotice(strings.Join(lines, "\n"))), nil
}

// retryCommand asks the person's newest question that has ended again.
func retryCommand(ctx context.Context, in *Inbox, r *Request, _ string) (Reply, error) {
	var last *planner.Opening
	err := eachPast(ctx, in, r, func(t tasks.Turn, o *planner.Opening) bool {
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
