package alerts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"legwork/internal/failpoint"
	"legwork/internal/retry"
	"legwork/internal/telemetry"
	"legwork/tasks"
	"legwork/tasks/api"
)

// page is how many deliveries are read at once.
const page = 100

// storeWait is how long a store that did not work is left alone.
const storeWait = 5 * time.Second

// grace is how much time a request has that is under way at the very end.
const grace = 2 * time.Second

// courier brings what is queued where it belongs: to each webhook one request at
// a time and in order, to all of them side by side. The admins' chats are the
// webhook without a name. Only deliver touches what it knows.
type courier struct {
	*Alerts
	sender
	busy  map[string]bool
	until map[string]time.Time // when one that is left alone is tried again
	fails map[string]int       // in succession
	ended chan round
}

// round is what became of some deliveries to one webhook.
type round struct {
	webhook string
	fails   int
	wait    time.Duration // before the next round
}

func (a *Alerts) deliver(ctx context.Context) {
	c := &courier{
		Alerts: a, sender: newSender(a.Transport, a.Pace.Request, a.Version, a.Now),
		busy: map[string]bool{}, until: map[string]time.Time{}, fails: map[string]int{}, ended: make(chan round),
	}
	var rounds sync.WaitGroup
	defer rounds.Wait()
	for {
		timer := time.NewTimer(c.begin(ctx, &rounds))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		case <-a.queued:
		case r := <-c.ended:
			c.end(r)
		}
		timer.Stop()
	}
}

// end notes how a round went.
func (c *courier) end(r round) {
	delete(c.busy, r.webhook)
	c.fails[r.webhook] = r.fails
	delete(c.until, r.webhook)
	if r.wait > 0 {
		c.until[r.webhook] = c.Now().Add(r.wait)
	}
}

// begin starts a round for each webhook that has something to get, and returns
// when there may be more.
func (c *courier) begin(ctx context.Context, rounds *sync.WaitGroup) time.Duration {
	for {
		now := c.Now()
		idle, except := c.out(now)
		due, next, err := c.Store.Outgoing(ctx, now, page, except...)
		if err != nil {
			if ctx.Err() == nil {
				c.Log.WarnContext(ctx, "what is to be told cannot be read", "cause", err)
			}
			return storeWait
		}
		for _, list := range byWebhook(due) {
			name := list[0].Webhook
			c.busy[name] = true
			fails := c.fails[name]
			rounds.Go(func() {
				select {
				case c.ended <- c.round(ctx, name, fails, list):
				case <-ctx.Done():
				}
			})
		}
		if len(due) < page {
			if !next.IsZero() {
				idle = min(idle, max(next.Sub(now), 0))
			}
			return idle
		}
	}
}

// out lists the webhooks that get nothing now, and when the first of those that
// are left alone can be tried again.
func (c *courier) out(now time.Time) (idle time.Duration, except []string) {
	idle = time.Hour
	for name := range c.busy {
		except = append(except, name)
	}
	for name, until := range c.until {
		if left := until.Sub(now); left > 0 {
			idle, except = min(idle, left), append(except, name)
		}
	}
	return idle, except
}

// byWebhook takes a list apart, keeping its order.
func byWebhook(list []tasks.Delivery) [][]tasks.Delivery {
	slices.SortStableFunc(list, func(a, b tasks.Delivery) int { return cmp.Compare(a.Webhook, b.Webhook) })
	return slices.Collect(chunks(list))
}

// round delivers what a webhook is to get, until it fails.
func (c *courier) round(ctx context.Context, name string, fails int, list []tasks.Delivery) round {
	if name == "" {
		return c.chats(ctx, fails, list)
	}
	for _, d := range list {
		w, known := c.config.Load().Webhooks[name]
		if !known {
			c.Log.WarnContext(ctx, "a webhook is no longer in the config, so something is not told", "webhook", name, "kind", d.Kind, "task", d.Task)
			c.tried(ctx, d, time.Time{})
			continue
		}
		if d.Tries == 0 && c.decided(ctx, d) {
			c.tried(ctx, d, time.Time{})
			continue
		}
		payload, err := c.payload(ctx, d)
		r := result{outcome: refused}
		switch {
		case nothing(err):
			c.Log.WarnContext(ctx, "the outcome of a task is no longer there to be told", "webhook", name, "task", d.Task, "cause", err)
			c.tried(ctx, d, time.Time{})
			continue
		case err != nil:
			r.problem = err.Error()
		default:
			r = c.finish(ctx, func(ctx context.Context) result { return c.traced(ctx, w, d, payload) })
		}
		if ctx.Err() != nil && r.outcome != delivered {
			break // nothing is known of it
		}
		var wait time.Duration
		if fails, wait = c.note(ctx, d, r, fails); wait > 0 || ctx.Err() != nil {
			return round{name, fails, wait}
		}
	}
	return round{webhook: name, fails: fails}
}

// traced sends a delivery in the trace of its task.
func (c *courier) traced(ctx context.Context, w Webhook, d tasks.Delivery, payload []byte) result {
	if c.Trace != nil && d.Task != "" {
		ctx = c.Trace(ctx, d.Task)
	}
	ctx, span := telemetry.Start(ctx, telemetry.Client, "webhook "+d.Webhook)
	failpoint.Hit("webhook.before.send")
	r := c.send(ctx, w, d.ID, payload)
	failpoint.Hit("webhook.after.send")
	if r.outcome != delivered {
		span.Fail(r.outcome)
	}
	span.End(nil)
	return r
}

// finish lets a request that is under way at the very end have a little time: one
// whose reply was not awaited is sent again by the next life.
func (c *courier) finish(ctx context.Context, send func(context.Context) result) result {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		_ = retry.Sleep(longer, grace)
		cancel()
	})()
	return send(longer)
}

// note stores how a request went. wait is positive when the webhook is to be left
// alone.
func (c *courier) note(ctx context.Context, d tasks.Delivery, r result, fails int) (failed int, wait time.Duration) {
	now := c.Now()
	if c.Pace.over(d, now) && (r.outcome == refused || r.outcome == away) {
		r.outcome = givenUp
	}
	c.report(ctx, d, r)
	switch r.outcome {
	case delivered:
		return 0, c.tried(ctx, d, time.Time{})
	case gone, givenUp:
		c.lament(ctx, d, r)
		return fails, c.tried(ctx, d, time.Time{})
	}
	fails++
	if r.outcome == away || fails >= mostRefusals {
		wait = max(spread(min(c.Pace.backoff(fails-1), c.Pace.Rest)), r.wait)
	}
	next := now.Add(r.wait) // it keeps its place before all others, also in the next life
	if r.outcome == refused || d.Tries >= mostFirst {
		next = now.Add(max(spread(c.Pace.backoff(d.Tries)), wait, r.wait))
	}
	return fails, max(wait, c.tried(ctx, d, next))
}

// tried notes how a delivery went, also at the very end: one that arrived is not
// to be sent again. It returns how long to wait when it cannot be noted.
func (c *courier) tried(ctx context.Context, d tasks.Delivery, next time.Time) time.Duration {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWait)
	defer cancel()
	if err := c.Store.Tried(ctx, d.ID, next); err != nil {
		c.Log.WarnContext(ctx, "it could not be noted that something was told; it may be told again", "webhook", d.Webhook, "delivery", d.ID, "cause", err)
		return storeWait
	}
	return 0
}

// report logs how a request went: what fails at first, and what is given up, for
// operators.
func (c *courier) report(ctx context.Context, d tasks.Delivery, r result) {
	log := c.Log.With("webhook", d.Webhook, "kind", d.Kind, "delivery", d.ID, "tries", d.Tries+1)
	switch {
	case r.outcome == delivered:
		log.DebugContext(ctx, "a webhook was told")
	case r.outcome == gone || r.outcome == givenUp:
		log.ErrorContext(ctx, "a webhook was not told, and will not be", "cause", c.Hide.String(r.problem))
	case d.Tries == 0:
		log.WarnContext(ctx, "a webhook could not be told; it is tried again", "cause", c.Hide.String(r.problem))
	default:
		log.DebugContext(ctx, "a webhook could not be told again", "cause", c.Hide.String(r.problem))
	}
	c.Metrics.Delivered(d.Webhook, r.counted())
}

// lament tells the admins, once a day, that a webhook takes nothing.
func (c *courier) lament(ctx context.Context, d tasks.Delivery, r result) {
	now := c.Now()
	err := c.queue(ctx, c.deliveries(occasion{
		kind: webhookFailed, id: d.Webhook + "-" + now.UTC().Format(time.DateOnly),
		data: Data{Summary: fmt.Sprintf("The webhook %s did not take what it was sent.", d.Webhook), Webhook: &Part{Name: d.Webhook, Problem: r.problem, Since: api.Time{Time: d.At}}},
	}))
	if err != nil {
		c.Log.WarnContext(ctx, "the admins will not be told of a webhook that fails", "webhook", d.Webhook, "cause", err)
	}
}

// nothing reports that a task is not there any more, or can never be read.
func nothing(err error) bool {
	return errors.Is(err, tasks.ErrNoTask) || errors.Is(err, tasks.ErrDamaged) || errors.Is(err, api.ErrNotFound)
}
