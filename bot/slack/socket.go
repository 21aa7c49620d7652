package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	slackgo "github.com/slack-go/slack"

	"legwork/bot"
	"legwork/internal/failpoint"
	"legwork/internal/retry"
)

// The library's Socket Mode client closes a connection before it opens the next
// one, and never acknowledges deliveries that it cannot read. Therefore legwork has
// a loop of its own (docs.slack.dev/apis/events-api/using-socket-mode).

// socketEvent is what a connection reports to the loop that keeps one open.
type socketEvent struct {
	c      *connection
	change change
	err    error // of ended
}

type change uint8

const (
	opened  change = iota // Slack said hello
	leaving               // it will close soon, or was silent for long
	ended                 // it is closed, or was never opened
)

// sockets keeps one connection open, and two while the next one takes over.
type sockets struct {
	s       *Slack
	in      *intake
	news    chan socketEvent
	running sync.WaitGroup

	current *connection // nil: none
	opening bool
	pauses  *retry.Pauses
	retry   *time.Timer // when the next one is opened, after one failed
}

func (s *Slack) runSockets(ctx context.Context, in *intake) {
	k := &sockets{s: s, in: in, news: make(chan socketEvent), pauses: s.timings.retries(), retry: time.NewTimer(0)}
	defer k.running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer k.retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.retry.C:
			k.open(ctx)
		case n := <-k.news:
			k.handle(ctx, n)
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
		c.report(ctx, socketEvent{c, ended, err})
	})
}

func (k *sockets) handle(ctx context.Context, n socketEvent) {
	switch n.change {
	case opened:
		k.opening = false
		n.c.since = time.Now()
		if k.current != nil {
			k.current.retire(k.s.timings.overlap)
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
			k.s.log.InfoContext(ctx, "slack: connection ended", "cause", n.err)
			k.s.setState(explain(fmt.Errorf("connecting again: %w", n.err)))
			if !k.opening {
				k.retry.Reset(k.reconnectPause(n))
			}
		case n.c.gotHello: // it had been replaced
		default:
			k.failed(ctx, n.err)
		}
	}
}

// reconnectPause is the pause after a connection ended: none when it lived for a
// while.
func (k *sockets) reconnectPause(n socketEvent) time.Duration {
	switch {
	case badToken(n.err):
		return k.s.timings.badToken
	case time.Since(n.c.since) < k.s.timings.overlap:
		return k.pauses.Next()
	}
	k.pauses.Reset()
	return 0
}

// failed waits before the next try: longer after each failure, and a minute when
// Slack refuses the token.
func (k *sockets) failed(ctx context.Context, err error) {
	k.opening = false
	wait := k.pauses.Next()
	if badToken(err) {
		wait = k.s.timings.badToken
	}
	problem := explain(err)
	if k.current == nil {
		k.s.setState(problem)
	}
	k.s.log.WarnContext(ctx, "slack: connection not opened", "cause", problem, "again", wait)
	k.retry.Reset(wait)
}

// connection is one Socket Mode connection.
type connection struct {
	s    *Slack
	in   *intake
	news chan<- socketEvent

	ws       *websocket.Conn
	writing  sync.Mutex
	gotHello bool      // set before opened is reported; read after ended
	since    time.Time // when that was; owned by the loop

	mu      sync.Mutex
	closing *time.Timer
}

// readLimit is far above the largest message of Slack.
const (
	readLimit    = 4 << 20
	writeTimeout = 5 * time.Second
	writeBytes   = 32 << 10 // an acknowledgement must go out as one frame
)

// run opens the connection and reads until it ends.
func (c *connection) run(ctx context.Context) error {
	address, err := c.address(ctx)
	if err != nil {
		return err
	}
	dialer := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: c.s.timings.hello, WriteBufferSize: writeBytes}
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
	c.extendDeadline(c.s.timings.hello)
	answered := func() {
		if c.gotHello { // until then only hello counts
			c.extendDeadline(c.s.timings.silence)
		}
	}
	ws.SetPongHandler(func(string) error { answered(); return nil })
	ws.SetPingHandler(func(data string) error {
		answered()
		_ = ws.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(writeTimeout))
		return nil
	})
	var pings sync.WaitGroup
	defer pings.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	heard := make(chan struct{}, 1)
	pings.Go(func() { c.ping(ctx, heard) })
	for {
		_, raw, err := ws.ReadMessage()
		if err != nil {
			return fmt.Errorf("reading from connection: %w", err)
		}
		c.extendDeadline(c.s.timings.silence)
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

// extendDeadline sets when the connection counts as dead.
func (c *connection) extendDeadline(d time.Duration) { _ = c.ws.SetReadDeadline(time.Now().Add(d)) }

// ping sends pings, and asks for a successor when only pongs came for long: a
// connection can be up and deliver nothing.
func (c *connection) ping(ctx context.Context, heard <-chan struct{}) {
	ping := time.NewTicker(c.s.timings.ping)
	defer ping.Stop()
	silence := time.NewTimer(c.s.timings.idle)
	defer silence.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-heard:
			silence.Reset(c.s.timings.idle)
		case <-ping.C:
			_ = c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeTimeout))
		case <-silence.C:
			c.report(ctx, socketEvent{c: c, change: leaving})
		}
	}
}

func (c *connection) report(ctx context.Context, n socketEvent) {
	select {
	case c.news <- n:
	case <-ctx.Done():
	}
}

// retire closes the connection after a while, so that deliveries which Slack has
// sent on it are still read and acknowledged.
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

// envelope is one message of a Socket Mode connection.
type envelope struct {
	Type    string          `json:"type"`
	ID      string          `json:"envelope_id"`
	Reason  string          `json:"reason"`
	Payload json.RawMessage `json:"payload"`
}

// Kinds of payload, by Socket Mode's names.
const (
	kindEvent       = "events_api"
	kindCommand     = "slash_commands"
	kindInteraction = "interactive"
)

// receive handles one message of the connection. Unknown messages are
// acknowledged and logged: Slack would deliver them again and again.
func (c *connection) receive(ctx context.Context, raw []byte) error {
	var e envelope
	if err := json.Unmarshal(raw, &e); err != nil {
		c.s.log.WarnContext(ctx, "slack: unreadable delivery skipped", "bytes", len(raw), "cause", err)
		c.acknowledge(findID(raw))
		return nil
	}
	switch e.Type {
	case "hello":
		if !c.gotHello {
			c.gotHello = true
			c.report(ctx, socketEvent{c: c, change: opened})
		}
	case "disconnect":
		if e.Reason == "link_disabled" || e.Reason == "too_many_websockets" {
			return fmt.Errorf("slack closes the connection: %w", slackgo.SlackErrorResponse{Err: e.Reason})
		}
		c.report(ctx, socketEvent{c: c, change: leaving})
	case kindEvent, kindCommand, kindInteraction:
		c.deliver(ctx, e)
	default:
		c.s.log.InfoContext(ctx, "slack: envelope of an unknown type skipped", "type", e.Type)
		c.acknowledge(e.ID)
	}
	return nil
}

func (c *connection) deliver(ctx context.Context, e envelope) {
	arrivals, err := c.s.decode(e.Type, e.Payload)
	if err != nil {
		c.s.log.WarnContext(ctx, "slack: unreadable delivery skipped", "type", e.Type, "cause", err)
	}
	if len(arrivals) == 0 {
		c.acknowledge(e.ID)
		return
	}
	if !c.in.enqueue(delivery{arrivals, e.Type, func() { c.acknowledge(e.ID) }}) {
		c.s.log.WarnContext(ctx, "slack: queue full, the delivery will come again", "type", e.Type)
	}
}

// decode reads a payload. No inbound and no error: it does not concern the bot.
func (s *Slack) decode(kind string, payload []byte) ([]inbound, error) {
	me := s.identity.Load()
	if me == nil {
		return nil, fmt.Errorf("reading %s: not connected yet", kind)
	}
	var arrivals []inbound
	var err error
	switch kind {
	case kindEvent:
		if arrivals, err = decodeEvent(*me, payload); len(arrivals) == 0 && revokes(payload) {
			s.background.add(s.check)
		}
	case kindCommand:
		var a inbound
		if a, err = decodeCommand(s.config.Commands, s.people.name, payload); err == nil {
			arrivals = []inbound{a}
		}
	case kindInteraction:
		arrivals, err = decodeInteraction(*me, payload)
	}
	convertTexts(*me, s.people.name, s.now(), arrivals)
	for i := range arrivals {
		a := &arrivals[i]
		a.responseURL, a.message.Token = s.config.answerAddress(a.responseURL), s.config.answerAddress(a.message.Token)
	}
	return arrivals, err
}

// acknowledge tells Slack not to deliver again. When the connection is closed
// already, Slack delivers again, which does no harm.
func (c *connection) acknowledge(id string) {
	if id == "" {
		return
	}
	failpoint.Hit("slack.before.ack")
	defer failpoint.Hit("slack.after.ack")
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = c.ws.SetWriteDeadline(time.Now().Add(writeTimeout))
	_ = c.ws.WriteJSON(struct {
		ID string `json:"envelope_id"`
	}{id})
}

// maxID is more bytes than the id of an envelope has.
const maxID = 200

var idShape = regexp.MustCompile(`"envelope_id"\s*:\s*"([^"\\]+)"`)

// findID looks for the id in an envelope that is not JSON.
func findID(raw []byte) string {
	if found := idShape.FindSubmatch(raw); found != nil && len(found[1]) <= maxID {
		return string(found[1])
	}
	return ""
}
