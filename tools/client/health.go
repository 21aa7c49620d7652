package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// lookTimeout is how long an idle server may take to show that it is alive.
const lookTimeout = 10 * time.Second

// alive looks at a server that nothing is asked of: one that is at work may have
// no time to answer, and its calls have time limits of their own. It must fail
// twice, in two ways, before it is given up.
func (s *Server) alive(ctx context.Context, c *connection) error {
	if s.Local() || s.Busy() {
		return nil
	}
	err := within(ctx, c, lookTimeout, func(ctx context.Context, c *connection) error { return c.look(ctx) })
	if err != nil {
		err = within(ctx, c, lookTimeout, func(ctx context.Context, c *connection) error {
			_, err := c.client.ListToolsByPage(withCapture(ctx, &captured{}), mcp.ListToolsRequest{})
			return answered(err)
		})
	}
	if err != nil && ctx.Err() == nil && !s.Busy() {
		err = fmt.Errorf("it does not answer any more: %w", plain(err))
		c.fail(err)
		return err
	}
	return nil
}

// look asks for the least that there is.
func (c *connection) look(ctx context.Context) error {
	if c.modern() {
		_, err := c.client.Discover(ctx, mcp.DiscoverRequest{})
		return answered(err)
	}
	return answered(c.client.Ping(ctx)) //nolint:staticcheck // of the older revisions, as this is
}

// answered is nil for an error that the server itself told.
func answered(err error) error {
	var refused *refusal
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

// within runs f for at most d, and not longer than ctx and the connection last.
func within(ctx context.Context, c *connection, d time.Duration, f func(context.Context, *connection) error) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	return f(ctx, c)
}
