package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"legwork/internal/retry"
)

const (
	checksPerList = 10 // looks at a server between two listings that it did not ask for
	listTimeout   = 30 * time.Second
	listPause     = time.Second // between two listings
)

// follow refreshes the catalog and checks the health of the server until the
// connection or ctx ends.
func (s *Server) follow(ctx context.Context, c *connection) error {
	changed := c.changed
	rest := time.NewTimer(0)
	defer rest.Stop()
	look := time.NewTicker(s.health)
	defer look.Stop()
	looks := 0
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-look.C:
			if err := s.checkHealth(ctx, c); err != nil {
				return err
			}
			if looks++; looks%checksPerList == 0 && !s.Local() {
				c.listChanged() // not every server reports changes
			}
		case <-c.dead:
			return c.withStderr(c.failure)
		case <-rest.C:
			changed = c.changed
		case <-changed:
			changed = nil
			rest.Reset(listPause)
			if err := withTimeout(ctx, c, listTimeout, s.refresh); err != nil {
				s.log.Warn("catalog not refreshed", "cause", s.redacted(err))
			}
		}
	}
}

func (s *Server) refresh(ctx context.Context, c *connection) error {
	from := time.Now()
	cat, left, err := c.list(ctx)
	if err != nil {
		return err
	}
	for _, why := range left {
		s.log.Warn("part of the catalog left out", "why", why)
	}
	s.mu.Lock()
	s.cat, s.roundTrip = cat, time.Since(from)
	s.mu.Unlock()
	if s.onCatalog != nil {
		s.onCatalog()
	}
	return nil
}

// healthTimeout is how long an idle server may take to show that it is alive.
const healthTimeout = 10 * time.Second

// checkHealth pings an idle server. A busy server may have no time to answer, and
// its calls have time limits of their own. checkHealth gives a server up when it
// answers neither a ping nor a list request.
func (s *Server) checkHealth(ctx context.Context, c *connection) error {
	if s.Local() || s.Busy() {
		return nil
	}
	err := withTimeout(ctx, c, healthTimeout, func(ctx context.Context, c *connection) error { return c.ping(ctx) })
	if err != nil {
		older := errors.Is(err, errOlderNow)
		err = withTimeout(ctx, c, healthTimeout, func(ctx context.Context, c *connection) error {
			_, err := c.client.ListToolsByPage(withCapture(ctx, &captured{}), mcp.ListToolsRequest{})
			if refused, ok := errors.AsType[*rpcError](err); ok && older {
				return fmt.Errorf("%w: %w", errOlderNow, refused)
			}
			return ignoreRPCError(err)
		})
	}
	if err != nil && ctx.Err() == nil && !s.Busy() {
		if !errors.Is(err, errOlderNow) && commonRevision(err) == "" {
			err = fmt.Errorf("it does not answer any more: %w", plainError(err))
		}
		c.fail(err)
		return err
	}
	return nil
}

// errOlderNow means that a server refuses what a modern one must answer: perhaps
// an older one has taken its place.
var errOlderNow = errors.New("it no longer answers server/discover")

// ping sends the smallest request that the revision has.
func (c *connection) ping(ctx context.Context) error {
	if c.modern() {
		_, err := c.client.Discover(withCapture(ctx, &captured{}), mcp.DiscoverRequest{})
		if refused, ok := errors.AsType[*rpcError](err); ok {
			return fmt.Errorf("%w: %w", errOlderNow, refused)
		}
		return ignoreRPCError(err)
	}
	return ignoreRPCError(c.client.Ping(ctx)) //nolint:staticcheck // of the older revisions, as this is
}

// ignoreRPCError is nil for an error that the server itself returned: it is alive.
func ignoreRPCError(err error) error {
	var refused *rpcError
	var status *statusError
	if errors.As(err, &refused) || errors.As(err, &status) && status.later() {
		return nil
	}
	for _, told := range []error{mcp.ErrMethodNotFound, mcp.ErrInvalidRequest, mcp.ErrInvalidParams, mcp.ErrInternalError} {
		if errors.Is(err, told) {
			return nil
		}
	}
	return err
}

// withTimeout runs f for at most d, and not longer than ctx and the connection last.
func withTimeout(ctx context.Context, c *connection, d time.Duration, f func(context.Context, *connection) error) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	return f(ctx, c)
}

// listenPacer paces the attempts of the library to open the stream on which a
// server of the older revisions reports changes.
type listenPacer struct {
	mu     sync.Mutex
	pauses *retry.Pauses
	last   time.Time
	opened bool
}

// wait waits before an attempt: not before the first, longer before each that
// soon follows another.
func (l *listenPacer) wait(ctx context.Context) error {
	l.mu.Lock()
	now := time.Now()
	pause := time.Duration(0)
	if l.pauses == nil || now.Sub(l.last) > maxRestart {
		l.pauses = newPauses(time.Second)
	} else {
		pause = l.pauses.Next()
	}
	l.last = now.Add(pause)
	l.mu.Unlock()
	return retry.Sleep(ctx, pause)
}

func (l *listenPacer) wasOpen() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.opened
}

// open notes that the stream is open, and tells whether it was before.
func (l *listenPacer) open() (again bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	again, l.opened = l.opened, true
	return again
}

func newPauses(first time.Duration) *retry.Pauses { return retry.New(first, maxRestart, 0.5) }

// listen subscribes to the changes of a server of the modern revisions until the
// connection ends. Older servers report changes without a subscription.
func (c *connection) listen(f mcp.SubscriptionFilter) {
	wait := newPauses(time.Second)
	for c.ctx.Err() == nil {
		from := time.Now()
		err := c.client.Listen(c.ctx, f)
		if errors.Is(err, mcp.ErrMethodNotFound) || errors.Is(err, mcp.ErrInvalidRequest) || errors.Is(err, mcp.ErrInvalidParams) {
			return // it does not offer it after all
		}
		if time.Since(from) > maxRestart {
			wait = newPauses(time.Second)
		}
		if wait.Sleep(c.ctx) != nil {
			return
		}
		c.listChanged() // changes may have been missed
	}
}
