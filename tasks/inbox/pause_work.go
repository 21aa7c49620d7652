package inbox

import (
	"context"
	"errors"

	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
)

func pausedData(ctx context.Context, in *Inbox, r *Request, by tasks.Paused) (map[string]any, error) {
	zone, err := in.zoneOf(ctx, r)
	return map[string]any{"Name": cards.PlainText(by.Name), "Date": by.At.In(zone)}, err
}

// pausedNotice tells a chat, once, where a question is asked while everything is
// paused.
func pausedNotice(ctx context.Context, in *Inbox, r *Request) (Notice, bool) {
	by, on := in.Pause.State()
	if !on || !in.notified.first("paused "+r.Message.Chat.Key(), in.Now().Sub(by.At), in.Now()) {
		return Notice{}, false
	}
	data, err := pausedData(ctx, in, r, by)
	if err != nil {
		return Notice{}, false
	}
	return in.notice(r, "notice.waits_paused", data), true
}

// excludePause notes, while everything is paused, that the time until now does not count
// as work of the tasks that deliveries are for. Without that, the event that a
// delivery adds would count it.
func excludePause(ctx context.Context, in *Inbox, store []tasks.Inbound) {
	for _, item := range store {
		if item.To != "" {
			excludePauseOf(ctx, in, item.To)
		}
	}
}

func excludePauseOf(ctx context.Context, in *Inbox, id tasks.ID) {
	if _, on := in.Pause.State(); !on {
		return
	}
	err := in.Store.Append(ctx, id, -1, 0, planner.Event{Type: planner.Resumed, At: in.Now()})
	if err != nil && !errors.Is(err, tasks.ErrRefused) && !errors.Is(err, tasks.ErrNoTask) { // none: the batch at hand opens it
		in.Log.WarnContext(ctx, "the time of a pause will count", "task", id, "cause", err)
	}
}
