package executor

import (
	"context"
	"sync"
	"time"
)

// modelCalls counts the model calls that people wait for.
type modelCalls struct {
	mu    sync.Mutex
	n     int
	quiet chan struct{} // closed when none is left; nil while none is there
}

func (c *modelCalls) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n++; c.quiet == nil {
		c.quiet = make(chan struct{})
	}
}

func (c *modelCalls) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n--; c.n == 0 {
		close(c.quiet)
		c.quiet = nil
	}
}

// idle waits until there is none, but not for longer than patience. The error is
// that of ctx.
func (c *modelCalls) idle(ctx context.Context, patience time.Duration) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		c.mu.Lock()
		quiet := c.quiet
		c.mu.Unlock()
		if quiet == nil {
			return ctx.Err()
		}
		select {
		case <-quiet:
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
