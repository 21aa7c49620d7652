package slackfake

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

const (
	maxSockets = 10
	maxAck     = 20 << 10
	pingGap    = 5 * time.Second
	warningGap = 10 * time.Second // from the warning of a refresh to the refresh
)

// socket is one connection of Socket Mode.
type socket struct {
	number int
	conn   *websocket.Conn
	closed chan struct{}
	wake   chan struct{} // has room for one
	out    []any         // JSON values to be written, raw if []byte; under the server's lock
	leave  bool          // close soon after out was written
	going  bool          // a refresh was requested: no more deliveries
	deaf   bool          // reads and writes nothing that matters
	mute   bool          // answers no pings either
}

func (s *delivery) openConnection(c call) (answer, *refusal) {
	ticket := fmt.Sprintf("%016x", rand.Uint64())
	s.tickets[ticket] = true
	return answer{"url": "ws" + strings.TrimPrefix(s.URL, "http") + "/socket?ticket=" + ticket + "&app_id=" + AppID}, nil
}

func (s *delivery) serveSocket(w http.ResponseWriter, r *http.Request) {
	ticket := r.URL.Query().Get("ticket")
	s.mu.Lock()
	good := s.tickets[ticket]
	delete(s.tickets, ticket)
	down := s.fault("socket")
	s.mu.Unlock()
	if down != nil {
		panic(http.ErrAbortHandler)
	}
	if !good {
		http.Error(w, "the ticket is unknown or used", http.StatusForbidden)
		return
	}
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // it has answered
	}
	sock := &socket{conn: conn, closed: make(chan struct{}), wake: make(chan struct{}, 1)}
	s.welcome(sock)
	written := make(chan struct{})
	go func() {
		defer close(written)
		s.writeSocket(sock)
	}()
	s.readSocket(sock)
	s.forget(sock)
	<-written
}

// welcome says hello, or that there are too many, and hands over what waited.
func (s *delivery) welcome(sock *socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	sock.number = s.seq
	if len(s.sockets) >= maxSockets {
		sock.dismiss("too_many_websockets")
		return
	}
	if s.shy > 0 {
		s.shy--
		return
	}
	s.sockets = append(s.sockets, sock)
	s.note(Entry{Event: EventConnect, Socket: sock.number})
	sock.push(map[string]any{
		"type": "hello", "num_connections": len(s.sockets), "connection_info": map[string]any{"app_id": AppID},
		"debug_info": map[string]any{"host": "applink-1", "build_number": 1, "approximate_connection_time": 18060},
	})
	waiting := s.waiting
	s.waiting = nil
	for _, a := range waiting {
		if s.byEnvelope[a.envelope] == a {
			s.transmit(a)
		}
	}
}

// transmit gives an attempt to any connection, or lets it wait for one. The
// caller holds the lock.
func (s *delivery) transmit(a *attempt) {
	s.byEnvelope[a.envelope] = a
	a.sent = time.Now()
	usable := slices.DeleteFunc(slices.Clone(s.sockets), func(sock *socket) bool { return sock.going })
	if len(usable) == 0 {
		s.waiting = append(s.waiting, a)
		return
	}
	a.socket = usable[rand.IntN(len(usable))]
	envelope := map[string]any{
		"envelope_id": a.envelope, "type": a.d.Kind, "payload": a.d.Payload, "accepts_response_payload": a.d.Kind != KindEvent,
	}
	if a.d.Kind == KindEvent {
		envelope["retry_attempt"], envelope["retry_reason"] = a.n, a.reason
	}
	a.socket.push(envelope)
	s.note(Entry{Event: EventDeliver, Method: a.d.Name, EventID: a.d.ID, Envelope: a.envelope, Attempt: a.n, Socket: a.socket.number})
}

// push queues what is to be written. The caller holds the server's lock.
func (sock *socket) push(v any) {
	sock.out = append(sock.out, v)
	select {
	case sock.wake <- struct{}{}:
	default:
	}
}

// dismiss says why, and closes when the client had time to acknowledge what it
// has. The caller holds the server's lock.
func (sock *socket) dismiss(reason string) {
	sock.going, sock.leave = true, true
	sock.push(disconnect(reason))
}

func disconnect(reason string) map[string]any {
	return map[string]any{"type": "disconnect", "reason": reason, "debug_info": map[string]any{"host": "applink-1"}}
}

// writeSocket writes until the connection is closed; it is its only writer.
func (s *delivery) writeSocket(sock *socket) {
	defer func() { _ = sock.conn.Close() }()
	ping := time.NewTicker(max(s.span(pingGap), 50*time.Millisecond))
	defer ping.Stop()
	for {
		pinging := false
		select {
		case <-sock.closed:
			return
		case <-s.done:
			return
		case <-ping.C:
			pinging = true
		case <-sock.wake:
		}
		s.mu.Lock()
		out, leave := sock.out, sock.leave
		sock.out = nil
		if sock.deaf && !leave {
			out = nil
		}
		pinging = pinging && !sock.mute
		s.mu.Unlock()
		if err := sock.write(out, pinging); err != nil {
			return
		}
		if leave {
			s.linger(sock.closed, s.span(patience)) // for acknowledgements on the way
			return
		}
	}
}

func (sock *socket) write(out []any, ping bool) error {
	_ = sock.conn.SetWriteDeadline(time.Now().Add(10 * time.Second))
	for _, v := range out {
		var err error
		if raw, is := v.([]byte); is {
			err = sock.conn.WriteMessage(websocket.TextMessage, raw)
		} else {
			err = sock.conn.WriteJSON(v)
		}
		if err != nil {
			return err
		}
	}
	if ping {
		return sock.conn.WriteMessage(websocket.PingMessage, []byte("Ping from applink-1"))
	}
	return nil
}

// readSocket takes acknowledgements until the connection is closed.
func (s *delivery) readSocket(sock *socket) {
	pong := sock.conn.PingHandler()
	sock.conn.SetPingHandler(func(text string) error {
		s.mu.Lock()
		mute := sock.mute
		s.mu.Unlock()
		if mute {
			return nil
		}
		return pong(text)
	})
	for {
		_, text, err := sock.conn.ReadMessage()
		if err != nil {
			return
		}
		s.mu.Lock()
		if !sock.deaf {
			s.takeAck(sock, text)
		}
		s.mu.Unlock()
	}
}

// takeAck reads an acknowledgement. The caller holds the lock.
func (s *delivery) takeAck(sock *socket, text []byte) {
	var ack struct {
		Envelope string          `json:"envelope_id"`
		Payload  json.RawMessage `json:"payload"`
	}
	err := json.Unmarshal(text, &ack)
	a := s.byEnvelope[ack.Envelope]
	switch {
	case err != nil || ack.Envelope == "":
		s.violate("socket: a message that is no acknowledgement: %.200s", text)
	case len(text) >= maxAck:
		s.violate("socket: an acknowledgement of %d bytes is dropped, %d is too many", len(text), maxAck)
	case strings.HasPrefix(ack.Envelope, rawPrefix):
		s.note(Entry{Event: EventAck, Envelope: ack.Envelope, Socket: sock.number, Payload: ack.Payload})
	case a == nil:
		s.note(Entry{Event: EventAck, Envelope: ack.Envelope, Socket: sock.number, Problem: "late, repeated or unknown"})
	case a.socket != sock:
		s.note(Entry{Event: EventAck, Envelope: ack.Envelope, Socket: sock.number, Problem: "on another connection than it came by"})
	default:
		if a.d.Kind == KindEvent && len(ack.Payload) > 0 && string(ack.Payload) != "null" {
			s.violate("socket: an answer in the acknowledgement of an event, which takes none")
		}
		s.acknowledge(a, ack.Payload)
	}
}

// forget takes a closed connection off the list.
func (s *delivery) forget(sock *socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(sock.closed)
	s.sockets = slices.DeleteFunc(s.sockets, func(other *socket) bool { return other == sock })
	s.note(Entry{Event: EventClose, Socket: sock.number})
}

func (s *delivery) closeSockets() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sock := range s.sockets {
		_ = sock.conn.Close()
	}
}

// rawPrefix begins the envelope ids of Raw, whose acknowledgements are only
// written down.
const rawPrefix = "raw-"

// Connections is how many sockets are open, those that are to be closed
// included.
func (s *delivery) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sockets)
}

// Refresh renews all open connections as Slack does every few hours: a warning,
// ten seconds later the request, then the end. It returns at once.
func (s *delivery) Refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := slices.Clone(s.sockets)
	for _, sock := range old {
		sock.push(disconnect("warning"))
	}
	s.busy.Add(1)
	go func() {
		defer s.busy.Done()
		select {
		case <-s.done:
		case <-time.After(s.span(warningGap)):
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, sock := range old {
			sock.dismiss("refresh_requested")
		}
		s.change()
	}()
}

// Disconnect ends all open connections with a reason of Slack's, such as
// "link_disabled" or "refresh_requested"; an empty one cuts them off without a
// word.
func (s *delivery) Disconnect(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sock := range s.sockets {
		sock.going = true
		if reason == "" {
			_ = sock.conn.Close()
			continue
		}
		sock.dismiss(reason)
	}
}

// Deafen lets the connections that are open now stay open and neither deliver
// nor hear anything; deliveries to them are lost. With pings they still ping
// and answer pings. Connections that are opened later hear. Heal undoes it.
func (s *delivery) Deafen(pings bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sock := range s.sockets {
		sock.deaf, sock.mute = true, !pings
	}
}

// Shy lets the next n connections open, answer pings and never say hello.
func (s *delivery) Shy(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shy = n
}

// Heal ends all faults: deafened connections hear, and what was down is up.
// That an app was told to wait is forgotten, as a new life of it knows nothing
// of that. Revoked tokens stay so.
func (s *delivery) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
	for _, sock := range s.sockets {
		sock.deaf, sock.mute = false, false
	}
	for _, w := range s.windows {
		w.closed = time.Time{}
	}
	s.change()
}

// Raw writes a text to one open connection as it is: an envelope of an unknown
// type, or no JSON at all. An %s in it becomes a new envelope id, which is
// returned, and whose acknowledgement Acked tells.
func (s *delivery) Raw(text string) (envelope string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.sockets, func(sock *socket) bool { return !sock.going })
	if i < 0 {
		return "", fmt.Errorf("writing %q: no connection is open", text)
	}
	s.seq++
	envelope = fmt.Sprintf("%s%d", rawPrefix, s.seq)
	if slices.Contains([]byte(text), '%') {
		text = fmt.Sprintf(text, envelope)
	}
	s.sockets[i].push([]byte(text))
	return envelope, nil
}

// Acked reports whether an envelope was acknowledged.
func (s *delivery) Acked(envelope string) bool {
	return slices.ContainsFunc(s.Entries(), func(e Entry) bool { return e.Event == EventAck && e.Envelope == envelope })
}
