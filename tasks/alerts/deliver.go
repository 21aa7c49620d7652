package alerts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"legwork/internal/failpoint"
	"legwork/internal/retry"
	"legwork/internal/telemetry"
	"legwork/tasks"
	"legwork/tasks/api"
)

// page is the number of deliveries in one read.
const page = 100

// storeRetry is the wait after an error of the store.
const storeRetry = 5 * time.Second

// graceTime is the time that a running request still has when Run ends.
const graceTime = 2 * time.Second

// deliverer sends deliveries to their webhooks. Each webhook gets one request at a
// time, in order; different webhooks get theirs at the same time. The empty name
// stands for the chats of the admins. Only the deliverer's goroutine changes its
// fields.
type deliverer struct {
	*Alerts
	sender
	busy     map[string]bool
	retryAt  map[string]time.Time // when a failed webhook is tried again
	failures map[string]int       // in succession
	ended    chan round
}

// round is the result of a series of deliveries to one webhook.
type round struct {
	webhook string
	fails   int
	wait    time.Duration // before the next round
}

func (a *Alerts) deliver(ctx context.Context) {
	c := &deliverer{
		Alerts: a, sender: newSender(a.Transport, a.Timing.Request, a.Version, a.Now),
		busy: map[string]bool{}, retryAt: map[string]time.Time{}, failures: map[string]int{}, ended: make(chan round),
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

// end records the result of a round.
func (c *deliverer) end(r round) {
	delete(c.busy, r.webhook)
	c.failures[r.webhook] = r.fails
	delete(c.retryAt, r.webhook)
	if r.wait > 0 {
		c.retryAt[r.webhook] = c.Now().Add(r.wait)
	}
}

// begin starts a round for each webhook with due deliveries, and returns the time
// until more may be due.
func (c *deliverer) begin(ctx context.Context, rounds *sync.WaitGroup) time.Duration {
	for {
		now := c.Now()
		idle, except := c.excluded(now)
		due, next, err := c.Store.Outgoing(ctx, now, page, except...)
		if err != nil {
			if ctx.Err() == nil {
				c.Log.WarnContext(ctx, "deliveries not read", "cause", err)
			}
			return storeRetry
		}
		for _, list := range byWebhook(due) {
			name := list[0].Webhook
			c.busy[name] = true
			fails := c.failures[name]
			rounds.Go(func() {
				select {
				case c.ended <- c.deliverRound(ctx, name, fails, list):
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

// excluded lists the webhooks that get no request now, and the time until the
// first of them may get one.
func (c *deliverer) excluded(now time.Time) (idle time.Duration, except []string) {
	idle = time.Hour
	for name := range c.busy {
		except = append(except, name)
	}
	for name, until := range c.retryAt {
		if left := until.Sub(now); left > 0 {
			idle, except = min(idle, left), append(except, name)
		}
	}
	return idle, except
}

// byWebhook groups deliveries by webhook, in order.
func byWebhook(list []tasks.Delivery) [][]tasks.Delivery {
	var groups [][]tasks.Delivery
	index := map[string]int{}
	for _, d := range list {
		i, known := index[d.Webhook]
		if !known {
			i = len(groups)
			index[d.Webhook], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], d)
	}
	return groups
}

// deliverRound delivers to a webhook until a delivery fails.
func (c *deliverer) deliverRound(ctx context.Context, name string, fails int, list []tasks.Delivery) round {
	if name == "" {
		return c.deliverToAdmins(ctx, fails, list)
	}
	for _, d := range list {
		w, known := c.config.Load().Webhooks[name]
		if !known {
			c.Log.WarnContext(ctx, "delivery dropped, webhook no longer in the config", "webhook", name, "kind", d.Kind, "task", d.Task)
			c.recordTry(ctx, d, time.Time{})
			continue
		}
		if d.Tries == 0 && c.resolved(ctx, d) {
			c.recordTry(ctx, d, time.Time{})
			continue
		}
		payload, err := c.payload(ctx, d)
		r := result{outcome: refused}
		switch {
		case taskGone(err):
			c.Log.WarnContext(ctx, "delivery dropped, task gone", "webhook", name, "task", d.Task, "cause", err)
			c.recordTry(ctx, d, time.Time{})
			continue
		case err != nil:
			r.problem = err.Error()
		default:
			// The end of ctx leaves a running request some time: otherwise legwork would
			// send it again after the restart.
			longer, done := retry.WithGrace(ctx, graceTime)
			r = c.sendTraced(longer, w, d, payload)
			done()
		}
		if ctx.Err() != nil && r.outcome != delivered {
			break // the end of ctx cut the request off, so its result is unknown
		}
		var wait time.Duration
		if fails, wait = c.recordResult(ctx, d, r, fails); wait > 0 || ctx.Err() != nil {
			return round{name, fails, wait}
		}
	}
	return round{webhook: name, fails: fails}
}

// sendTraced sends a delivery in the trace of its task.
func (c *deliverer) sendTraced(ctx context.Context, w Webhook, d tasks.Delivery, payload []byte) result {
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

// recordResult stores the result of a request. If wait is positive, the webhook
// gets no request for that time.
func (c *deliverer) recordResult(ctx context.Context, d tasks.Delivery, r result, fails int) (failed int, wait time.Duration) {
	now := c.Now()
	if c.Timing.over(d, now) && (r.outcome == refused || r.outcome == away) {
		r.outcome = givenUp
	}
	c.logResult(ctx, d, r)
	switch r.outcome {
	case delivered:
		return 0, c.recordTry(ctx, d, time.Time{})
	case gone, givenUp:
		c.alertFailure(ctx, d, r)
		return fails, c.recordTry(ctx, d, time.Time{})
	}
	fails++
	if r.outcome == away || fails >= maxRefusals {
		wait = max(spread(min(c.Timing.backoff(fails-1), c.Timing.Rest)), r.wait)
	}
	next := now.Add(r.wait) // the delivery stays the first one, also after a restart
	if r.outcome == refused || d.Tries >= maxFirstTries {
		next = now.Add(max(spread(c.Timing.backoff(d.Tries)), wait, r.wait))
	}
	return fails, max(wait, c.recordTry(ctx, d, next))
}

// recordTry stores a try, even after the end of ctx, so that a delivery that
// arrived is not sent again. If it cannot be stored, recordTry returns the time to
// wait.
func (c *deliverer) recordTry(ctx context.Context, d tasks.Delivery, next time.Time) time.Duration {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeRetry)
	defer cancel()
	if err := c.Store.Tried(ctx, d.ID, next); err != nil {
		c.Log.WarnContext(ctx, "delivery result not stored, delivery may repeat", "webhook", d.Webhook, "delivery", d.ID, "cause", err)
		return storeRetry
	}
	return 0
}

// logResult logs the result of a request. Only the first and the last failure of a
// delivery have a level that operators see.
func (c *deliverer) logResult(ctx context.Context, d tasks.Delivery, r result) {
	log := c.Log.With("webhook", d.Webhook, "kind", d.Kind, "delivery", d.ID, "tries", d.Tries+1)
	switch {
	case r.outcome == delivered:
		log.DebugContext(ctx, "delivery sent")
	case r.outcome == gone || r.outcome == givenUp:
		log.ErrorContext(ctx, "delivery given up", "cause", c.Hide.String(r.problem))
	case d.Tries == 0:
		log.WarnContext(ctx, "delivery failed, trying again", "cause", c.Hide.String(r.problem))
	default:
		log.DebugContext(ctx, "delivery failed again", "cause", c.Hide.String(r.problem))
	}
	c.Metrics.Delivered(d.Webhook, r.counted())
}

// alertFailure notifies the admins, once a day, that a webhook does not accept
// deliveries.
func (c *deliverer) alertFailure(ctx context.Context, d tasks.Delivery, r result) {
	now := c.Now()
	err := c.queue(ctx, c.deliveries(alert{
		kind: webhookFailed, id: d.Webhook + "-" + now.UTC().Format(time.DateOnly),
		data: Data{Summary: fmt.Sprintf("The webhook %s did not accept a delivery from legwork.", d.Webhook), Webhook: &Part{Name: d.Webhook, Problem: r.problem, Since: api.Time{Time: d.At}}},
	}))
	if err != nil {
		c.Log.WarnContext(ctx, "alert about webhook not queued", "webhook", d.Webhook, "cause", err)
	}
}

// taskGone reports whether a task does not exist any more or is damaged.
func taskGone(err error) bool {
	return tasks.Unreadable(err) || errors.Is(err, api.ErrNotFound)
}

// Timing holds intervals and timeouts. The comment of each field ends with the
// default for zero.
type Timing struct {
	First   time.Duration // before the second try of a delivery; each further wait is three times as long: 1 s
	Longest time.Duration // between two tries of a delivery: 30 min
	Rest    time.Duration // at most between two tries of an unreachable receiver: 1 min
	GiveUp  time.Duration // age at which a delivery is given up, after at least minTries: 24 h
	Request time.Duration // of one request: 10 s
	Chat    time.Duration // between two messages to the admins: 1 min
	Outage  time.Duration // of a server or platform before an alert, since most recover at once: 30 s
	Look    time.Duration // between two checks of servers, models and platforms: 5 s
}

func (t Timing) withDefaults() Timing {
	t.First = cmp.Or(t.First, time.Second)
	t.Longest = cmp.Or(t.Longest, 30*time.Minute)
	t.Rest = cmp.Or(t.Rest, time.Minute)
	t.GiveUp = cmp.Or(t.GiveUp, 24*time.Hour)
	t.Request = cmp.Or(t.Request, 10*time.Second)
	t.Chat = cmp.Or(t.Chat, time.Minute)
	t.Outage = cmp.Or(t.Outage, 30*time.Second)
	t.Look = cmp.Or(t.Look, 5*time.Second)
	return t
}

// backoff is the wait after a number of tries.
func (t Timing) backoff(tries int) time.Duration {
	wait := t.First
	for range tries {
		if wait *= 3; wait >= t.Longest {
			return t.Longest
		}
	}
	return wait
}

// minTries is the minimum number of tries before a delivery is given up,
// whatever its age: legwork itself may have been down.
const minTries = 6

// After maxRefusals refusals in succession, a webhook gets no request for a
// while. A delivery without a reply is repeated before all others, up to maxFirstTries
// times. After that the others go first, since the delivery itself may be the
// reason.
const (
	maxRefusals   = 3
	maxFirstTries = 20
)

// spread makes a wait up to a fifth shorter or longer, so that failed deliveries do
// not all return at once.
func spread(wait time.Duration) time.Duration {
	return wait*4/5 + time.Duration(rand.Int64N(int64(wait)*2/5+1)) //nolint:gosec // no secret
}

// over reports whether a delivery is old enough, and was tried often enough, to be
// given up.
func (t Timing) over(d tasks.Delivery, now time.Time) bool {
	return d.Tries+1 >= minTries && now.Sub(d.At) >= t.GiveUp
}
