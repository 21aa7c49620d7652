package inbox

import (
	"context"
	"fmt"
	"slices"

	"legwork/bot"
	"legwork/planner"
)

// labelQuoted gives the messages of the bot that m brings along the labels of the tasks
// that sent them. Of a message whose task cannot be found, nothing is known.
func (in *Inbox) labelQuoted(ctx context.Context, m bot.Message) ([]bot.Quoted, error) {
	list := slices.Clone(m.Earlier)
	for i := range list {
		q := &list[i]
		if !q.Bot {
			continue
		}
		labels, err := in.labelsOfSent(ctx, m.Chat, q.ID)
		if err != nil {
			return nil, err
		}
		q.Outside, q.Private = labels.Outside, labels.Private
	}
	return list, nil
}

// labelsOfSent returns the labels of the task that sent a message in a chat. It looks at
// the newest turns of the conversation, and of the chat around its thread or topic.
func (in *Inbox) labelsOfSent(ctx context.Context, chat bot.Chat, message string) (planner.Labels, error) {
	if message == "" { // of another chat
		return planner.Unlabelled(), nil
	}
	around := chat
	around.Thread = ""
	for _, conversation := range slices.Compact([]string{chat.Key(), around.Key()}) {
		turns, err := in.Store.History(ctx, conversation, "", HistoryBytes)
		if err != nil {
			return planner.Labels{}, fmt.Errorf("reading history: %w", err)
		}
		for _, t := range slices.Backward(turns[max(0, len(turns)-searchedTurns):]) {
			s, ok, err := stateOf(ctx, in, t.Task)
			if err != nil {
				return planner.Labels{}, err
			}
			if ok && hasMessage(s, message) {
				return s.Labels(), nil
			}
		}
	}
	return planner.Unlabelled(), nil
}
