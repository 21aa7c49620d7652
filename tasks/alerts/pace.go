package alerts

import "time"

// Pace is how patient Alerts are. Fields that are zero have the usual values.
type Pace struct {
	First   time.Duration // before the second try of a delivery; each next wait is three times as long: 1 s
	Longest time.Duration // between two tries of a delivery: 30 min
	Rest    time.Duration // at most between two tries of a receiver that is away: 1 min
	GiveUp  time.Duration // how old a delivery gets, if it was tried often enough: 24 h
	Request time.Duration // of one request: 10 s
	Chat    time.Duration // between two messages to the admins; what comes meanwhile is one list: 1 min
	Outage  time.Duration // how long a server or platform is down before anybody is told; most are back at once: 30 s
	Look    time.Duration // between two looks at servers, models and platforms: 5 s
}

func (p Pace) withDefaults() Pace {
	usual := Pace{
		First: time.Second, Longest: 30 * time.Minute, Rest: time.Minute, GiveUp: 24 * time.Hour, Request: 10 * time.Second,
		Chat: time.Minute, Outage: 30 * time.Second, Look: 5 * time.Second,
	}
	for _, f := range []struct{ to, from *time.Duration }{
		{&p.First, &usual.First},
		{&p.Longest, &usual.Longest},
		{&p.Rest, &usual.Rest},
		{&p.GiveUp, &usual.GiveUp},
		{&p.Request, &usual.Request},
		{&p.Chat, &usual.Chat},
		{&p.Outage, &usual.Outage},
		{&p.Look, &usual.Look},
	} {
		if *f.to == 0 {
			*f.to = *f.from
		}
	}
	return p
}

// backoff is the wait after so many tries before the last one.
func (p Pace) backoff(tries int) time.Duration {
	wait := p.First
	for range tries {
		if wait *= 3; wait >= p.Longest {
			return p.Longest
		}
	}
	return wait
}
