package tasks

import (
	"context"
	"errors"

	"legwork/planner"
)

// halt pauses everything. The command is /pause.
func (in *Inbox) halt(ctx context.Context, r *routed, _ string) error {
	if !r.admin {
		in.refuse(r, "error.admin_needed")
		return nil
	}
	from := r.message.From
	_, was := in.Pause.State()
	by, on, err := in.Pause.setBy(ctx, r.message.Key, Paused{By: from.Key(), Name: nameOf(from.Name, from.Key()), At: in.Now()})
	if err != nil {
		return err
	}
	if !on { // delivered again, and undone since
		in.say(r, "error.not_paused", nil)
		return nil
	}
	if was {
		return in.sayPaused(ctx, r, "error.paused_already", by)
	}
	in.Log.WarnContext(ctx, "everything is paused", "by", by.By)
	in.audit(ctx, r, "pause", "", "")
	return in.sayPaused(ctx, r, "notice.paused", by)
}

// proceed lets everything go on. The command is /resume.
func (in *Inbox) proceed(ctx context.Context, r *routed, _ string) error {
	if !r.admin {
		in.refuse(r, "error.admin_needed")
		return nil
	}
	_, was, err := in.Pause.liftBy(ctx, r.message.Key)
	if err != nil {
		return err
	}
	if by, on := in.Pause.State(); !was && on { // delivered again, and everything was paused anew
		return in.sayPaused(ctx, r, "error.paused_already", by)
	}
	if !was {
		in.say(r, "error.not_paused", nil)
		return nil
	}
	in.Log.WarnContext(ctx, "everything goes on", "by", r.message.From.Key())
	in.audit(ctx, r, "resume", "", "")
	in.say(r, "notice.resumed", nil)
	return nil
}

func (in *Inbox) sayPaused(ctx context.Context, r *routed, key string, by Paused) error {
	data, err := in.pausedData(ctx, r, by)
	if err == nil {
		in.say(r, key, data)
	}
	return err
}

func (in *Inbox) pausedData(ctx context.Context, r *routed, by Paused) (map[string]any, error) {
	zone, err := in.zoneOf(ctx, r)
	return map[string]any{"Name": plainText(by.Name), "Date": by.At.In(zone)}, err
}

// standstill is said once in each chat where a question is asked while
// everything is paused: nothing otherwise.
func (in *Inbox) standstill(ctx context.Context, r routed) (said, bool) {
	by, on := in.Pause.State()
	if !on || !in.once.first("paused "+r.message.Chat.Key(), in.Now().Sub(by.At), in.Now()) {
		return said{}, false
	}
	data, err := in.pausedData(ctx, &r, by)
	if err != nil {
		return said{}, false
	}
	return in.sentence(r, "notice.waits_paused", data), true
}

// freeze notes for the tasks that a message speaks to while everything is paused
// that the time until now was nobody's work: what it adds would count it.
func (in *Inbox) freeze(ctx context.Context, r *routed) {
	for _, item := range r.store {
		if item.To != "" {
			in.freezeTask(ctx, item.To)
		}
	}
}

func (in *Inbox) freezeTask(ctx context.Context, id ID) {
	if _, on := in.Pause.State(); !on {
		return
	}
	err := in.Store.Append(ctx, id, -1, 0, planner.Event{Type: planner.Resumed, At: in.Now()})
	if err != nil && !errors.Is(err, ErrRefused) && !errors.Is(err, ErrNoTask) { // none: the batch at hand opens it
		in.Log.WarnContext(ctx, "the time of a pause will count", "task", id, "cause", err)
	}
}

// pausedLine tells in /status that everything is paused; empty otherwise.
func (in *Inbox) pausedLine(ctx context.Context, r *routed) (string, error) {
	by, on := in.Pause.State()
	if !on {
		return "", nil
	}
	data, err := in.pausedData(ctx, r, by)
	return in.Texts.Text(r.lang, "statusline.paused", data), err
}
