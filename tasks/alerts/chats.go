package alerts

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	"legwork/tasks"
)

// chats tells the admins all of a list in one message, and no more for a while:
// what comes meanwhile is one list again.
func (c *courier) chats(ctx context.Context, fails int, list []tasks.Delivery) round {
	news := make([]tasks.News, 0, len(list))
	for _, d := range list {
		if d.Kind == TaskWaiting && slices.ContainsFunc(list, func(other tasks.Delivery) bool {
			return other.Kind == TaskReview && other.Task == d.Task && !c.decided(ctx, other)
		}) {
			continue // that it needs a review says so
		}
		if n, ok := newsOf(d, c.Now()); ok && !c.decided(ctx, d) {
			news = append(news, n)
		}
	}
	var r round
	if len(news) > 0 && c.config.Load().Chat {
		if err := c.Tell(ctx, news); err != nil {
			return c.unheard(ctx, fails+1, list, err)
		}
		r.wait = c.Pace.Chat
	}
	for _, d := range list {
		r.wait = max(r.wait, c.tried(ctx, d, time.Time{}))
	}
	return r
}

// decided reports that a task no longer waits for what a delivery tells of.
func (c *courier) decided(ctx context.Context, d tasks.Delivery) bool {
	if d.Kind != TaskWaiting && d.Kind != TaskReview {
		return false
	}
	row, err := c.Store.Row(ctx, d.Task)
	if err != nil {
		return errors.Is(err, tasks.ErrNoTask)
	}
	return !row.Waits || row.Since.After(d.At)
}

// unheard keeps what no admin could be told, for a day.
func (c *courier) unheard(ctx context.Context, fails int, list []tasks.Delivery, err error) round {
	if ctx.Err() != nil {
		return round{fails: fails}
	}
	level := slog.LevelWarn
	if fails > 1 {
		level = slog.LevelDebug
	}
	c.Log.Log(ctx, level, "no admin could be told; it is tried again", "alerts", len(list), "cause", err)
	for _, d := range list {
		if c.Now().Sub(d.At) > c.Pace.GiveUp && fails >= fewestTries {
			c.tried(ctx, d, time.Time{})
		}
	}
	return round{fails: fails, wait: spread(min(c.Pace.backoff(fails-1), c.Pace.Rest))}
}

// newsOf is what admins read of a delivery.
func newsOf(d tasks.Delivery, now time.Time) (tasks.News, bool) {
	var p Payload
	if json.Unmarshal(d.Body, &p) != nil {
		return tasks.News{}, false
	}
	n := tasks.News{Data: map[string]any{}}
	part := func(of *Part) {
		if of != nil {
			n.Data["Server"], n.Data["Name"], n.Data["Problem"] = of.Name, of.Name, of.Problem
		}
	}
	switch d.Kind {
	case TaskFailed, TaskWaiting, TaskReview:
		var t Task
		if json.Unmarshal(p.Data.Task, &t) != nil {
			return n, false
		}
		n.Key = map[string]string{TaskFailed: "alert.task_failed", TaskWaiting: "alert.task_waiting", TaskReview: "alert.task_review"}[d.Kind]
		n.Data["Task"], n.Data["Goal"], n.Data["Chat"], n.Data["Person"], n.Why = string(t.ID), t.Goal, t.Chat, t.From, t.Reason
		if t.Since != nil {
			n.Data["Elapsed"] = now.Sub(t.Since.Time)
		}
	case ServerDown:
		n.Key = "alert.server_down"
		part(p.Data.Server)
	case ServerUp:
		n.Key = "alert.server_up"
		part(p.Data.Server)
	case webhookFailed:
		n.Key = "alert.webhook_failed"
		part(p.Data.Webhook)
	default:
		return n, false
	}
	return n, true
}
