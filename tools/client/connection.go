package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
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

// oldProtocol is the newest revision with an initialize handshake.
const oldProtocol = mcp.LATEST_LEGACY_PROTOCOL_VERSION

// errDied: the server ended while it was greeted.
var errDied = errors.New("the process ended at the start")

// dialer makes connections to one server.
type dialer struct {
	cfg     Config
	guard   *Guard
	log     *slog.Logger
	version string        // of legwork
	probe   time.Duration // how long a server may be silent on the modern probe
}

// dial starts the server and agrees on a protocol: revision when it is not
// empty, else the newest that both know. ctx bounds the dialling only.
func (d dialer) dial(ctx context.Context, revision string, sse bool) (*connection, error) {
	c := &connection{changed: make(chan struct{}, 1), dead: make(chan struct{}), stderr: &tail{}, cfg: d.cfg, log: d.log}
	c.life, c.leave = context.WithCancel(context.Background())
	w := &wire{}
	var line transport.Interface = w
	switch {
	case d.cfg.Local != nil:
		asker := localAsker{c}
		w.Interface = transport.NewInProcessTransportWithOptions(d.cfg.Local, transport.WithElicitationHandler(asker), transport.WithSamplingHandler(asker))
	case d.cfg.URL != "":
		if err := d.reach(c, w, sse); err != nil {
			c.leave()
			return nil, err
		}
		line = remoteWire{w, c}
		if sse && revision == "" {
			revision = oldProtocol // the transport is older than the modern revisions
		}
	default:
		if err := d.attach(c, w); err != nil {
			c.leave()
			return nil, err
		}
	}
	c.client = client.NewClient(line, client.WithProtocolVersion(revision), client.WithDiscoverTimeout(d.probe), client.WithClientCapabilities(d.capabilities()))
	c.client.OnNotification(c.notified)
	if err := d.greet(ctx, c); err != nil {
		if c.proc != nil && (c.died() || errors.Is(err, transport.ErrTransportClosed) || errors.Is(err, io.ErrClosedPipe)) {
			err = fmt.Errorf("%w: %w", errDied, err)
			c.hearOut()
		}
		c.fail(err)
		c.close(true)
		return nil, c.explained(err)
	}
	return c, nil
}

// patience is how long the server may take until it is ready.
func (d dialer) patience() time.Duration {
	if d.cfg.URL != "" {
		return reachTimeout
	}
	return startTimeout
}

// maxString is what is kept of each string that the server sends, be it text or
// a picture in Base64. It is a little more than is kept in the end, so that the
// last rune is cut there and not here.
func (d dialer) maxString() int { return max(d.cfg.Keep, 1<<20) + 16 }

// attach starts the command and puts the bounded streams around it.
func (d dialer) attach(c *connection, w *wire) error {
	p, err := start(d.cfg, d.guard)
	if err != nil {
		return err
	}
	c.proc, c.outbox = p, newOutbox(p.stdin)
	in := &intake{
		src: p.stdout, scan: scan{maxString: d.maxString(), cuts: &w.cuts}, cuts: &w.cuts,
		noise: func(sample string) {
			d.log.Warn("the server writes other things than messages to its output", "sample", sample)
		},
		asked: func(raw []byte) { c.asked(context.Background(), raw) },
		ended: func(cause string) { c.fail(errors.New(cause)) },
	}
	c.intake = in
	w.Interface = transport.NewIO(in, c.outbox, nil)
	c.tasks.Go(c.outbox.run)
	c.drained = make(chan struct{})
	c.tasks.Go(func() {
		defer close(c.drained)
		drain(p, c.stderr, d.log)
	})
	c.tasks.Go(c.watch)
	return nil
}

// greet starts the session and follows what the server offers.
func (d dialer) greet(ctx context.Context, c *connection) error {
	stop := context.AfterFunc(ctx, c.leave) // starting knows the life of the connection only
	err := c.client.Start(c.life)
	if stop(); err != nil {
		return fmt.Errorf("starting the session: %w", plain(err))
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ClientInfo = mcp.Implementation{Name: "legwork", Version: d.version}
	res, err := c.client.Initialize(ctx, hello)
	if err != nil {
		return fmt.Errorf("initialising: %w", plain(err))
	}
	if want := d.cfg.Protocol; want != "" && mcp.IsModernProtocol(want) != c.modern() {
		return fmt.Errorf("initialising: it speaks revision %s, and protocol in the config is %s", c.client.ProtocolVersion(), want)
	}
	c.instructions, c.offers = res.Instructions, res.Capabilities
	if f := changes(c.offers); d.cfg.Local == nil && c.modern() && (f.ToolsListChanged || f.PromptsListChanged || f.ResourcesListChanged) {
		c.tasks.Go(func() { c.listen(f) })
	}
	return nil
}

// changes are the kinds of changes that a server tells of.
func changes(o mcp.ServerCapabilities) mcp.SubscriptionFilter {
	return mcp.SubscriptionFilter{
		ToolsListChanged:     o.Tools != nil && o.Tools.ListChanged,
		PromptsListChanged:   o.Prompts != nil && o.Prompts.ListChanged,
		ResourcesListChanged: o.Resources != nil && o.Resources.ListChanged,
	}
}

// capabilities are what servers may ask of legwork. Questions to people are
// always taken: where nobody can be asked they are declined.
func (d dialer) capabilities() mcp.ClientCapabilities {
	can := mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{Form: &struct{}{}, URL: &struct{}{}}}
	if d.cfg.Sampling {
		can.Sampling = &mcp.SamplingCapability{}
	}
	if len(d.cfg.Roots) > 0 {
		can.Roots = &struct {
			ListChanged bool `json:"listChanged,omitempty"`
		}{}
	}
	return can
}
