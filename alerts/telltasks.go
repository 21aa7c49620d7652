package alerts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"legwork/clip"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/contexts"
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

// tellWaiting tells of tasks that have waited for too long.
func (w *watch) tellWaiting(ctx context.Context) (idle time.Duration, err error) {
	idle = time.Hour
	after := w.config.Load().After
	if after == 0 {
		return idle, nil
	}
	for id, is := range w.waiting {
		if is.told {
			continue
		}
		if left := is.since.Add(after).Sub(w.Now()); left > 0 {
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
	return idle, nil
}

// shownGoal is how much of a goal is told, in runes.
const shownGoal = 200

// tellTask queues that something is with a task; skip is the webhook that gets the
// outcome anyway.
func (w *watch) tellTask(ctx context.Context, row tasks.Row, kind, id, summary, problem, skip string) error {
	t := Task{
		ID: row.Task, State: row.Status, Goal: clip.Line(row.Goal, shownGoal), Chat: row.Chat.Key(), From: row.From.Key(),
		Created: contexts.Time{Time: row.Opened}, Updated: contexts.Time{Time: row.Changed}, Reason: problem,
	}
	if row.Waits {
		t.Since = &contexts.Time{Time: row.Since}
	}
	w.told = true
	return w.queue(ctx, w.deliveries(occasion{
		kind: kind, id: id, task: row.Task, skip: skip, data: Data{Summary: fmt.Sprintf(summary, row.Task), Task: object(t)},
	}))
}
