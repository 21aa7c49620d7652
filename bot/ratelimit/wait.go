package ratelimit

import (
	"cmp"
	"context"
	"slices"
	"time"

	"legwork/bot"
)

// waiter is a request that waits for its turn. Its fields are guarded by the
// pacer's lock.
type waiter struct {
	request bot.Request
	limits  []limit
	since   time.Duration
	turn    uint64 // how many turns of other chats it lets go first, on the pacer's count
	seq     uint64 // of arrival
	granted bool
	done    chan struct{} // closed when it is granted; nil while nobody waits for that
}

// join puts a request behind those that wait for the same turns.
func (p *Pacer) join(w *waiter) {
	p.seq++
	w.seq, w.turn = p.seq, p.turn
	for _, l := range w.limits {
		l.users++
		if l.FramesOnly {
			continue
		}
		for _, other := range l.waiting {
			if other.request.Chat == w.request.Chat && other.request.Urgency == w.request.Urgency {
				w.turn = max(w.turn, other.turn+1)
			}
		}
		l.waiting = append(l.waiting, w)
	}
}

// leave takes a request out of those that wait.
func (p *Pacer) leave(w *waiter) {
	for _, l := range w.limits {
		l.users--
		l.waiting = slices.DeleteFunc(l.waiting, func(other *waiter) bool { return other == w })
	}
}

// serve lets w and those go that wait for the same turns, as far as the rules
// allow it now, the most urgent first.
func (p *Pacer) serve(w *waiter, now time.Duration) {
	rivals := []*waiter{w}
	for _, l := range w.limits {
		for _, other := range l.waiting {
			if !slices.Contains(rivals, other) {
				rivals = append(rivals, other)
			}
		}
	}
	slices.SortFunc(rivals, func(a, b *waiter) int {
		return cmp.Or(-cmp.Compare(a.urgency(now), b.urgency(now)), cmp.Compare(a.turn, b.turn), cmp.Compare(a.seq, b.seq))
	})
	for _, next := range rivals {
		if p.ready(next, nil, now) > now {
			continue
		}
		for _, l := range next.limits {
			l.take(l.Rule, now)
		}
		p.leave(next)
		p.turn = max(p.turn, next.turn)
		next.granted = true
		if next.done != nil {
			close(next.done)
		}
	}
}

// urgency is that of the request, or a higher one after it has waited for long.
func (w *waiter) urgency(now time.Duration) bot.Urgency {
	if now-w.since >= patience {
		return bot.First
	}
	return w.request.Urgency
}

// ready is when the rules would let a waiting request go if it were alone; they
// may do so later, never earlier. except is left out of account.
func (p *Pacer) ready(w *waiter, except *bucket, now time.Duration) time.Duration {
	at := max(now, p.held(w.request))
	for _, l := range w.limits {
		if !l.FramesOnly && l.bucket != except {
			at = max(at, l.ready(l.Rule, 0, 0, now))
		}
	}
	return at
}

// wait sleeps until w is granted or ctx ends.
func (p *Pacer) wait(ctx context.Context, w *waiter) error {
	for {
		p.mu.Lock()
		if w.done == nil {
			w.done = make(chan struct{})
		}
		now := p.now()
		if !w.granted {
			p.serve(w, now)
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
		return p.end(ctx, w)
	}
}

// end is what a request that waited is told: a turn that was given counts, also
// when ctx ended in the same moment.
func (p *Pacer) end(ctx context.Context, w *waiter) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.granted {
		return nil
	}
	p.leave(w)
	return ctx.Err()
}
