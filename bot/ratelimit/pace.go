// Package ratelimit decides when requests to a platform may go out, by rules such as
// "one message a second in each chat". It implements bot.Pacer in one process.
package ratelimit

import (
	"context"
	"slices"
	"sync"
	"time"

	"legwork/bot"
)

// patience is after which waiting a request of urgency Plain counts as First,
// so that it is never passed over for ever.
const patience = 10 * time.Second

// Pacer holds requests to its rules. It starts no goroutine: who waits sleeps
// until the rules may let it go. What it remembers of chats that are quiet is
// forgotten.
type Pacer struct {
	rules []Rule
	start time.Time

	mu      sync.Mutex
	buckets map[place]*bucket
	holds   map[freeze]time.Duration
	seq     uint64
	turn    uint64        // of the latest request that was let go after it had waited
	swept   time.Duration // when quiet buckets were dropped
	room    int           // how many buckets may be there before they are swept again
}

var _ bot.Pacer = (*Pacer)(nil)

// place is what a bucket counts for; chat is empty where a rule counts an
// account's chats together.
type place struct {
	rule          int
	account, chat string
}

// freeze is what a platform wants nothing of; chat and method are empty where
// it means all of them.
type freeze struct{ account, chat, method string }

// limit is a bucket that a request counts in, and its rule.
type limit struct {
	*Rule
	*bucket
}

// New returns a pacer for these rules. A request must satisfy all that match
// it; one that none matches goes at once unless Hold says otherwise.
func New(rules ...Rule) *Pacer {
	return &Pacer{
		rules: slices.Clone(rules), start: time.Now(),
		buckets: map[place]*bucket{}, holds: map[freeze]time.Duration{}, room: minRoom,
	}
}

// now is the time since New, by the clock that no one can set.
func (p *Pacer) now() time.Duration { return time.Since(p.start) }

// Turn implements bot.Pacer. Among requests of one urgency that wait for the
// same turn, chats go one after the other, and those of a chat in order of
// arrival.
func (p *Pacer) Turn(ctx context.Context, r bot.Request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w, err := p.enter(r)
	if w == nil {
		return err
	}
	return p.wait(ctx, w)
}

// enter lets a request go or says why not; one that has to wait comes back.
func (p *Pacer) enter(r bot.Request) (*waiter, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	p.sweep(now)
	limits := p.limits(r)
	if !r.Urgency.Waits() {
		return nil, p.frame(r, limits, now)
	}
	w := &waiter{request: r, limits: limits, since: now}
	p.join(w)
	p.serve(w, now)
	if w.granted {
		return nil, nil //nolint:nilnil // it need not wait
	}
	return w, nil
}

// Hold implements bot.Pacer. A hold that lasts longer already stays.
func (p *Pacer) Hold(r bot.Request, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := freeze{r.Account, r.Chat, r.Method}
	p.holds[f] = max(p.holds[f], p.now()+d)
}

// limits returns what a request counts in. p.mu is held.
func (p *Pacer) limits(r bot.Request) []limit {
	list := make([]limit, 0, 8)
	for i := range p.rules {
		rule := &p.rules[i]
		if !rule.matches(r) {
			continue
		}
		at := place{rule: i, account: r.Account}
		if rule.PerChat {
			at.chat = r.Chat
		}
		b := p.buckets[at]
		if b == nil {
			b = &bucket{}
			p.buckets[at] = b
		}
		list = append(list, limit{rule, b})
	}
	return list
}

// held is when the holds on a request are over. p.mu is held.
func (p *Pacer) held(r bot.Request) (until time.Duration) {
	if len(p.holds) == 0 {
		return 0
	}
	for _, chat := range [...]string{"", r.Chat} {
		for _, method := range [...]string{"", r.Method} {
			until = max(until, p.holds[freeze{r.Account, chat, method}])
		}
	}
	return until
}

// frame lets a frame go, or says when to offer the next: then those that wait
// for the same turns will have had theirs. p.mu is held.
func (p *Pacer) frame(r bot.Request, limits []limit, now time.Duration) error {
	at := max(now, p.held(r))
	leaves := func(l limit) (reserve int, counts bool) {
		if r.Urgency == bot.Fresh {
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
