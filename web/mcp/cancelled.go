package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"sync"
)

// sessionHeader is where a client of the older revisions sends the name that it was
// given with initialize. Here it tells apart whose requests have the same numbers,
// and nothing else: one that is not known is as good.
const sessionHeader = "Mcp-Session-Id"

// greet names a client of the older revisions.
func greet(w http.ResponseWriter) { w.Header().Set(sessionHeader, rand.Text()) }

// call names a request for who gives it up.
type call struct{ caller, session, id string }

func (c call) number(id json.RawMessage) call {
	c.id = string(id)
	return c
}

// calls are those under way whose clients leave the connection open when they give
// one up, and say so in a request of its own. The current revision has neither
// sessions nor such requests: its clients hang up.
type calls struct {
	mu       sync.Mutex
	underWay map[call]*context.CancelFunc
}

// begin returns a context that ends when the call is given up. end must be called.
func (c *calls) begin(ctx context.Context, one call) (_ context.Context, end func()) {
	if one.session == "" {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.underWay == nil {
		c.underWay = map[call]*context.CancelFunc{}
	}
	c.underWay[one] = &cancel
	return ctx, func() {
		cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.underWay[one] == &cancel { // a client may use a number twice
			delete(c.underWay, one)
		}
	}
}

// giveUp ends a call, if it is under way.
func (c *calls) giveUp(one call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.underWay[one]; cancel != nil {
		(*cancel)()
	}
}
