// Package ratelimit decides when requests to a platform may go out, by rules such as
// "one message a second in each chat". It implements bot.RateLimiter in one process.
package ratelimit

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"legwork/bot"
	"legwork/internal/telemetry"
)

// promoteAfter is how long a request of normal priority waits before it counts
// as one of high priority. Without it, a busy chat could starve others.
const promoteAfter = 10 * time.Second

// Limiter keeps requests to its rules. It starts no goroutine: a caller that has to
// wait sleeps until the rules may let it go. Idle chats take no memory.
type Limiter struct {
	rules []Rule
	start time.Time

	mu         sync.Mutex
	buckets    map[bucketKey]*bucket
	pauses     map[pauseKey]time.Duration
	seq        uint64
	turn       uint64        // of the latest request that went after it had waited
	swept      time.Duration // when idle buckets were dropped
	maxBuckets int           // how many buckets there may be before the next sweep
}

var _ bot.RateLimiter = (*Limiter)(nil)

// bucketKey is what a bucket counts for; chat is empty where a rule counts an
// account's chats together.
type bucketKey struct {
	rule          int
	account, chat string
}

// pauseKey is what a platform asked to pause; an empty chat or method stands for
// all of them.
type pauseKey struct{ account, chat, method string }

// countedRule is a rule that matches a request, and the bucket it counts in.
type countedRule struct {
	*Rule
	*bucket
}

// New returns a limiter for these rules. A request must satisfy all rules that
// match it. A request that matches none goes at once, unless it is paused.
func New(rules ...Rule) *Limiter {
	return &Limiter{
		rules: slices.Clone(rules), start: time.Now(),
		buckets: map[bucketKey]*bucket{}, pauses: map[pauseKey]time.Duration{}, maxBuckets: minBuckets,
	}
}

// now is the time since New, by the monotonic clock.
func (p *Limiter) now() time.Duration { return time.Since(p.start) }

// Wait implements bot.RateLimiter. Among requests of one priority that wait for
// the same rule, chats take turns; within a chat, requests go in order of
// arrival.
func (p *Limiter) Wait(ctx context.Context, r bot.Request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w, err := p.tryNow(r)
	if w == nil {
		return err
	}
	return p.sleepUntilGranted(ctx, w)
}

// tryNow lets a request go, refuses a frame, or returns the waiter of a request
// that has to wait.
func (p *Limiter) tryNow(r bot.Request) (*waiter, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	p.sweep(now)
	limits := p.matching(r)
	if !r.Priority.Waits() {
		return nil, p.tryFrame(r, limits, now)
	}
	w := &waiter{request: r, limits: limits, since: now}
	p.enqueue(w)
	p.grant(w, now)
	if w.granted {
		return nil, nil //nolint:nilnil // it need not wait
	}
	return w, nil
}

// Pause implements bot.RateLimiter. A shorter pause does not end a longer one.
func (p *Limiter) Pause(r bot.Request, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := pauseKey{r.Account, r.Chat, r.Method}
	p.pauses[f] = max(p.pauses[f], p.now()+d)
}

// matching returns the rules that a request counts in. p.mu is held.
func (p *Limiter) matching(r bot.Request) []countedRule {
	list := make([]countedRule, 0, 8)
	for i := range p.rules {
		rule := &p.rules[i]
		if !rule.matches(r) {
			continue
		}
		at := bucketKey{rule: i, account: r.Account}
		if rule.PerChat {
			at.chat = r.Chat
		}
		b := p.buckets[at]
		if b == nil {
			b = &bucket{}
			p.buckets[at] = b
		}
		list = append(list, countedRule{rule, b})
	}
	return list
}

// pausedUntil is when the pauses of a request are over. p.mu is held.
func (p *Limiter) pausedUntil(r bot.Request) (until time.Duration) {
	if len(p.pauses) == 0 {
		return 0
	}
	for _, chat := range [...]string{"", r.Chat} {
		for _, method := range [...]string{"", r.Method} {
			until = max(until, p.pauses[pauseKey{r.Account, chat, method}])
		}
	}
	return until
}

// tryFrame lets a frame go, or says when to offer the next one: after the requests
// that wait for the same rules. p.mu is held.
func (p *Limiter) tryFrame(r bot.Request, limits []countedRule, now time.Duration) error {
	at := max(now, p.pausedUntil(r))
	leaves := func(l countedRule) (reserve int, counts bool) {
		if r.Priority == bot.PriorityFirstFrame {
			return 0, !l.FramesOnly
		}
		return l.reserve(), true
	}
	for _, l := range limits {
		if reserve, counts := leaves(l); counts {
			at = max(at, l.ready(l.Rule, reserve, 0, now))
		}
	}
	for _, l := range limits {
		reserve, counts := leaves(l)
		if !counts {
			continue
		}
		ahead := 0
		for _, w := range l.waiting {
			if p.ready(w, l.bucket, now) <= at {
				ahead++
			}
		}
		at = max(at, l.ready(l.Rule, reserve, ahead, at))
	}
	if at > now {
		return &bot.LaterError{After: at - now}
	}
	for _, l := range limits {
		l.take(l.Rule, now)
	}
	return nil
}

// waiter is a request that waits. The limiter's lock guards its fields.
type waiter struct {
	request bot.Request
	limits  []countedRule
	since   time.Duration
	turn    uint64 // how many turns of other chats it lets go first, on the limiter's count
	seq     uint64 // of arrival
	granted bool
	done    chan struct{} // closed when it is granted; nil while there is no waiter
}

// enqueue puts a request behind those that wait for the same rules.
func (p *Limiter) enqueue(w *waiter) {
	p.seq++
	w.seq, w.turn = p.seq, p.turn
	for _, l := range w.limits {
		l.inUse++
		if l.FramesOnly {
			continue
		}
		for _, other := range l.waiting {
			if other.request.Chat == w.request.Chat && other.request.Priority == w.request.Priority {
				w.turn = max(w.turn, other.turn+1)
			}
		}
		l.waiting = append(l.waiting, w)
	}
}

// dequeue removes a request from those that wait.
func (p *Limiter) dequeue(w *waiter) {
	for _, l := range w.limits {
		l.inUse--
		l.waiting = slices.DeleteFunc(l.waiting, func(other *waiter) bool { return other == w })
	}
}

// grant lets w and the requests that wait for the same rules go, as far as the
// rules allow it now, the highest priority first.
func (p *Limiter) grant(w *waiter, now time.Duration) {
	rivals := []*waiter{w}
	for _, l := range w.limits {
		for _, other := range l.waiting {
			if !slices.Contains(rivals, other) {
				rivals = append(rivals, other)
			}
		}
	}
	slices.SortFunc(rivals, func(a, b *waiter) int {
		return cmp.Or(-cmp.Compare(a.priority(now), b.priority(now)), cmp.Compare(a.turn, b.turn), cmp.Compare(a.seq, b.seq))
	})
	for _, next := range rivals {
		if p.ready(next, nil, now) > now {
			continue
		}
		for _, l := range next.limits {
			l.take(l.Rule, now)
		}
		p.dequeue(next)
		p.turn = max(p.turn, next.turn)
		next.granted = true
		if next.done != nil {
			close(next.done)
		}
	}
}

// priority is that of the request, or high after it has waited long.
func (w *waiter) priority(now time.Duration) bot.Priority {
	if now-w.since >= promoteAfter {
		return bot.PriorityHigh
	}
	return w.request.Priority
}

// ready is the earliest time at which the rules let a waiting request go; others
// that wait can make it later. The bucket except is ignored.
func (p *Limiter) ready(w *waiter, except *bucket, now time.Duration) time.Duration {
	at := max(now, p.pausedUntil(w.request))
	for _, l := range w.limits {
		if !l.FramesOnly && l.bucket != except {
			at = max(at, l.ready(l.Rule, 0, 0, now))
		}
	}
	return at
}

// sleepUntilGranted sleeps until w is granted or ctx ends.
func (p *Limiter) sleepUntilGranted(ctx context.Context, w *waiter) error {
	for {
		p.mu.Lock()
		if w.done == nil {
			w.done = make(chan struct{})
		}
		now := p.now()
		if !w.granted {
			p.grant(w, now)
		}
		if w.granted {
			p.mu.Unlock()
			return nil
		}
		timer := time.NewTimer(p.ready(w, nil, now) - now)
		p.mu.Unlock()
		select {
		case <-timer.C:
			continue
		case <-w.done:
		case <-ctx.Done():
		}
		timer.Stop()
		return p.finish(ctx, w)
	}
}

// finish ends a request that waited. A grant counts even when ctx ended in the
// same moment.
func (p *Limiter) finish(ctx context.Context, w *waiter) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.granted {
		return nil
	}
	p.dequeue(w)
	return ctx.Err()
}

// When idle buckets are dropped.
const (
	minBuckets = 1024
	sweepEvery = time.Minute
)

// sweep drops idle buckets and past pauses: every minute, and when there are many.
// It makes a new map, because a map keeps the memory it once took.
func (p *Limiter) sweep(now time.Duration) {
	if len(p.buckets) < p.maxBuckets && now-p.swept < sweepEvery {
		return
	}
	p.swept = now
	for f, until := range p.pauses {
		if until <= now {
			delete(p.pauses, f)
		}
	}
	left := make(map[bucketKey]*bucket)
	for at, b := range p.buckets {
		if !b.idle(&p.rules[at.rule], now) {
			left[at] = b
		}
	}
	p.buckets = left
	p.maxBuckets = max(minBuckets, 2*len(left))
}

// WithMetrics is a limiter whose waits are counted for a platform.
func WithMetrics(p bot.RateLimiter, platform string, m *telemetry.Metrics) bot.RateLimiter {
	m.Connected(platform)
	return measuredLimiter{p, platform, m}
}

type measuredLimiter struct {
	bot.RateLimiter
	platform string
	metrics  *telemetry.Metrics
}

// Wait implements bot.RateLimiter.
func (p measuredLimiter) Wait(ctx context.Context, r bot.Request) error {
	begin := time.Now()
	err := p.RateLimiter.Wait(ctx, r)
	var early *bot.LaterError
	switch {
	case errors.As(err, &early):
		p.metrics.FrameSkipped(p.platform)
	case r.Priority.Waits():
		p.metrics.Paced(p.platform, time.Since(begin))
	}
	return err
}
