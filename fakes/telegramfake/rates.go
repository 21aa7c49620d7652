package telegramfake

import (
	"math"
	"time"
)

// rated says which limits a method counts for.
type rated int

const (
	unrated rated = iota
	sends
	previews
)

// The rates of the service, as its documents name them, with some patience.
const (
	chatBurst   = 5   // then one per second
	groupWindow = 20  // per minute
	allRate     = 30  // per second
	allBurst    = 100 // at once
)

// rates are the limits at work. They are guarded by the server's lock.
type rates struct {
	all    bucket
	held   hold
	chats  map[int64]*pace
}

type pace struct {
	sends, previews bucket
	window          []time.Time // of a group: sends in the last minute
	held            hold
}

// bucket fills at a rate up to its burst; the zero value is full.
type bucket struct {
	missing float64
	at      time.Time
}

// wait is how many seconds until there is one.
func (b *bucket) wait(now time.Time, second time.Duration, rate, burst float64) float64 {
	b.missing = max(0, b.missing-rate*float64(now.Sub(b.at))/float64(second))
	b.at = now
	return max(0, (b.missing+1-burst)/rate)
}

// hold is a waiting time that the client was told.
type hold struct{ told, until time.Time }

func (r *rates) chat(id int64) *pace {
	if r.chats == nil {
		r.chats = map[int64]*pace{}
	}
	if r.chats[id] == nil {
		r.chats[id] = &pace{}
	}
	return r.chats[id]
}

// hold lets a chat, or everything when id is 0, wait.
func (r *rates) hold(id int64, now time.Time, d time.Duration) {
	if id == 0 {
		r.held = hold{now, now.Add(d)}
		return
	}
	r.chat(id).held = hold{now, now.Add(d)}
}

func (r *rates) forgive() {
	r.held = hold{}
	for _, p := range r.chats {
		p.held = hold{}
	}
}

// limit refuses a call that comes too early. One that comes although its client
// was told to wait is a violation and prolongs the wait; a quarter of a second
// is granted to those that were on their way.
func (s *Server) limit(c *call) *refusal {
	if c.method.rated == unrated {
		return nil
	}
	now, p := s.o.Now(), s.rates.chat(c.chat.id)
	for _, held := range []*hold{&s.rates.held, &p.held} {
		rest := held.until.Sub(now)
		if rest <= 0 {
			continue
		}
		if now.Sub(held.told) > s.o.Second/4 {
			s.violate("%s to chat %d came %.1f s before its retry_after was over", c.method.name, c.chat.id, float64(rest)/float64(s.o.Second))
			rest *= 2
			*held = hold{now, now.Add(rest)}
		}
		return busy(s.whole(rest))
	}
	if s.o.NoLimits {
		return nil
	}
	return s.count(c, p, now)
}

func (s *Server) count(c *call, p *pace, now time.Time) *refusal {
	own := &p.sends
	if c.method.rated == previews {
		own = &p.previews
	}
	all := s.rates.all.wait(now, s.o.Second, allRate, allBurst)
	one := own.wait(now, s.o.Second, 1, chatBurst)
	if c.chat.kind != "private" {
		for len(p.window) > 0 && now.Sub(p.window[0]) >= s.seconds(60) {
			p.window = p.window[1:]
		}
		if len(p.window) >= groupWindow {
			one = max(one, float64(s.seconds(60)-now.Sub(p.window[0]))/float64(s.o.Second))
		}
	}
	switch {
	case all > 0:
		after := whole(all)
		s.rates.hold(0, now, s.seconds(after))
		return busy(after)
	case one > 0:
		after := whole(one)
		s.rates.hold(c.chat.id, now, s.seconds(after))
		return busy(after)
	}
	s.rates.all.missing++
	own.missing++
	if c.chat.kind != "private" {
		p.window = append(p.window, now)
	}
	return nil
}

func (s *Server) whole(d time.Duration) int { return whole(float64(d) / float64(s.o.Second)) }

func whole(seconds float64) int { return max(1, int(math.Ceil(seconds))) }
