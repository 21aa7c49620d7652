package alerts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"legwork/internal/clip"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/api"
)

// tellFailed tells that a task failed, be it shown to people already or not.
func (w *watch) tellFailed(ctx context.Context, row tasks.Row, why string) error {
	opened, err := w.Store.Event(ctx, row.Task, 1)
	if err != nil && !errors.Is(err, tasks.ErrNoTask) && !errors.Is(err, tasks.ErrDamaged) {
		return fmt.Errorf("reading task %s: %w", row.Task, err)
	}
	skip := ""
	if o := opened.Opening; o != nil && o.Notify != nil {
		skip = o.Notify.Webhook
	}
	row.Status = string(planner.Failed) // also while that is on its way to the chat
	return w.tellTask(ctx, row, TaskFailed, string(row.Task), "Task %s failed.", why, skip)
}

// tellReview tells that a task needs a review, which the event seq has asked for.
func (w *watch) tellReview(ctx context.Context, row tasks.Row, seq int) error {
	asked, err := w.Store.Event(ctx, row.Task, seq)
	if err == nil && w.read.told(asked.At, 0) {
		return nil
	}
	return w.tellTask(ctx, row, TaskReview, fmt.Sprintf("%s-%d", row.Task, seq), "Task %s needs a review by a person.", "", "")
}

// tellWaiting tells of tasks that have waited for too long.
func (w *watch) tellWaiting(ctx context.Context) (idle time.Duration, err error) {
	idle = time.Hour
	after, now := w.config.Load().After, w.read.At
	if after == 0 {
		w.read.Waited, w.read.After = now, 0
		return idle, nil
	}
	for id, is := range w.waiting {
		if is.told {
			continue
		}
		if left := is.since.Add(after).Sub(now); left > 0 {
			idle = min(idle, left)
			continue
		}
		row, err := w.Store.Row(ctx, id)
		if err == nil && row.Waits {
			err = w.tellTask(ctx, row, TaskWaiting, fmt.Sprintf("%s-%d", id, is.since.Unix()), "Task %s has been waiting for a person for "+after.String()+" or longer.", "", "")
		}
		if err != nil && !errors.Is(err, tasks.ErrNoTask) && !errors.Is(err, tasks.ErrDamaged) {
			return 0, err
		}
		is.told = true
		w.waiting[id] = is
	}
	w.read.Waited, w.read.After = now, after
	return idle, nil
}

// shownGoal is how much of a goal is told, in runes.
const shownGoal = 200

// tellTask queues that something is with a task; skip is the webhook that gets the
// outcome anyway.
func (w *watch) tellTask(ctx context.Context, row tasks.Row, kind, id, summary, problem, skip string) error {
	t := Task{
		ID: row.Task, State: row.Status, Goal: clip.Line(w.Hide.String(row.Goal), shownGoal), Chat: row.Chat.Key(), From: row.From.Key(),
		Created: api.Time{Time: row.Opened}, Updated: api.Time{Time: row.Changed}, Reason: problem,
	}
	if row.Waits {
		t.Since = &api.Time{Time: row.Since}
	}
	w.told, w.settle = true, w.Now().Add(lag)
	if row.Chat.Platform == tasks.PlatformAPI && row.Waits {
		switch w.often.told(kind+" "+row.Chat.Room(), id, w.Now()) {
		case tooMany:
			return nil
		case last:
			w.Log.WarnContext(ctx, "a program has more waiting tasks than are told", "chat", row.Chat.Room(), "kind", kind)
			summary += " More tasks of the same program may; GET /v1/approvals lists them."
		case few:
		}
	}
	return w.queue(ctx, w.deliveries(occasion{
		kind: kind, id: id, task: row.Task, skip: skip, data: Data{Summary: fmt.Sprintf(summary, row.Task), Task: object(t)},
	}))
}
