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

// deliverToAdmins sends a list of alerts to the admins as one message. After that it
// waits, so that the alerts of that time become one list again.
func (c *deliverer) deliverToAdmins(ctx context.Context, fails int, list []tasks.Delivery) round {
	news := make([]News, 0, len(list))
	for _, d := range list {
		if d.Kind == TaskWaiting && slices.ContainsFunc(list, func(other tasks.Delivery) bool {
			return other.Kind == TaskReview && other.Task == d.Task && !c.resolved(ctx, other)
		}) {
			continue // the alert about the review says that the task waits
		}
		if n, ok := newsFor(d, c.Now()); ok && !c.resolved(ctx, d) {
			news = append(news, n)
		}
	}
	var r round
	if len(news) > 0 && c.config.Load().Chat {
		if err := c.NotifyAdmins(ctx, news); err != nil {
			return c.adminsUnreached(ctx, fails+1, list, err)
		}
		r.wait = c.Timing.Chat
	}
	for _, d := range list {
		r.wait = max(r.wait, c.recordTry(ctx, d, time.Time{}))
	}
	return r
}

// resolved reports whether the task of a delivery no longer waits for a decision.
func (c *deliverer) resolved(ctx context.Context, d tasks.Delivery) bool {
	if d.Kind != TaskWaiting && d.Kind != TaskReview {
		return false
	}
	row, err := c.Store.Row(ctx, d.Task)
	if err != nil {
		return errors.Is(err, tasks.ErrNoTask)
	}
	return !row.Waits || row.Since.After(d.At)
}

// adminsUnreached keeps alerts that reached no admin, for a day.
func (c *deliverer) adminsUnreached(ctx context.Context, fails int, list []tasks.Delivery, err error) round {
	if ctx.Err() != nil {
		return round{fails: fails}
	}
	level := slog.LevelWarn
	if fails > 1 {
		level = slog.LevelDebug
	}
	c.Log.Log(ctx, level, "admins not notified, trying again", "alerts", len(list), "cause", err)
	for _, d := range list {
		if c.Now().Sub(d.At) > c.Timing.GiveUp && fails >= minTries {
			c.recordTry(ctx, d, time.Time{})
		}
	}
	return round{fails: fails, wait: spread(min(c.Timing.backoff(fails-1), c.Timing.Rest))}
}

// newsFor is the entry for admins about a delivery.
func newsFor(d tasks.Delivery, now time.Time) (News, bool) {
	var p Payload
	if json.Unmarshal(d.Body, &p) != nil {
		return News{}, false
	}
	n := News{Data: map[string]any{}, Key: map[string]string{
		TaskFailed: "alert.task_failed", TaskWaiting: newsWaiting, TaskReview: newsReview,
		ServerDown: "alert.server_down", ServerUp: "alert.server_up", webhookFailed: "alert.webhook_failed",
	}[d.Kind]}
	for _, part := range []*Part{p.Data.Server, p.Data.Webhook} {
		if part != nil {
			n.Data["Server"], n.Data["Name"], n.Data["Problem"] = part.Name, part.Name, part.Problem
		}
	}
	if len(p.Data.Task) > 0 {
		var t Task
		if json.Unmarshal(p.Data.Task, &t) != nil {
			return n, false
		}
		n.Data["Task"], n.Data["Goal"], n.Data["Chat"], n.Data["Person"], n.Why = string(t.ID), t.Goal, t.Chat, t.From, t.Reason
		if t.Since != nil {
			n.Data["Elapsed"] = now.Sub(t.Since.Time)
		}
	}
	return n, n.Key != ""
}
