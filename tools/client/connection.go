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

	"legwork/tools/client/skill"
)

// connection is one running server and the client that speaks to it.
type connection struct {
	client       *client.Client
	initialized  bool           // a revision was agreed on; set before other goroutines use the connection
	proc         *process       // nil but on stdio
	stdin        *stdinWriter   // nil but on stdio
	stdout       *stdoutReader  // nil but on stdio
	http         *httpTransport // nil but for a remote server
	instructions string
	capabilities mcp.ServerCapabilities
	changed      chan struct{} // holds one token when a list changed
	dead         chan struct{} // closed when nothing can be called any more
	lastStderr   *lastLine
	stderrDone   chan struct{} // closed when the error output is read to its end; nil without a process

	ctx      context.Context //nolint:containedctx // ends with the connection, which is made before its first request
	cancel   context.CancelFunc
	mu       sync.Mutex
	failure  error          // why it is dead
	loaded   sync.Map       // skills whose SKILL.md was read and is as listed, by the hashes of their definitions
	tasks    sync.WaitGroup // goroutines of this connection
	inFlight inFlightCalls
	cfg      Config
	log      *slog.Logger

	openRequests serverRequests
}

// maxPictures is what is kept of the pictures in one result, in bytes.
const maxPictures = 1 << 20

// drainTimeout is how long the output of a process that ended is still read.
const drainTimeout = 500 * time.Millisecond

// modern tells whether the stateless revisions are spoken.
func (c *connection) modern() bool { return mcp.IsModernProtocol(c.client.ProtocolVersion()) }

// handleNotification takes a notification; it is called where messages are read.
func (c *connection) handleNotification(n mcp.JSONRPCNotification) {
	switch n.Method {
	case string(mcp.MethodNotificationToolsListChanged), mcp.MethodNotificationPromptsListChanged, mcp.MethodNotificationResourcesListChanged:
		c.listChanged()
	case string(mcp.MethodNotificationProgress):
		c.inFlight.reportProgress(n.Params.AdditionalFields)
	case string(mcp.MethodNotificationCancelled):
		c.openRequests.cancel(n.Params.AdditionalFields["requestId"])
	}
}

// spawn runs f beside the connection, which waits for it when it is closed. A
// dead connection runs nothing.
func (c *connection) spawn(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure == nil {
		c.tasks.Go(f)
	}
}

// watch ends the connection when the process has ended but something that it
// started keeps its output open.
func (c *connection) watch() {
	<-c.proc.gone
	last := time.NewTimer(drainTimeout)
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
	if c.failure == nil {
		c.failure = cause
		close(c.dead)
		c.cancel()
	}
}

// isDead tells whether the process ended by itself or was given up.
func (c *connection) isDead() bool {
	select {
	case <-c.dead:
		return true
	default:
		return false
	}
}

// drainStderr waits for the rest of the error output of a process that ended.
func (c *connection) drainStderr() {
	if c.stderrDone == nil {
		return
	}
	last := time.NewTimer(drainTimeout)
	defer last.Stop()
	select {
	case <-c.stderrDone:
	case <-last.C:
	}
}

// withStderr adds to err what the server last wrote to its error output.
func (c *connection) withStderr(err error) error {
	if last := c.lastStderr.get(); last != "" {
		return fmt.Errorf("%w; its error output ends with %q", err, last)
	}
	return err
}

// close ends the session, the process and its group, and every goroutine of
// the connection. now skips the polite part.
func (c *connection) close(now bool) {
	if c.http != nil && now {
		c.http.skipDelete.Store(true)
	}
	_ = c.client.Close() // closes stdin and with it the server's input
	if c.proc != nil {
		c.proc.stop(now)
	}
	c.fail(errors.New("it was closed"))
	c.tasks.Wait()
	if c.http != nil {
		c.http.base.CloseIdleConnections()
	}
}

// oldProtocol is the newest revision with an initialize handshake.
const oldProtocol = mcp.LATEST_LEGACY_PROTOCOL_VERSION

// errEndedAtStart means that the process ended before the session began.
var errEndedAtStart = errors.New("the process ended at the start")

// dialer makes connections to one server.
type dialer struct {
	cfg          Config
	guard        *ProcessGuard
	log          *slog.Logger
	version      string        // of legwork
	probeTimeout time.Duration // how long a server may be silent on the modern probe
}

// dial starts the server and agrees on a protocol: revision when it is not
// empty, else the newest that both know. ctx bounds the dialling only.
func (d dialer) dial(ctx context.Context, revision string, sse bool) (*connection, error) {
	c := &connection{changed: make(chan struct{}, 1), dead: make(chan struct{}), lastStderr: &lastLine{}, cfg: d.cfg, log: d.log}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	w := &capturingTransport{conn: c}
	var line transport.Interface = w
	switch {
	case d.cfg.Local != nil:
		asker := localAsker{c}
		w.Interface = transport.NewInProcessTransportWithOptions(d.cfg.Local, transport.WithElicitationHandler(asker), transport.WithSamplingHandler(asker))
	case d.cfg.URL != "":
		if err := d.connectHTTP(c, w, sse); err != nil {
			c.cancel()
			return nil, err
		}
		line = remoteTransport{w}
		if sse && revision == "" {
			revision = oldProtocol // the transport is older than the modern revisions
		}
	default:
		if err := d.startProcess(c, w); err != nil {
			c.cancel()
			return nil, err
		}
	}
	c.client = client.NewClient(line, client.WithProtocolVersion(revision), client.WithDiscoverTimeout(d.probeTimeout), client.WithClientCapabilities(d.capabilities()))
	c.client.OnNotification(c.handleNotification)
	if err := d.initialize(ctx, c); err != nil {
		if c.proc != nil && (c.isDead() || errors.Is(err, transport.ErrTransportClosed) || errors.Is(err, io.ErrClosedPipe)) {
			err = fmt.Errorf("%w: %w", errEndedAtStart, err)
			c.drainStderr()
		}
		c.fail(err)
		c.close(true)
		return nil, c.withStderr(err)
	}
	return c, nil
}

// readyTimeout is how long the server may take until it is ready.
func (d dialer) readyTimeout() time.Duration {
	if d.cfg.URL != "" {
		return remoteStartTimeout
	}
	return startTimeout
}

// maxString is what is kept of each string that the server sends, be it text or
// a picture in Base64. It is a little more than is kept in the end, so that the
// last rune is cut there and not here.
func (d dialer) maxString() int { return max(d.cfg.Keep, 1<<20) + 16 }

// startProcess starts the command and puts the bounded streams around it.
func (d dialer) startProcess(c *connection, w *capturingTransport) error {
	p, err := start(d.cfg, d.guard)
	if err != nil {
		return err
	}
	c.proc, c.stdin = p, newOutbox(p.stdin)
	in := &stdoutReader{
		src: p.stdout, scan: messageScanner{maxString: d.maxString(), truncation: &w.truncation}, truncation: &w.truncation,
		onNoise: func(sample string) {
			d.log.Warn("server writes other text than messages", "sample", sample)
		},
		onRequest: func(raw []byte) { c.handleRequest(context.Background(), raw) },
		onEnd:     func(cause string) { c.fail(errors.New(cause)) },
	}
	c.stdout = in
	w.Interface = transport.NewIO(in, c.stdin, nil)
	c.tasks.Go(c.stdin.run)
	c.stderrDone = make(chan struct{})
	c.tasks.Go(func() {
		defer close(c.stderrDone)
		logStderr(p, c.lastStderr, d.log)
	})
	c.tasks.Go(c.watch)
	return nil
}

// initialize starts the session and follows what the server offers.
func (d dialer) initialize(ctx context.Context, c *connection) error {
	stop := context.AfterFunc(ctx, c.cancel) // starting knows the life of the connection only
	err := c.client.Start(c.ctx)
	if stop(); err != nil {
		return fmt.Errorf("starting the session: %w", plainError(err))
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ClientInfo = mcp.Implementation{Name: "legwork", Version: d.version}
	res, err := c.client.Initialize(ctx, hello)
	if err != nil {
		return fmt.Errorf("initialising: %w", plainError(err))
	}
	if want := d.cfg.Protocol; want != "" && mcp.IsModernProtocol(want) != c.modern() {
		return fmt.Errorf("initialising: it speaks the protocol revision %s, but protocol in the config is %s; change or remove protocol", c.client.ProtocolVersion(), want)
	}
	c.instructions, c.capabilities, c.initialized = res.Instructions, res.Capabilities, true
	if f := listChanges(c.capabilities); d.cfg.Local == nil && c.modern() && (f.ToolsListChanged || f.PromptsListChanged || f.ResourcesListChanged) {
		c.tasks.Go(func() { c.listen(f) })
	}
	return nil
}

// listChanges are the kinds of changes that a server reports.
func listChanges(o mcp.ServerCapabilities) mcp.SubscriptionFilter {
	return mcp.SubscriptionFilter{
		ToolsListChanged:     o.Tools != nil && o.Tools.ListChanged,
		PromptsListChanged:   o.Prompts != nil && o.Prompts.ListChanged,
		ResourcesListChanged: o.Resources != nil && o.Resources.ListChanged,
	}
}

// capabilities are the requests that servers may send to legwork. It always takes
// questions to people, and declines those that it cannot ask.
func (d dialer) capabilities() mcp.ClientCapabilities {
	can := mcp.ClientCapabilities{
		Elicitation: &mcp.ElicitationCapability{Form: &struct{}{}, URL: &struct{}{}},
		Extensions:  map[string]any{tasksExtension: struct{}{}, skill.Extension: struct{}{}},
	}
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
