package client

import (
	"context"
	"time"
)

const (
	looksPerList = 10 // looks at a server between two listings that it did not ask for
	listTimeout  = 30 * time.Second
	listRest     = time.Second // between two listings
)

// follow keeps what the server offers fresh, and looks after it, until the connection or ctx ends.
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
			if err := s.alive(ctx, c); err != nil {
				return err
			}
			if looks++; looks%looksPerList == 0 && !s.Local() {
				c.listChanged() // not every server tells
			}
		case <-c.dead:
			return c.explained(c.cause)
		case <-rest.C:
			changed = c.changed
		case <-changed:
			changed = nil
			rest.Reset(listRest)
			if err := within(ctx, c, listTimeout, s.refresh); err != nil {
				s.log.Warn("keeping what the server offered before", "err", s.discreet(err))
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
		s.log.Warn("part of what the server offers is left out", "why", why)
	}
	s.mu.Lock()
	s.cat, s.trip = cat, time.Since(from)
	s.mu.Unlock()
	if s.told != nil {
		s.told()
	}
	return nil
}
