package inbox

import (
	"context"
	"errors"
	"time"

	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
)

// How much is taken on: questions of one conversation that wait for legwork,
// tasks of one conversation with those that wait for people, tasks in all, and
// messages that one task hears.
const (
	maxWaiting   = 20
	maxLane      = 100
	maxLive      = 10_000
	maxAdditions = 100
)

// noticeGap is how long a chat is not told again that its questions cannot be
// taken just now.
const noticeGap = time.Minute

// withinLimits refuses a reply that there is no room for. The message is acknowledged
// and not stored, and the chat is told, though not for each message.
func withinLimits(ctx context.Context, in *Inbox, r *Request, reply Reply) Reply {
	excludePause(ctx, in, reply.Store)
	item, key, data := firstExcess(in, r, reply.Store)
	if key == "" {
		return reply
	}
	r.Batch.drop(r.Message, item.ID)
	if in.notified.first(key+" "+r.Message.Chat.Key(), noticeGap, in.Now()) {
		return in.ReplyText(r, key, data)
	}
	return in.Reply(r, Notice{})
}

// firstExcess finds the first of what is to be stored that there is no room for, and
// the sentence that says so; its key is empty when there is room for all.
func firstExcess(in *Inbox, r *Request, store []tasks.Inbound) (item tasks.Inbound, key string, data map[string]any) {
	for _, item := range store {
		switch {
		case item.To != "" && item.Event.Type == planner.GuidanceAdded:
			if additions(r, item.To) > maxAdditions {
				return item, "error.crowded_task", map[string]any{}
			}
		case item.Open != nil && item.To == "":
			if key, data := crowdedBy(in, r, item.ID); key != "" {
				return item, key, data
			}
		}
	}
	return item, "", nil
}

// additions is how many messages a task has heard with those of the batch at
// hand.
func additions(r *Request, id tasks.ID) int {
	n := r.Batch.pieces[id]
	if t, ok := r.Task(id); ok {
		n += len(t.State.Guidance)
	}
	return n
}

// crowdedBy says that a new task has no room; empty when it has.
func crowdedBy(in *Inbox, r *Request, id tasks.ID) (key string, data map[string]any) {
	waiting, all := r.Batch.opened(r.Message.Chat.Key(), id), r.Batch.opened("", id)
	if in.Load != nil {
		all += in.Load()
	}
	if in.Full != nil && in.Full() {
		return "problem.disk_full", nil
	}
	lane := waiting + len(r.Live)
	for _, t := range r.Live {
		if t.State.Status() != "waiting" {
			waiting++
		}
	}
	switch {
	case waiting >= maxWaiting || lane >= maxLane:
		return "error.crowded", map[string]any{"Count": waiting}
	case all >= maxLive:
		return "error.crowded_all", nil
	}
	return "", nil
}

func PausedData(ctx context.Context, in *Inbox, r *Request, by tasks.Paused) (map[string]any, error) {
	zone, err := in.ZoneOf(ctx, r)
	return map[string]any{"Name": cards.PlainText(by.Name), "Date": by.At.In(zone)}, err
}

// pausedNotice tells a chat, once, where a question is asked while everything is
// paused.
func pausedNotice(ctx context.Context, in *Inbox, r *Request) (Notice, bool) {
	by, on := in.Pause.State()
	if !on || !in.notified.first("paused "+r.Message.Chat.Key(), in.Now().Sub(by.At), in.Now()) {
		return Notice{}, false
	}
	data, err := PausedData(ctx, in, r, by)
	if err != nil {
		return Notice{}, false
	}
	return in.Notice(r, "notice.waits_paused", data), true
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
		in.Log.WarnContext(ctx, "storing time of pause failed, pause counts as working time", "task", id, "cause", err)
	}
}
