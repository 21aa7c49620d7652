package llm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"
)

// mostFailures is how many calls in succession may fail by the endpoint's fault
// before it is left alone, and cooldown how long that is.
const (
	mostFailures = 3
	cooldown     = 30 * time.Second
)

// Health is how one model stands.
type Health struct {
	// Down says that its endpoint failed again and again and is left alone:
	// calls go straight to the fallbacks. From time to time one call tries it.
	Down bool
	// Stranded says that a role has no model left because of that: neither this
	// one nor any of its fallbacks is called.
	Stranded bool
	Since    time.Time // that it is so
	Problem  Problem   // of the last failure, while Down
	Cause    string    // and the failure itself
	Hint     string    // what an admin can do about it; may be empty
}

// breaker leaves an endpoint alone that fails again and again. All calls of a
// model share it.
type breaker struct {
	steps *gobreaker.TwoStepCircuitBreaker[struct{}]

	mu     sync.Mutex
	last   *fault // the newest failure that counted
	health Health
}

// errGivenUp is the outcome of an attempt that its caller gave up.
var errGivenUp = errors.New("the caller gave the call up")

// newBreaker makes one; changed hears that calls are let through no more, and
// that they are again, while no other call can come in.
func newBreaker(name string, wait time.Duration, since time.Time, changed func(down bool)) *breaker {
	b := &breaker{health: Health{Since: since}}
	b.steps = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name: name, MaxRequests: 1, Timeout: wait,
		ReadyToTrip:  func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= mostFailures },
		IsSuccessful: func(err error) bool { return blames(err) == innocent },
		IsExcluded:   func(err error) bool { return blames(err) == nobody },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			if from == gobreaker.StateClosed || to == gobreaker.StateClosed { // not when a probe fails
				changed(to != gobreaker.StateClosed)
			}
		},
	})
	return b
}

// blame is what the outcome of a call says about the endpoint.
type blame int

const (
	innocent blame = iota // it answered, be it with a complaint about the request
	guilty                // it is not there, or turns everybody away
	nobody                // neither
)

func blames(err error) blame {
	if err == nil {
		return innocent
	}
	f := asFault(err)
	if f == nil {
		return nobody
	}
	switch f.problem {
	case Unreachable, Refused, NotFound:
		return guilty
	case Invalid, TooLong, Filtered:
		return innocent
	}
	return nobody
}

// enter asks to call the endpoint. The fault is that of the failures before,
// when it is left alone; otherwise leave must be called with the outcome.
func (b *breaker) enter() (leave func(error), f *fault) {
	done, err := b.steps.Allow()
	if err != nil {
		return nil, b.fault()
	}
	return func(err error) {
		if blames(err) == guilty {
			b.mu.Lock()
			b.last = asFault(err)
			b.mu.Unlock()
		}
		done(err)
	}, nil
}

// fault says that the endpoint is left alone, and why.
func (b *breaker) fault() *fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	return &fault{
		problem: b.last.problem, status: b.last.status, hint: b.last.hint,
		err: fmt.Errorf("it failed again and again since %s and is left alone for now: %w", b.health.Since.Format(time.TimeOnly), b.last.err),
	}
}

func (b *breaker) down() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.health.Down
}

// turn notes that the endpoint is left alone from now on, or is not any more.
func (b *breaker) turn(down bool, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.health = Health{Down: down, Since: now}
}

// report is the health without what other models have to do with it.
func (b *breaker) report() Health {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.health
	if h.Down {
		h.Problem, h.Cause, h.Hint = b.last.problem, b.last.err.Error(), b.last.hint
	}
	return h
}

// Health tells how each model stands, by its name in the config.
func (m *Models) Health() map[string]Health {
	all := make(map[string]Health, len(m.byName))
	for name, e := range m.byName {
		all[name] = m.health(e)
	}
	return all
}

func (m *Models) health(e *endpoint) Health {
	h := e.breaker.report()
	h.Stranded = h.Down && m.stranded(e)
	return h
}

// stranded reports that a role which e serves, first or as a fallback, has no
// model that is not left alone.
func (m *Models) stranded(e *endpoint) bool {
	for _, first := range m.config.Roles {
		served, usable := false, false
		for _, other := range m.chain(m.byName[first]) {
			served = served || other == e
			usable = usable || !other.breaker.down()
		}
		if served && !usable {
			return true
		}
	}
	return false
}

// turned is told that e is left alone from now on, or not any more.
func (m *Models) turned(e *endpoint, down bool) {
	e.breaker.turn(down, m.now())
	h := m.health(e)
	if down {
		m.log.LogAttrs(context.Background(), slog.LevelError, "a model fails again and again and is left alone for now",
			slog.String("model", e.name), slog.String("problem", string(h.Problem)), slog.String("cause", h.Cause),
			slog.String("hint", h.Hint), slog.Bool("stranded", h.Stranded))
	} else {
		m.log.Info("a model answers again", "model", e.name)
	}
	if m.onHealth != nil {
		m.onHealth(e.name, h)
	}
}

// quiet remembers until when an endpoint asked to be left alone, for all calls.
// The zero value remembers nothing.
type quiet struct {
	mu    sync.Mutex
	until time.Time
}

// longestQuiet is how long a wish to be left alone holds for other calls: one
// that is longer may be a mistake, and is asked about again.
const longestQuiet = 24 * time.Hour

func (q *quiet) ask(now time.Time, wait time.Duration) {
	if wait <= 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if until := now.Add(min(wait, longestQuiet)); until.After(q.until) {
		q.until = until
	}
}

// left is how long it still wants to be left alone; 0 or less: no more.
func (q *quiet) left(now time.Time) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.until.Sub(now)
}
