package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/mark3labs/mcp-go/mcp"
)

// listens paces the attempts of the library to open the stream on which a
// server of the older revisions tells of changes.
type listens struct {
	mu     sync.Mutex
	wait   *backoff.ExponentialBackOff
	last   time.Time
	opened bool
}

// rest waits before an attempt: not before the first, longer before each that
// soon follows another.
func (l *listens) rest(ctx context.Context) error {
	l.mu.Lock()
	now := time.Now()
	pause := time.Duration(0)
	if l.wait == nil || now.Sub(l.last) > maxRestart {
		l.wait = newBackoff(time.Second)
	} else {
		pause = l.wait.NextBackOff()
	}
	l.last = now.Add(pause)
	l.mu.Unlock()
	return sleep(ctx, pause)
}

func (l *listens) worked() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.opened
}

// open notes that the stream is open, and tells whether it was before.
func (l *listens) open() (again bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	again, l.opened = l.opened, true
	return again
}

func newBackoff(first time.Duration) *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{InitialInterval: first, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: maxRestart}
}

// sleep waits, or returns the error of ctx when that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// listen follows what changes on a server of the modern revisions, which tells
// of it only on request, until the connection ends.
func (c *connection) listen(f mcp.SubscriptionFilter) {
	wait := newBackoff(time.Second)
	for c.life.Err() == nil {
		from := time.Now()
		err := c.client.Listen(c.life, f)
		if errors.Is(err, mcp.ErrMethodNotFound) || errors.Is(err, mcp.ErrInvalidRequest) || errors.Is(err, mcp.ErrInvalidParams) {
			return // it does not offer it after all
		}
		if time.Since(from) > maxRestart {
			wait = newBackoff(time.Second)
		}
		if sleep(c.life, wait.NextBackOff()) != nil {
			return
		}
		c.listChanged() // what was missed
	}
}
