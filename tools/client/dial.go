package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

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
