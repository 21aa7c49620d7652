package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	slackgo "github.com/slack-go/slack"

	"legwork/internal/failpoint"
)

// envelope is what comes over a Socket Mode connection.
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

// receive deals with one message of the connection. What nobody understands is
// acknowledged and logged: Slack would bring it again and again.
func (c *connection) receive(ctx context.Context, raw []byte) error {
	var e envelope
	if err := json.Unmarshal(raw, &e); err != nil {
		c.s.log.WarnContext(ctx, "slack sent what cannot be read", "bytes", len(raw), "cause", err)
		c.acknowledge(findID(raw))
		return nil
	}
	switch e.Type {
	case "hello":
		if !c.greeted {
			c.greeted = true
			c.tell(ctx, news{c: c, what: opened})
		}
	case "disconnect":
		if e.Reason == "link_disabled" || e.Reason == "too_many_websockets" {
			return fmt.Errorf("slack closes the connection: %w", slackgo.SlackErrorResponse{Err: e.Reason})
		}
		c.tell(ctx, news{c: c, what: leaving})
	case kindEvent, kindCommand, kindInteraction:
		c.deliver(ctx, e)
	default:
		c.s.log.InfoContext(ctx, "slack sent an envelope of an unknown type", "type", e.Type)
		c.acknowledge(e.ID)
	}
	return nil
}

func (c *connection) deliver(ctx context.Context, e envelope) {
	arrivals, err := c.s.decode(e.Type, e.Payload)
	if err != nil {
		c.s.log.WarnContext(ctx, "slack sent what cannot be read", "type", e.Type, "cause", err)
	}
	if len(arrivals) == 0 {
		c.acknowledge(e.ID)
		return
	}
	if !c.in.put(delivery{arrivals, func() { c.acknowledge(e.ID) }}) {
		c.s.log.WarnContext(ctx, "too many deliveries wait; slack will bring this one again", "type", e.Type)
	}
}

// decode reads a payload. No arrival and no error: it is nothing for the bot.
func (s *Slack) decode(kind string, payload []byte) ([]arrival, error) {
	me := s.identity.Load()
	if me == nil {
		return nil, fmt.Errorf("reading %s: not connected yet", kind)
	}
	var arrivals []arrival
	var err error
	switch kind {
	case kindEvent:
		if arrivals, err = decodeEvent(*me, payload); len(arrivals) == 0 && revokes(payload) {
			s.later(s.check)
		}
	case kindCommand:
		var a arrival
		if a, err = decodeCommand(s.config.Commands, s.people.name, payload); err == nil {
			arrivals = []arrival{a}
		}
	case kindInteraction:
		arrivals, err = decodePress(payload)
	}
	finish(*me, s.people.name, s.now(), arrivals)
	for i := range arrivals {
		a := &arrivals[i]
		a.hook, a.message.Token = s.config.answered(a.hook), s.config.answered(a.message.Token)
	}
	return arrivals, err
}

// acknowledge tells Slack that it need not deliver again. When the connection
// is closed already it will, which does no harm.
func (c *connection) acknowledge(id string) {
	if id == "" {
		return
	}
	failpoint.Hit("slack.before.ack")
	defer failpoint.Hit("slack.after.ack")
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = c.ws.SetWriteDeadline(time.Now().Add(writeSpan))
	_ = c.ws.WriteJSON(struct {
		ID string `json:"envelope_id"`
	}{id})
}

// maxID is more than the id of an envelope has bytes.
const maxID = 200

var idShape = regexp.MustCompile(`"envelope_id"\s*:\s*"([^"\\]+)"`)

// findID looks for the id in an envelope that is no JSON.
func findID(raw []byte) string {
	if found := idShape.FindSubmatch(raw); found != nil && len(found[1]) <= maxID {
		return string(found[1])
	}
	return ""
}
