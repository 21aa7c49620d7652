package ratelimit

import "time"

// When quiet buckets are dropped.
const (
	minRoom    = 1024
	sweepEvery = time.Minute
)

// sweep drops what says nothing any more: now and then, and when there is much
// of it. The map is made anew, because maps keep the room they once took.
func (p *Pacer) sweep(now time.Duration) {
	if len(p.buckets) < p.room && now-p.swept < sweepEvery {
		return
	}
	p.swept = now
	for f, until := range p.holds {
		if until <= now {
			delete(p.holds, f)
		}
	}
	left := make(map[place]*bucket)
	for at, b := range p.buckets {
		if !b.quiet(&p.rules[at.rule], now) {
			left[at] = b
		}
	}
	p.buckets = left
	p.room = max(minRoom, 2*len(left))
}
