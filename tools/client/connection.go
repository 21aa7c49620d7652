package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
)

// connection is one running server and the client that speaks to it.
type connection struct {
	client       *client.Client
	proc         *process // nil but on stdio
	outbox       *outbox  // nil but on stdio
	intake       *intake  // nil but on stdio
	courier      *courier // nil but for a remote server
	instructions string
	offers       mcp.ServerCapabilities
	changed      chan struct{} // holds one token when a list changed
	dead         chan struct{} // closed when nothing can be called any more
	stderr       *tail
	drained      chan struct{} // closed when the error output is read to its end; nil without a process

	life    context.Context //nolint:containedctx // ends with the connection, which is made before its first request
	leave   context.CancelFunc
	mu      sync.Mutex
	cause   error          // why it is dead
	tasks   sync.WaitGroup // goroutines of this connection
	flights flights
	cfg     Config
	log     *slog.Logger

	questions questions
}

// maxPictures is what is kept of the pictures in one result, in bytes.
const maxPictures = 1 << 20

// lastWords is how long the output of a process that ended is still read.
const lastWords = 500 * time.Millisecond

// modern tells whether the stateless revisions are spoken.
func (c *connection) modern() bool { return mcp.IsModernProtocol(c.client.ProtocolVersion()) }

// notified takes a notification; it is called where messages are read.
func (c *connection) notified(n mcp.JSONRPCNotification) {
	switch n.Method {
	case string(mcp.MethodNotificationToolsListChanged), mcp.MethodNotificationPromptsListChanged, mcp.MethodNotificationResourcesListChanged:
		c.listChanged()
	case string(mcp.MethodNotificationProgress):
		c.flights.progressed(n.Params.AdditionalFields)
	case string(mcp.MethodNotificationCancelled):
		c.questions.withdrawn(n.Params.AdditionalFields["requestId"])
	}
}

// spawn runs f beside the connection, which waits for it when it is closed. A
// dead connection runs nothing.
func (c *connection) spawn(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil {
		c.tasks.Go(f)
	}
}

// watch ends the connection when the process has ended but something that it
// started keeps its output open.
func (c *connection) watch() {
	<-c.proc.gone
	last := time.NewTimer(lastWords)
	defer last.Stop()
	select {
	case <-c.dead:
	case <-last.C:
		c.fail(errors.New("the process ended"))
	}
}

func (c *connection) listChanged() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// fail marks the connection dead; the first cause counts.
func (c *connection) fail(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil {
		c.cause = cause
		close(c.dead)
		c.leave()
	}
}

// died tells whether the process ended by itself or was given up.
func (c *connection) died() bool {
	select {
	case <-c.dead:
		return true
	default:
		return false
	}
}

// hearOut waits for the rest of the error output of a process that ended.
func (c *connection) hearOut() {
	if c.drained == nil {
		return
	}
	last := time.NewTimer(lastWords)
	defer last.Stop()
	select {
	case <-c.drained:
	case <-last.C:
	}
}

// explained adds to err what the server last wrote to its error output.
func (c *connection) explained(err error) error {
	if last := c.stderr.last(); last != "" {
		return fmt.Errorf("%w; it last wrote %q", err, last)
	}
	return err
}

// close ends the session, the process and its group, and every goroutine of
// the connection. now skips the polite part.
func (c *connection) close(now bool) {
	if c.courier != nil && now {
		c.courier.mute.Store(true)
	}
	_ = c.client.Close() // closes the outbox and with it the server's input
	if c.proc != nil {
		c.proc.stop(now)
	}
	c.fail(errors.New("it was closed"))
	c.tasks.Wait()
	if c.courier != nil {
		c.courier.base.CloseIdleConnections()
	}
}
