package ratelimit

import (
	"slices"
	"time"

	"legwork/bot"
)

// Rule is one limit on the requests that match it. It counts each account by
// itself.
type Rule struct {
	Methods []string               // that it is for; none: all
	Match   func(bot.Request) bool // what else must be true; nil: nothing. It must depend on the request alone
	PerChat bool                   // each chat is counted by itself; requests without a chat are not counted

	// Burst is how many requests may go at once; below 1 it counts as 1.
	Burst int
	// Every is after how long one more may go, up to Burst.
	Every time.Duration
	// Within, when set, takes the place of Every: at most Burst requests in any
	// span of that length.
	Within time.Duration

	// Reserve is how many of Burst frames leave for others.
	Reserve int
	// FramesOnly lets other requests than frames count without ever waiting.
	FramesOnly bool
}

func (r *Rule) matches(q bot.Request) bool {
	return (!r.PerChat || q.Chat != "") &&
		(len(r.Methods) == 0 || slices.Contains(r.Methods, q.Method)) &&
		(r.Match == nil || r.Match(q))
}

func (r *Rule) burst() int { return max(1, r.Burst) }

// reserve is what a frame has to leave; it always leaves room for one frame.
func (r *Rule) reserve() int { return min(max(0, r.Reserve), r.burst()-1) }

// bucket is how much of a rule is used in one place. The zero value is unused.
type bucket struct {
	full    time.Duration   // Every: when nothing is used any more
	sent    []time.Duration // Within: when the latest requests went, at most Burst, oldest first
	waiting []*waiter       // for its turns
	users   int             // who will count here, for whatever they wait
}

// ready is when, from now on, one more request may go that leaves reserve,
// after ahead others.
func (b *bucket) ready(r *Rule, reserve, ahead int, now time.Duration) time.Duration {
	room := r.burst() - 1 - reserve
	if r.Within == 0 {
		return max(now, max(b.full, now)+time.Duration(ahead-room)*r.Every)
	}
	sent := b.sent[b.past(r, now):]
	last := len(sent) + ahead - room - 1 // of those that must be past before
	if last < 0 {
		return now
	}
	// Those ahead go as the ones Burst before them become past.
	wait := r.Within
	for ; last >= r.burst(); last -= r.burst() {
		wait += r.Within
	}
	if last < len(sent) {
		return sent[last] + wait
	}
	return now + wait
}

// take counts a request.
func (b *bucket) take(r *Rule, now time.Duration) {
	if r.Within == 0 {
		b.full = min(max(b.full, now)+r.Every, now+time.Duration(r.burst())*r.Every)
		return
	}
	b.sent = slices.Delete(b.sent, 0, b.past(r, now))
	if len(b.sent) == r.burst() { // of a rule that did not keep it
		b.sent = b.sent[1:]
	}
	b.sent = append(b.sent, now)
}

// past is how many of sent no longer count.
func (b *bucket) past(r *Rule, now time.Duration) int {
	n := 0
	for n < len(b.sent) && b.sent[n]+r.Within <= now {
		n++
	}
	return n
}

// quiet reports that the bucket is as good as unused.
func (b *bucket) quiet(r *Rule, now time.Duration) bool {
	return b.users == 0 && b.past(r, now) == len(b.sent) && b.full <= now
}
