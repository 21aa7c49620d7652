package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"legwork/bot/markdown"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/inbox"
)

// historyCommand lists the newest turns of the conversation.
func historyCommand(ctx context.Context, in *inbox.Inbox, r *inbox.Request, _ string) (inbox.Reply, error) {
	turns, err := in.Store.History(ctx, r.Message.Chat.Key(), "", inbox.HistoryBytes)
	if err != nil {
		return inbox.Reply{}, fmt.Errorf("reading history: %w", err)
	}
	if len(turns) == 0 {
		return in.ReplyText(r, "history.none", nil), nil
	}
	var lines []string
	for _, t := range turns[max(0, len(turns)-inbox.ShownTurns):] {
		lines = append(lines, "- "+in.Texts.Text(r.Lang, "history.turn", map[string]any{
			"Elapsed": in.Now().Sub(t.At), "Goal": cards.PlainText(cards.Title(t.Goal)), "Answer": cards.PlainText(cards.Line(plainAnswer(t))),
		}))
	}
	return in.Reply(r, inbox.TextNotice(strings.Join(lines, "\n"))), nil
}

// plainAnswer is an answer without markup. Its addresses that chats did not show as links
// are left out.
func plainAnswer(t tasks.Turn) string {
	text := markdown.Plain(t.Answer)
	if !t.Tainted || len(t.Private) == 0 {
		return text
	}
	links := markdown.Addresses(t.Answer)
	return markdown.WithoutAddresses(text, func(address string) bool { return slices.Contains(links, address) })
}

// retryCommand asks the question again of the author's task whose end the chat saw
// last. It need not be the newest one: a long task can end after later ones.
func retryCommand(ctx context.Context, in *inbox.Inbox, r *inbox.Request, _ string) (inbox.Reply, error) {
	var last *planner.Opening
	var ended time.Time
	var broken error
	err := inbox.EachEarlierTurn(ctx, in, r, func(t tasks.Turn, o *planner.Opening) bool {
		if o.From.Key() != r.Message.From.Key() {
			return true
		}
		s, err := in.Store.State(ctx, t.Task)
		switch {
		case tasks.Unreadable(err):
		case err != nil:
			broken = fmt.Errorf("reading task %s: %w", t.Task, err)
		case s.Settled() && (last == nil || s.Last.After(ended)): // people may see an outcome before it is stored
			last, ended = o, s.Last
		}
		return broken == nil
	})
	if err = errors.Join(err, broken); err != nil {
		return inbox.Reply{}, err
	}
	if last == nil {
		return in.ReplyText(r, "error.nothing_to_retry", nil), nil
	}
	return inbox.AskAgain(ctx, in, r, last, r.Message.Key)
}
