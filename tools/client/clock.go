package client

import (
	"context"
	"sync"
	"time"
)

// clock measures the working time of a call: it ends the call's context when
// that is used up, and stands still while a person is asked.
type clock struct {
	mu      sync.Mutex
	left    time.Duration // when it last stood still
	since   time.Time     // when it last began to run
	pauses  int
	timer   *time.Timer
	stopped bool
	end     context.CancelCauseFunc
}

// newClock starts a clock. The cause of the context's end is
// context.DeadlineExceeded when the time was used up.
func newClock(ctx context.Context, d time.Duration) (context.Context, *clock) {
	ctx, end := context.WithCancelCause(ctx)
	c := &clock{left: d, since: time.Now(), end: end}
	c.timer = time.AfterFunc(d, func() { end(context.DeadlineExceeded) })
	return ctx, c
}

func (c *clock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauses++; c.pauses == 1 && c.timer.Stop() {
		c.left -= time.Since(c.since)
	}
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauses--; c.pauses == 0 && !c.stopped {
		c.since = time.Now()
		c.timer.Reset(max(0, c.left))
	}
}

// remaining is the working time that is left.
func (c *clock) remaining() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauses > 0 {
		return c.left
	}
	return c.left - time.Since(c.since)
}

// stop ends the context and the clock.
func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	c.timer.Stop()
	c.end(context.Canceled)
}
