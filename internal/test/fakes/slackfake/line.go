package slackfake

import (
	"fmt"
	"slices"
	"time"
)

// rawPrefix begins the envelope ids of Raw, whose acknowledgements are only
// written down.
const rawPrefix = "raw-"

// Connections is how many sockets are open, those that are to be closed
// included.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sockets)
}

// Refresh renews all open connections as Slack does every few hours: a warning,
// ten seconds later the request, then the end. It returns at once.
func (s *Server) Refresh() {
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
func (s *Server) Disconnect(reason string) {
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
// nor hear anything; what is delivered to them is lost. With pings they still
// ping and answer pings. Connections that are opened later hear. Heal undoes it.
func (s *Server) Deafen(pings bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sock := range s.sockets {
		sock.deaf, sock.mute = true, !pings
	}
}

// Shy lets the next n connections open, answer pings and never say hello.
func (s *Server) Shy(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shy = n
}

// Heal ends all faults: what was deafened hears, what was down is up. That an
// app was told to wait is forgotten, as a new life of it knows nothing of that.
// Revoked tokens stay so.
func (s *Server) Heal() {
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
func (s *Server) Raw(text string) (envelope string, err error) {
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
func (s *Server) Acked(envelope string) bool {
	return slices.ContainsFunc(s.Entries(), func(e Entry) bool { return e.Event == EventAck && e.Envelope == envelope })
}
