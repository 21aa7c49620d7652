package inbox

import (
	"context"
	"errors"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
)

// Limits on work: the open questions of one conversation that wait for legwork,
// all live tasks of one conversation, all live tasks, and the messages that one
// task reads.
const (
	maxWaiting   = 20
	maxLane      = 100
	maxLive      = 10_000
	maxAdditions = 100
)

// noticeGap is the minimum time between two notices of the same content in a chat: that
// a person's questions cannot be taken, or the details of a task.
const noticeGap = time.Minute

// withinLimits replaces a reply that exceeds a limit. The inbox then acknowledges
// the message without storing it, and notifies its author, at most once within
// noticeGap in that chat.
func withinLimits(ctx context.Context, in *Inbox, r *Request, reply Reply) Reply {
	excludePause(ctx, in, reply.Store)
	item, key, data := firstOverLimit(in, r, reply.Store)
	if key == "" {
		return reply
	}
	r.Batch.drop(r.Message, item.ID)
	if in.notified.first(key+" "+r.Message.Chat.Key()+" "+r.Message.From.Key(), noticeGap, in.Now()) {
		return in.ReplyText(r, key, data)
	}
	return in.Reply(r, Notice{})
}

// firstOverLimit finds the first delivery that exceeds a limit, and the key and data
// of the text about it. The key is empty when all are within the limits.
func firstOverLimit(in *Inbox, r *Request, store []tasks.Inbound) (item tasks.Inbound, key string, data map[string]any) {
	for _, item := range store {
		switch {
		case item.To != "" && item.Event.Type == planner.GuidanceAdded:
			if additions(r, item.To) > maxAdditions {
				return item, "error.guidance_full", map[string]any{}
			}
		case item.Open != nil && item.To == "":
			if key, data := exceededLimit(in, r, item.ID); key != "" {
				return item, key, data
			}
		}
	}
	return item, "", nil
}

// additions is the number of messages that a task has received, including those of
// the current batch.
func additions(r *Request, id tasks.ID) int {
	n := r.Batch.messages[id]
	if t, ok := r.Task(id); ok {
		n += len(t.State.Guidance)
	}
	return n
}

// exceededLimit returns the key and data of the text that refuses a new task. The key
// is empty when there is room.
func exceededLimit(in *Inbox, r *Request, id tasks.ID) (key string, data map[string]any) {
	waiting, all := r.Batch.newTasksIn(r.Message.Chat.Key(), id), r.Batch.newTasksIn("", id)
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
		return "error.queue_full", map[string]any{"Count": waiting, "Max": groupLimit(in, r.Message.Chat)}
	case all >= maxLive:
		return "error.queue_full_all", nil
	}
	return "", nil
}

// groupLimit is how many messages a minute legwork may send to a group; zero for other
// chats, and where people need not know.
func groupLimit(in *Inbox, chat bot.Chat) int {
	p, err := in.Chats.Platform(chat)
	if err != nil || chat.Private {
		return 0
	}
	return p.Limits().GroupMessages
}

// PausedData is the data of the texts about a pause: who paused all work, and when.
func PausedData(ctx context.Context, in *Inbox, r *Request, by tasks.Paused) (map[string]any, error) {
	zone, err := in.Settings.Zone(ctx, r)
	return map[string]any{"Name": cards.PlainText(by.Name), "Date": by.At.In(zone)}, err
}

// pausedNotice is the notice to a chat that its question waits because all work is
// paused. Each chat gets it once in a pause.
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

// excludePause excludes the pause until now from the working time of the tasks
// that deliveries are for. It does so only while work is paused. Otherwise the
// event of a delivery would count that time.
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
	if err != nil && !errors.Is(err, tasks.ErrRefused) && !errors.Is(err, tasks.ErrNoTask) { // ErrNoTask: the current batch opens the task
		in.Log.WarnContext(ctx, "pause time not excluded", "task", id, "cause", err)
	}
}
