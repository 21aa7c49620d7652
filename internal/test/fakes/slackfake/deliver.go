package slackfake

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// patience is how long Slack waits for an acknowledgement.
const patience = 3 * time.Second

// What a Delivery is, as envelopes of Socket Mode name it.
const (
	KindEvent   = "events_api"
	KindCommand = "slash_commands"
	KindPress   = "interactive"
)

// Delivery is something that the app is told: an event, a command or a press.
// Events that are not acknowledged are told again, commands and presses are
// not, as with Slack; Repeat tells them again all the same.
type Delivery struct {
	ID       string          `json:"id"` // event_id; of commands and presses the trigger_id
	Kind     string          `json:"kind"`
	Name     string          `json:"name"` // "message", "app_mention", "/task", "block_actions"
	Channel  string          `json:"channel,omitempty"`
	Payload  json.RawMessage `json:"payload"`
	Attempts int             `json:"attempts"`
	Acked    bool            `json:"acked"`
	Lost     bool            `json:"lost,omitempty"`   // it was given up
	After    time.Duration   `json:"after,omitempty"`  // from the attempt that was acknowledged to that
	Answer   json.RawMessage `json:"answer,omitempty"` // what the acknowledgement carried
}

// attempt is one try to deliver.
type attempt struct {
	d        *Delivery
	n        int // 0 is the first
	reason   string
	envelope string
	socket   *socket // nil while none is open
	sent     time.Time
	acked    chan struct{}
}

// Deliveries are all so far, in order.
func (s *Server) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Delivery, len(s.deliveries))
	for i, d := range s.deliveries {
		list[i] = *d
	}
	return list
}

// Settled reports whether every delivery was acknowledged or given up.
func (s *Server) Settled() bool {
	return !slices.ContainsFunc(s.Deliveries(), func(d Delivery) bool { return !d.Acked && !d.Lost })
}

// Repeat delivers again what was delivered before, as a retry of Slack's own.
func (s *Server) Repeat(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.deliveries {
		if d.ID == id {
			again := *d
			again.Acked, again.Lost, again.Attempts = false, false, 1
			s.send(&again)
			return nil
		}
	}
	return fmt.Errorf("repeating a delivery: there was none with id %q", id)
}

// send starts to deliver. First attempts reach the app in the order of send.
// The caller holds the lock.
func (s *Server) send(d *Delivery) {
	s.deliveries = append(s.deliveries, d)
	s.change()
	first := s.prepare(d, d.Attempts, "")
	var before, after chan struct{}
	if s.app == "" {
		s.transmit(first)
	} else {
		before, after = s.tails[d.Channel], make(chan struct{})
		s.tails[d.Channel] = after
	}
	s.busy.Add(1)
	go func() {
		defer s.busy.Done()
		if before != nil {
			<-before
		}
		s.pursue(first, after)
	}()
}

// prepare makes an attempt with a new envelope. The caller holds the lock.
func (s *Server) prepare(d *Delivery, n int, reason string) *attempt {
	d.Attempts++
	s.seq++
	a := &attempt{d: d, n: n, reason: reason, envelope: fmt.Sprintf("env-%d", s.seq), acked: make(chan struct{})}
	if d.Attempts > 1 && reason == "" {
		a.reason = "timeout"
	}
	return a
}

// pursue tries until it is acknowledged or given up. first was transmitted
// already if there are sockets. It closes after, if any, when the first
// attempt is over.
func (s *Server) pursue(first *attempt, after chan struct{}) {
	a := first
	for {
		reason, retry := s.attempt(a)
		if after != nil {
			close(after)
			after = nil
		}
		s.mu.Lock()
		if reason == "" {
			s.mu.Unlock()
			return
		}
		s.note(Entry{Event: EventTimeout, Method: a.d.Name, EventID: a.d.ID, Envelope: a.envelope, Attempt: a.n, Problem: reason})
		if a.n >= len(s.o.Retries) || a.d.Kind != KindEvent || !retry || s.closing() {
			a.d.Lost = true
			s.note(Entry{Event: EventLost, Method: a.d.Name, EventID: a.d.ID})
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		select {
		case <-s.done:
		case <-time.After(s.span(s.o.Retries[a.n])):
		}
		s.mu.Lock()
		a = s.prepare(a.d, a.n+1, reason)
		if s.app == "" {
			s.transmit(a)
		}
		s.mu.Unlock()
	}
}

// attempt waits for one attempt's end and says why it failed, if it did, and
// whether another may follow.
func (s *Server) attempt(a *attempt) (reason string, retry bool) {
	s.mu.Lock()
	app := s.app
	s.mu.Unlock()
	if app != "" {
		return s.visit(app, a)
	}
	timer := time.NewTimer(s.span(patience))
	defer timer.Stop()
	for {
		s.mu.Lock()
		sock, changed := a.socket, s.changed
		s.mu.Unlock()
		var closed chan struct{}
		if sock != nil {
			closed, changed = sock.closed, nil
		}
		select {
		case <-a.acked:
			return "", true
		case <-changed: // perhaps it has a socket now
			continue
		case <-closed:
			reason = "connection_failed"
		case <-timer.C:
			reason = "timeout"
		case <-s.done:
			reason = "closed"
		}
		return s.expire(a, reason), true
	}
}

// expire ends an attempt, unless it was acknowledged at the last moment.
func (s *Server) expire(a *attempt, reason string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-a.acked:
		return ""
	default:
	}
	delete(s.byEnvelope, a.envelope)
	return reason
}

// acknowledge ends an attempt well. The caller holds the lock.
func (s *Server) acknowledge(a *attempt, payload json.RawMessage) {
	delete(s.byEnvelope, a.envelope)
	a.d.Acked, a.d.After, a.d.Answer = true, time.Since(a.sent), payload
	number := 0
	if a.socket != nil {
		number = a.socket.number
	}
	s.note(Entry{
		Event: EventAck, Method: a.d.Name, EventID: a.d.ID, Envelope: a.envelope, Attempt: a.n,
		Socket: number, After: a.d.After, Payload: payload,
	})
	close(a.acked)
	if len(payload) > 0 && string(payload) != "null" {
		s.respondAtOnce(a.d, payload)
	}
}
