package telegramfake

import (
	"math"
	"strconv"
	"strings"
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
	all   lane
	lanes map[string]*lane
}

// lane is what is counted together: the messages of a chat and their edits, its
// previews, or any other method.
type lane struct {
	bucket
	window      []time.Time // of a group: what was sent in the last minute
	told, until time.Time   // a waiting time, and when the client was told
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

func (r *rates) lane(m method, chatID int64) *lane {
	name := strings.ToLower(m.name)
	if chatID != 0 {
		name = strconv.FormatInt(chatID, 10) + " " + name
		if m.rated == sends {
			name = strconv.FormatInt(chatID, 10)
		}
	}
	if r.lanes == nil {
		r.lanes = map[string]*lane{}
	}
	if r.lanes[name] == nil {
		r.lanes[name] = &lane{}
	}
	return r.lanes[name]
}

func (l *lane) hold(now time.Time, d time.Duration) { l.told, l.until = now, now.Add(d) }

func (r *rates) forgive() {
	r.all.until = time.Time{}
	for _, l := range r.lanes {
		l.until = time.Time{}
	}
}

// limit refuses a call that comes too early. One that comes although its client
// was told to wait is a violation and prolongs the wait; a quarter of a second
// is granted to those that were on their way.
func (s *Server) limit(c *call) *refusal {
	now, own := s.o.Now(), s.rates.lane(c.method, c.entry.Chat)
	lanes := []*lane{own, &s.rates.all}
	if c.method.rated == unrated {
		lanes = lanes[:1]
	}
	for _, l := range lanes {
		rest := l.until.Sub(now)
		if rest <= 0 {
			continue
		}
		if now.Sub(l.told) > s.o.Second/4 {
			s.violate("%s to chat %d came %.1f s before its retry_after was over", c.method.name, c.entry.Chat, float64(rest)/float64(s.o.Second))
			rest *= 2
			l.hold(now, rest)
		}
		return busy(s.whole(rest))
	}
	if s.o.NoLimits || c.method.rated == unrated {
		return nil
	}
	return s.count(c, own, now)
}

// count takes a place in the lane of the call and among all, if there is one.
func (s *Server) count(c *call, own *lane, now time.Time) *refusal {
	group := c.chat.kind != "private"
	one := own.wait(now, s.o.Second, 1, chatBurst)
	if group {
		one = max(one, s.windowWait(own, now))
	}
	all := s.rates.all.wait(now, s.o.Second, allRate, allBurst)
	for _, full := range []struct {
		lane *lane
		wait float64
	}{{own, one}, {&s.rates.all, all}} {
		if full.wait > 0 {
			after := max(1, int(math.Ceil(full.wait)))
			full.lane.hold(now, s.seconds(after))
			return busy(after)
		}
	}
	s.rates.all.missing++
	own.missing++
	if group {
		own.window = append(own.window, now)
	}
	return nil
}

// windowWait is how many seconds until a group may get one more.
func (s *Server) windowWait(l *lane, now time.Time) float64 {
	for len(l.window) > 0 && now.Sub(l.window[0]) >= s.seconds(60) {
		l.window = l.window[1:]
	}
	if len(l.window) < groupWindow {
		return 0
	}
	return float64(s.seconds(60)-now.Sub(l.window[0])) / float64(s.o.Second)
}

// whole rounds up to seconds of the service.
func (s *Server) whole(d time.Duration) int {
	return max(1, int(math.Ceil(float64(d)/float64(s.o.Second))))
}
