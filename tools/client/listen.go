package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"legwork/internal/retry"
)

// listens paces the attempts of the library to open the stream on which a
// server of the older revisions tells of changes.
type listens struct {
	mu     sync.Mutex
	wait   *retry.Pauses
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
		l.wait = newPauses(time.Second)
	} else {
		pause = l.wait.Next()
	}
	l.last = now.Add(pause)
	l.mu.Unlock()
	return retry.Sleep(ctx, pause)
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

func newPauses(first time.Duration) *retry.Pauses { return retry.New(first, maxRestart, 0.5) }

// listen follows what changes on a server of the modern revisions, which tells
// of it only on request, until the connection ends.
func (c *connection) listen(f mcp.SubscriptionFilter) {
	wait := newPauses(time.Second)
	for c.life.Err() == nil {
		from := time.Now()
		err := c.client.Listen(c.life, f)
		if errors.Is(err, mcp.ErrMethodNotFound) || errors.Is(err, mcp.ErrInvalidRequest) || errors.Is(err, mcp.ErrInvalidParams) {
			return // it does not offer it after all
		}
		if time.Since(from) > maxRestart {
			wait = newPauses(time.Second)
		}
		if wait.Sleep(c.life) != nil {
			return
		}
		c.listChanged() // what was missed
	}
}
