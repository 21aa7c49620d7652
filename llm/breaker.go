package llm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// maxFailures is how many calls in succession may fail by the endpoint's fault
// before the breaker opens, and cooldown how long it stays open.
const (
	maxFailures = 3
	cooldown    = 30 * time.Second
)

// Health is the state of one model.
type Health struct {
	// Down is true while the breaker is open: the endpoint failed several times
	// in succession, and calls go straight to the fallbacks. From time to time
	// one call tries it.
	Down bool
	// RoleDown is true when a role has no model left because of that: this one
	// and all its fallbacks are down.
	RoleDown bool
	Since    time.Time // start of this state
	Problem  Problem   // of the last failure, while Down
	Cause    string    // and the failure itself
	Hint     string    // advice for an admin; may be empty
}

// breaker stops calls to an endpoint that fails several times in succession. All
// calls of a model share it. While it is open no call goes through, until cooldown
// has passed: then one call, the probe, tries the endpoint.
type breaker struct {
	now     func() time.Time
	changed func(down bool)

	gate     sync.Mutex // held while changed runs, so that no other call comes in meanwhile
	failures int        // in succession
	open     bool
	retryAt  time.Time // while open: when the next probe may begin
	probing  bool      // while open
	round    int       // counts when it opened, stayed open after a probe, or closed

	mu     sync.Mutex
	last   *fault // the newest failure that counted
	health Health
}

// errCanceled is the outcome of an attempt that its caller cancelled.
var errCanceled = errors.New("the caller cancelled the call")

// newBreaker makes a breaker. It calls changed when it opens and when it closes, and
// lets no other call in meanwhile.
func newBreaker(now func() time.Time, changed func(down bool)) *breaker {
	return &breaker{now: now, changed: changed, health: Health{Since: now()}}
}

// blame says whether the endpoint is at fault for the outcome of a call.
type blame int

const (
	endpointWorks   blame = iota // it answered, perhaps with an error about the request
	endpointFailed               // it cannot be reached, or refuses everybody
	endpointUnknown              // neither
)

func blames(err error) blame {
	if err == nil {
		return endpointWorks
	}
	if f := asFault(err); f != nil {
		if f.media && f.problem == NotFound { // an endpoint without this call may have the others
			return endpointUnknown
		}
		switch f.problem {
		case Unreachable, Refused, NotFound:
			return endpointFailed
		case Invalid, TooLong, Filtered:
			return endpointWorks
		}
	}
	return endpointUnknown
}

// allow asks whether the endpoint may be called. While the breaker is open, it
// returns the fault of the last failure; otherwise the caller must call leave once,
// with the outcome.
func (b *breaker) allow() (leave func(error), f *fault) {
	b.gate.Lock()
	defer b.gate.Unlock()
	if b.open && (b.probing || b.now().Before(b.retryAt)) {
		return nil, b.fault()
	}
	b.probing = b.open
	round := b.round
	return func(err error) { b.leave(round, err) }, nil
}

// leave counts the outcome of a call, unless the breaker has opened or closed since
// the call began.
func (b *breaker) leave(round int, err error) {
	outcome := blames(err)
	if outcome == endpointFailed {
		b.mu.Lock()
		b.last = asFault(err)
		b.mu.Unlock()
	}
	b.gate.Lock()
	defer b.gate.Unlock()
	if round != b.round {
		return
	}
	wasOpen := b.open
	b.probing = false
	switch outcome {
	case endpointUnknown:
		return
	case endpointWorks:
		b.failures, b.open = 0, false
	case endpointFailed:
		b.failures++
		b.open = b.failures >= maxFailures
	}
	if b.open {
		b.retryAt = b.now().Add(cooldown)
	}
	if b.open || wasOpen {
		b.round++
	}
	if b.open != wasOpen {
		b.changed(b.open)
	}
}

// fault returns why the breaker is open.
func (b *breaker) fault() *fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	return &fault{
		problem: b.last.problem, status: b.last.status, hint: b.last.hint,
		err: fmt.Errorf("it failed several times in succession and has not been called since %s: %w", b.health.Since.Format(time.TimeOnly), b.last.err),
	}
}

func (b *breaker) down() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.health.Down
}

// setDown stores that the breaker opened or closed.
func (b *breaker) setDown(down bool, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.health = Health{Down: down, Since: now}
}

// report returns the health without RoleDown, which depends on other models.
func (b *breaker) report() Health {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.health
	if h.Down {
		h.Problem, h.Cause, h.Hint = b.last.problem, b.last.err.Error(), b.last.hint
	}
	return h
}

// Health returns the state of each model, by its name in the config.
func (m *Models) Health() map[string]Health {
	all := make(map[string]Health, len(m.byName))
	for name, e := range m.byName {
		all[name] = m.health(e)
	}
	return all
}

func (m *Models) health(e *endpoint) Health {
	h := e.breaker.report()
	h.RoleDown = h.Down && m.roleDown(e)
	return h
}

// roleDown reports whether all models of a role which e serves, first or as a
// fallback, are down.
func (m *Models) roleDown(e *endpoint) bool {
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

// healthChanged logs and reports that the breaker of e opened or closed.
func (m *Models) healthChanged(e *endpoint, down bool) {
	e.breaker.setDown(down, m.now())
	h := m.health(e)
	if down {
		m.log.LogAttrs(context.Background(), slog.LevelError, "model unavailable",
			slog.String("model", e.name), slog.String("problem", string(h.Problem)), slog.String("cause", h.Cause),
			slog.String("hint", h.Hint), slog.Bool("role_down", h.RoleDown))
	} else {
		m.log.Info("model available", "model", e.name)
	}
	if m.onHealth != nil {
		m.onHealth(e.name, h)
	}
}

// pauseUntil is the time until which an endpoint asked not to be called. All calls
// of a model share it. The zero value is no such time.
type pauseUntil struct {
	mu    sync.Mutex
	until time.Time
}

// maxPause is how long a Retry-After holds for other calls. A longer one may be a
// mistake of the endpoint, and the next call finds out.
const maxPause = 24 * time.Hour

func (q *pauseUntil) extend(now time.Time, wait time.Duration) {
	if wait <= 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if until := now.Add(min(wait, maxPause)); until.After(q.until) {
		q.until = until
	}
}

// remaining returns how long the endpoint must not be called; 0 or less: it may be.
func (q *pauseUntil) remaining(now time.Time) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.until.Sub(now)
}
