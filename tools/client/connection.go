package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// oldProtocol is the newest revision with an initialize handshake.
const oldProtocol = mcp.LATEST_LEGACY_PROTOCOL_VERSION

// connection is one running server and the client that speaks to it.
type connection struct {
	client       *client.Client
	proc         *process // nil in-process
	outbox       *outbox  // nil in-process
	instructions string
	changed      chan struct{} // holds one token when the list of tools changed
	dead         chan struct{} // closed when nothing can be called any more
	stderr       *tail
	drained      chan struct{} // closed when the error output is read to its end; nil without a process

	mu    sync.Mutex
	cause error          // why it is dead
	tasks sync.WaitGroup // goroutines of this connection
	leave context.CancelFunc
}

// lastWords is how long the output of a process that ended is still read.
const lastWords = 500 * time.Millisecond

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
func (d dialer) dial(ctx context.Context, revision string) (*connection, error) {
	c := &connection{changed: make(chan struct{}, 1), dead: make(chan struct{}), stderr: &tail{}}
	w := &wire{}
	if d.cfg.Local != nil {
		w.Interface = transport.NewInProcessTransport(d.cfg.Local)
	} else if err := d.attach(c, w); err != nil {
		return nil, err
	}
	c.client = client.NewClient(w, client.WithProtocolVersion(revision), client.WithDiscoverTimeout(d.probe))
	c.client.OnNotification(func(n mcp.JSONRPCNotification) {
		if n.Method == string(mcp.MethodNotificationToolsListChanged) {
			c.listChanged()
		}
	})
	if err := d.greet(ctx, c); err != nil {
		if c.died() || errors.Is(err, transport.ErrTransportClosed) || errors.Is(err, io.ErrClosedPipe) {
			err = fmt.Errorf("%w: %w", errDied, err)
			c.hearOut()
		}
		c.fail(err)
		c.close(true)
		return nil, c.explained(err)
	}
	return c, nil
}

// attach starts the command and puts the bounded streams around it.
func (d dialer) attach(c *connection, w *wire) error {
	p, err := start(d.cfg, d.guard)
	if err != nil {
		return err
	}
	c.proc, c.outbox = p, newOutbox(p.stdin)
	noise := func(sample string) {
		d.log.Warn("the server writes other things than messages to its output", "sample", sample)
	}
	// A little more than is kept, so that the last rune is cut here and not there.
	w.intake = newIntake(p.stdout, d.cfg.Keep+16, noise, func(cause string) { c.fail(errors.New(cause)) })
	w.Interface = transport.NewIO(w.intake, c.outbox, nil)
	c.tasks.Go(c.outbox.run)
	c.drained = make(chan struct{})
	c.tasks.Go(func() {
		defer close(c.drained)
		drain(p, c.stderr, d.log)
	})
	c.tasks.Go(c.watch)
	return nil
}

// greet starts the session and follows the list of tools.
func (d dialer) greet(ctx context.Context, c *connection) error {
	life, leave := context.WithCancel(context.Background())
	c.leave = leave
	if err := c.client.Start(life); err != nil {
		return fmt.Errorf("starting the session: %w", err)
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ClientInfo = mcp.Implementation{Name: "legwork", Version: d.version}
	res, err := c.client.Initialize(ctx, hello)
	if err != nil {
		return fmt.Errorf("initialising: %w", err)
	}
	c.instructions = res.Instructions
	if d.cfg.Local == nil && mcp.IsModernProtocol(c.client.ProtocolVersion()) && res.Capabilities.Tools != nil && res.Capabilities.Tools.ListChanged {
		// A server of the modern revisions tells of changes only on request.
		c.tasks.Go(func() {
			if err := c.client.Listen(life, mcp.SubscriptionFilter{ToolsListChanged: true}); err != nil && life.Err() == nil {
				d.log.Debug("not told of changed tools", "err", err)
			}
		})
	}
	return nil
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
	if c.leave != nil {
		c.leave()
	}
	_ = c.client.Close() // closes the outbox and with it the server's input
	if c.proc != nil {
		c.proc.stop(now)
		c.fail(errors.New("it was closed"))
	}
	c.tasks.Wait()
}

// list asks for all tools.
func (c *connection) list(ctx context.Context) (cat *Catalog, left []string, err error) {
	var got captured
	if _, err := c.client.ListTools(withCapture(ctx, &got), mcp.ListToolsRequest{}); err != nil {
		return nil, nil, c.explained(fmt.Errorf("listing its tools: %w", err))
	}
	cat, left = newCatalog(c.instructions, got.lists)
	return cat, left, nil
}

// drain logs what the server writes to its error output, each line shortened,
// at most a hundred in ten seconds.
func drain(p *process, last *tail, log *slog.Logger) {
	r := bufio.NewReaderSize(p.stderr, 1<<10)
	window, lines := time.Now(), 0
	for {
		line, isPrefix, err := r.ReadLine()
		if err != nil {
			return
		}
		text := clean(strings.TrimSpace(string(line)))
		for isPrefix && err == nil {
			_, isPrefix, err = r.ReadLine()
		}
		if text == "" {
			continue
		}
		last.set(text)
		if time.Since(window) > 10*time.Second {
			window, lines = time.Now(), 0
		}
		switch lines++; {
		case lines < 100:
			log.Debug("server says", "text", text)
		case lines == 100:
			log.Debug("server says more than is logged")
		}
	}
}

// tail remembers the last line of an error output.
type tail struct {
	mu   sync.Mutex
	line string
}

func (t *tail) set(s string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line, _ = cut(s, 300)
}

func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.line
}
