package tasks

import (
	"context"
	"errors"

	"legwork/planner"
)

// pauseCommand pauses everything. The command is /pause.
func pauseCommand(ctx context.Context, in *Inbox, r *Request, _ string) (Reply, error) {
	if !r.Admin {
		return in.refuse(r, "error.admin_needed"), nil
	}
	from := r.Message.From
	_, was := in.Pause.State()
	by, on, err := in.Pause.setBy(ctx, r.Message.Key, Paused{By: from.Key(), Name: nameOf(from.Name, from.Key()), At: in.Now()})
	if err != nil {
		return Reply{}, err
	}
	if !on { // delivered again, and undone since
		return in.replyText(r, "error.not_paused", nil), nil
	}
	if was {
		return sayPaused(ctx, in, r, "error.paused_already", by)
	}
	in.Log.WarnContext(ctx, "all work paused", "by", by.By)
	in.audit(ctx, r, "pause", "", "")
	return sayPaused(ctx, in, r, "notice.paused", by)
}

// resumeCommand lets everything go on. The command is /resume.
func resumeCommand(ctx context.Context, in *Inbox, r *Request, _ string) (Reply, error) {
	if !r.Admin {
		return in.refuse(r, "error.admin_needed"), nil
	}
	_, was, err := in.Pause.liftBy(ctx, r.Message.Key)
	if err != nil {
		return Reply{}, err
	}
	if by, on := in.Pause.State(); !was && on { // delivered again, and everything was paused anew
		return sayPaused(ctx, in, r, "error.paused_already", by)
	}
	if !was {
		return in.replyText(r, "error.not_paused", nil), nil
	}
	in.Log.WarnContext(ctx, "all work resumed", "by", r.Message.From.Key())
	in.audit(ctx, r, "resume", "", "")
	return in.replyText(r, "notice.resumed", nil), nil
}

func sayPaused(ctx context.Context, in *Inbox, r *Request, key string, by Paused) (Reply, error) {
	data, err := pausedData(ctx, in, r, by)
	if err == nil {
		return in.replyText(r, key, data), nil
	}
	return Reply{}, err
}

func pausedData(ctx context.Context, in *Inbox, r *Request, by Paused) (map[string]any, error) {
	zone, err := in.zoneOf(ctx, r)
	return map[string]any{"Name": plainText(by.Name), "Date": by.At.In(zone)}, err
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
func excludePause(ctx context.Context, in *Inbox, store []Inbound) {
	for _, item := range store {
		if item.To != "" {
			excludePauseOf(ctx, in, item.To)
		}
	}
}

func excludePauseOf(ctx context.Context, in *Inbox, id ID) {
	if _, on := in.Pause.State(); !on {
		return
	}
	err := in.Store.Append(ctx, id, -1, 0, planner.Event{Type: planner.Resumed, At: in.Now()})
	if err != nil && !errors.Is(err, ErrRefused) && !errors.Is(err, ErrNoTask) { // none: the batch at hand opens it
		in.Log.WarnContext(ctx, "the time of a pause will count", "task", id, "cause", err)
	}
}

// pausedLine tells in /status that everything is paused; empty otherwise.
func pausedLine(ctx context.Context, in *Inbox, r *Request) (string, error) {
	by, on := in.Pause.State()
	if !on {
		return "", nil
	}
	data, err := pausedData(ctx, in, r, by)
	return in.Texts.Text(r.Lang, "statusline.paused", data), err
}
