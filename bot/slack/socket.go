package slack

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"legwork/bot"
	"legwork/internal/retry"
)

// The library's Socket Mode client closes a connection before it opens the next
// one and leaves what it cannot read unacknowledged, so that the loop is here.

// news is what a connection tells the loop that keeps one open.
type news struct {
	c    *connection
	what change
	err  error // of ended
}

type change uint8

const (
	opened  change = iota // Slack said hello
	leaving               // it will be closed soon, or has been silent for long
	ended                 // it is closed, or was never opened
)

// sockets keeps one connection open, and two while one takes over.
type sockets struct {
	s       *Slack
	in      *intake
	news    chan news
	running sync.WaitGroup

	current *connection // nil: none
	opening bool
	pause   *retry.Pauses
	again   *time.Timer // when the next one is opened, after one failed
}

func (s *Slack) runSockets(ctx context.Context, in *intake) {
	k := &sockets{s: s, in: in, news: make(chan news), pause: s.pauses(), again: time.NewTimer(0)}
	defer k.running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer k.again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.again.C:
			k.open(ctx)
		case n := <-k.news:
			k.heed(ctx, n)
		}
	}
}

func (k *sockets) open(ctx context.Context) {
	if k.opening {
		return
	}
	k.opening = true
	c := &connection{s: k.s, in: k.in, news: k.news}
	k.running.Go(func() {
		err := c.run(ctx)
		c.tell(ctx, news{c, ended, err})
	})
}

func (k *sockets) heed(ctx context.Context, n news) {
	switch n.what {
	case opened:
		k.opening = false
		n.c.since = time.Now()
		if k.current != nil {
			k.current.retire(k.s.pause.linger)
		}
		k.current = n.c
		k.s.connected(ctx)
	case leaving:
		if n.c == k.current {
			k.open(ctx)
		}
	case ended:
		n.c.stop()
		switch {
		case n.c == k.current:
			k.current = nil
			k.s.log.InfoContext(ctx, "a slack connection ended", "cause", n.err)
			k.s.become(explain(fmt.Errorf("connecting again: %w", n.err)))
			if !k.opening {
				k.again.Reset(k.rest(n))
			}
		case n.c.greeted: // it had been replaced
		default:
			k.failed(ctx, n.err)
		}
	}
}

// rest is the pause after a connection ended: none when it had lived.
func (k *sockets) rest(n news) time.Duration {
	switch {
	case denied(n.err):
		return k.s.pause.denied
	case time.Since(n.c.since) < k.s.pause.linger:
		return k.pause.Next()
	}
	k.pause.Reset()
	return 0
}

// failed waits before the next try: the longer, the more tries failed, and a
// minute when it is the token that Slack does not like.
func (k *sockets) failed(ctx context.Context, err error) {
	k.opening = false
	wait := k.pause.Next()
	if denied(err) {
		wait = k.s.pause.denied
	}
	problem := explain(err)
	if k.current == nil {
		k.s.become(problem)
	}
	k.s.log.WarnContext(ctx, "a slack connection could not be opened", "cause", problem, "again", wait)
	k.again.Reset(wait)
}

// connection is one Socket Mode connection.
type connection struct {
	s    *Slack
	in   *intake
	news chan<- news

	ws      *websocket.Conn
	writing sync.Mutex
	greeted bool      // set before opened is told; read after ended
	since   time.Time // when that was; the loop's

	mu      sync.Mutex
	closing *time.Timer
}

// readLimit is far above what Slack sends in one message.
const (
	readLimit  = 4 << 20
	writeSpan  = 5 * time.Second
	writeBytes = 32 << 10 // an acknowledgement must go out as one frame
)

// run opens the connection and reads until it ends.
func (c *connection) run(ctx context.Context) error {
	address, err := c.address(ctx)
	if err != nil {
		return err
	}
	dialer := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: c.s.pause.greet, WriteBufferSize: writeBytes}
	ws, answer, err := dialer.DialContext(ctx, address, nil)
	if answer != nil {
		_ = answer.Body.Close()
	}
	if err != nil {
		return fmt.Errorf("opening connection: %w", err)
	}
	c.ws = ws
	defer context.AfterFunc(ctx, func() { _ = ws.Close() })()
	defer func() { _ = ws.Close() }()
	ws.SetReadLimit(readLimit)
	c.alive(c.s.pause.greet)
	answered := func() {
		if c.greeted { // until then nothing but the greeting will do
			c.alive(c.s.pause.deaf)
		}
	}
	ws.SetPongHandler(func(string) error { answered(); return nil })
	ws.SetPingHandler(func(data string) error {
		answered()
		_ = ws.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(writeSpan))
		return nil
	})
	var pings sync.WaitGroup
	defer pings.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	heard := make(chan struct{}, 1)
	pings.Go(func() { c.watch(ctx, heard) })
	for {
		_, raw, err := ws.ReadMessage()
		if err != nil {
			return fmt.Errorf("reading from connection: %w", err)
		}
		c.alive(c.s.pause.deaf)
		select {
		case heard <- struct{}{}:
		default:
		}
		if err := c.receive(ctx, raw); err != nil {
			return err
		}
	}
}

func (c *connection) address(ctx context.Context) (string, error) {
	var address string
	err := c.s.call(ctx, request{method: openMethod, urgency: bot.PriorityHigh}, func(ctx context.Context) (err error) {
		_, address, err = c.s.api.StartSocketModeContext(ctx)
		return err
	})
	return address, err
}

// alive moves the moment at which the connection counts as deaf.
func (c *connection) alive(d time.Duration) { _ = c.ws.SetReadDeadline(time.Now().Add(d)) }

// watch sends pings, and asks for a successor when nothing but pongs came for
// long: a connection can be up and deliver nothing.
func (c *connection) watch(ctx context.Context, heard <-chan struct{}) {
	ping := time.NewTicker(c.s.pause.ping)
	defer ping.Stop()
	silence := time.NewTimer(c.s.pause.quiet)
	defer silence.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-heard:
			silence.Reset(c.s.pause.quiet)
		case <-ping.C:
			_ = c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeSpan))
		case <-silence.C:
			c.tell(ctx, news{c: c, what: leaving})
		}
	}
}

func (c *connection) tell(ctx context.Context, n news) {
	select {
	case c.news <- n:
	case <-ctx.Done():
	}
}

// retire closes the connection after a while: what Slack has sent on it is
// still read and acknowledged.
func (c *connection) retire(after time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closing = time.AfterFunc(after, func() { _ = c.ws.Close() })
}

func (c *connection) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing != nil {
		c.closing.Stop()
	}
}
