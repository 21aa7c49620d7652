package slackfake_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"legwork/internal/test/fakes/slackfake"
)

// dial opens a connection of Socket Mode, up to but without its hello.
func dial(t *testing.T, s *slackfake.Server) *websocket.Conn {
	t.Helper()
	var opened struct{ URL string }
	if err := json.Unmarshal([]byte(call(t, s, "apps.connections.open", "", slackfake.AppToken, "").raw), &opened); err != nil {
		t.Fatal(err)
	}
	conn, response, err := websocket.DefaultDialer.DialContext(t.Context(), opened.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Error(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// envelope is what comes over a socket.
type envelope struct {
	ID      string `json:"envelope_id"`
	Type    string
	Reason  string
	Count   int    `json:"num_connections"`
	Retry   int    `json:"retry_attempt"`
	Why     string `json:"retry_reason"`
	Takes   bool   `json:"accepts_response_payload"`
	Payload struct {
		EventID string `json:"event_id"`
		Event   map[string]any
		Trigger string `json:"trigger_id"`
		Command string
		URL     string `json:"response_url"`
	}
}

func receive(t *testing.T, conn *websocket.Conn) envelope {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	var e envelope
	if err := conn.ReadJSON(&e); err != nil {
		t.Fatalf("reading the socket: %v", err)
	}
	return e
}

func ack(t *testing.T, conn *websocket.Conn, id, payload string) {
	t.Helper()
	text := fmt.Sprintf(`{"envelope_id":%q}`, id)
	if payload != "" {
		text = fmt.Sprintf(`{"envelope_id":%q,"payload":%s}`, id, payload)
	}
	if err := conn.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// connect opens a connection and takes its hello.
func connect(t *testing.T, s *slackfake.Server) *websocket.Conn {
	t.Helper()
	conn := dial(t, s)
	if hello := receive(t, conn); hello.Type != "hello" || hello.Count != s.Connections() {
		t.Fatalf("got %+v, want a hello of %d connections", hello, s.Connections())
	}
	return conn
}

func TestSocketRedelivers(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{Second: time.Millisecond})
	conn := connect(t, s)
	s.Say("C1", "U1", "hello", "")
	seen := map[string]bool{}
	var event string
	for n := range 4 {
		e := receive(t, conn)
		if n == 0 {
			event = e.Payload.EventID
		}
		why := ""
		if n > 0 {
			why = "timeout"
		}
		if seen[e.ID] || e.Retry != n || e.Why != why || e.Payload.EventID != event || e.Takes {
			t.Errorf("attempt %d got %+v, want %s in a new envelope", n, e, event)
		}
		seen[e.ID] = true
	}
	until(t, s, "the end of patience", s.Settled)
	if d := s.Deliveries()[0]; !d.Lost || d.Acked || d.Attempts != 4 {
		t.Errorf("got %+v, want it lost after 4 attempts", d)
	}
}

func TestSocketAcknowledged(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{})
	conn := connect(t, s)
	s.Say("C1", "U1", "hello", "")
	ack(t, conn, receive(t, conn).ID, "")
	until(t, s, "the acknowledgement", s.Settled)
	d := s.Deliveries()[0]
	if !d.Acked || d.Attempts != 1 || d.After <= 0 {
		t.Errorf("got %+v, want it acknowledged at once", d)
	}
	if err := s.Repeat(d.ID); err != nil {
		t.Fatal(err)
	}
	if e := receive(t, conn); e.Payload.EventID != d.ID || e.Retry != 1 {
		t.Errorf("got %+v, want %s again", e, d.ID)
	}
}

func TestSocketWaitsForConnection(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{})
	for i := range 3 {
		s.Say("C1", "U1", fmt.Sprint(i), "")
	}
	conn := connect(t, s)
	for i := range 3 {
		if e := receive(t, conn); e.Payload.Event["text"] != fmt.Sprint(i) {
			t.Errorf("message %d was %+v, want them in order", i, e)
		}
	}
}

func TestSocketViolations(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"no JSON", `ok`, "no acknowledgement"},
		{"no envelope", `{"type":"ping"}`, "no acknowledgement"},
		{"too large", `{"envelope_id":"%s","payload":{"text":"` + strings.Repeat("a", 20<<10) + `"}}`, "dropped"},
		{"answer to an event", `{"envelope_id":"%s","payload":{"text":"a"}}`, "takes none"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := start(t, slackfake.Options{})
			conn := connect(t, s)
			s.Say("C1", "U1", "hello", "")
			text := strings.ReplaceAll(test.text, "%s", receive(t, conn).ID)
			if err := conn.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
				t.Fatal(err)
			}
			until(t, s, "a violation", func() bool { return len(s.Violations()) > 0 })
			if v := s.Violations(); !strings.Contains(v[0], test.want) {
				t.Errorf("got %q, want it to name %q", v, test.want)
			}
		})
	}
}

func TestTicketsAreUsedOnce(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{})
	var opened struct{ URL string }
	if err := json.Unmarshal([]byte(call(t, s, "apps.connections.open", "", slackfake.AppToken, "").raw), &opened); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{http.StatusSwitchingProtocols, http.StatusForbidden} {
		conn, response, err := websocket.DefaultDialer.DialContext(t.Context(), opened.URL, nil)
		if response == nil || response.StatusCode != want {
			t.Fatalf("got %+v, %v, want %d", response, err, want)
		}
		if conn != nil {
			t.Cleanup(func() { _ = conn.Close() })
		}
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestElevenSockets(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{})
	for range 10 {
		connect(t, s)
	}
	if e := receive(t, dial(t, s)); e.Type != "disconnect" || e.Reason != "too_many_websockets" {
		t.Errorf("the eleventh got %+v, want too_many_websockets", e)
	}
	if s.Connections() != 10 {
		t.Errorf("got %d connections, want 10", s.Connections())
	}
}

func TestEveryPayloadGoesToOneSocket(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{})
	conns := []*websocket.Conn{connect(t, s), connect(t, s)}
	texts := make(chan string)
	for _, conn := range conns {
		go func() {
			for {
				var e envelope
				if conn.ReadJSON(&e) != nil {
					return
				}
				_ = conn.WriteJSON(map[string]string{"envelope_id": e.ID})
				texts <- fmt.Sprint(e.Payload.Event["text"])
			}
		}()
	}
	var got, want []string
	for i := range 40 {
		s.Say("C1", "U1", fmt.Sprintf("%02d", i), "")
		want = append(want, fmt.Sprintf("%02d", i))
	}
	for range 40 {
		got = append(got, <-texts)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want each once", got)
	}
	until(t, s, "all acknowledgements", s.Settled)
	used := map[int]bool{}
	for _, e := range s.Entries() {
		if e.Event == slackfake.EventDeliver {
			used[e.Socket] = true
		}
	}
	if len(used) != 2 {
		t.Errorf("got deliveries over %d connections, want both used", len(used))
	}
}

func TestCommandsAreNotRetried(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{Second: time.Millisecond})
	conn := connect(t, s)
	trigger, err := s.Slash("/task", "do it", "C1", "U1")
	if err != nil {
		t.Fatal(err)
	}
	first := receive(t, conn)
	until(t, s, "the end of patience", s.Settled)
	if d := s.Deliveries()[0]; !d.Lost || d.Attempts != 1 || first.Payload.Trigger != trigger {
		t.Errorf("got %+v and %+v, want it lost after one attempt", d, first)
	}
	if err := s.Repeat(trigger); err != nil {
		t.Fatal(err)
	}
	if again := receive(t, conn); again.Payload.Trigger != trigger || again.ID == first.ID {
		t.Errorf("got %+v, want %s in a new envelope", again, trigger)
	}
	until(t, s, "the end of patience", s.Settled)
}

func TestAcknowledgementOnAnotherConnectionDoesNotCount(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{Second: 20 * time.Millisecond})
	first := connect(t, s)
	s.Say("C1", "U1", "hello", "")
	e := receive(t, first)
	ack(t, connect(t, s), e.ID, "")
	until(t, s, "a note of it", func() bool {
		return slices.ContainsFunc(s.Entries(), func(l slackfake.Entry) bool {
			return l.Envelope == e.ID && l.Problem != "" && l.Event == slackfake.EventAck
		})
	})
	if d := s.Deliveries()[0]; d.Acked {
		t.Errorf("got %+v, want it still open", d)
	}
}

func TestRefresh(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{Second: time.Millisecond})
	old := connect(t, s)
	s.Refresh()
	if e := receive(t, old); e.Type != "disconnect" || e.Reason != "warning" {
		t.Errorf("first got %+v, want a warning", e)
	}
	fresh := dial(t, s)
	if e := receive(t, fresh); e.Type != "hello" { // the old connection may be closed by now: no number is certain
		t.Errorf("the new connection got %+v, want a hello", e)
	}
	if e := receive(t, old); e.Type != "disconnect" || e.Reason != "refresh_requested" {
		t.Errorf("then got %+v, want refresh_requested", e)
	}
	if _, _, err := old.ReadMessage(); err == nil {
		t.Error("the old connection is still open")
	}
	s.Say("C1", "U1", "hello", "")
	if e := receive(t, fresh); e.Payload.Event["text"] != "hello" {
		t.Errorf("the new connection got %+v, want the message", e)
	}
}

func TestUnacknowledgedOfClosedSocketComesAgain(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{})
	old := connect(t, s)
	s.Say("C1", "U1", "hello", "")
	first := receive(t, old)
	fresh := connect(t, s)
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	again := receive(t, fresh)
	if again.Payload.EventID != first.Payload.EventID || again.Retry != 1 || again.Why != "connection_failed" {
		t.Errorf("got %+v, want %s again", again, first.Payload.EventID)
	}
	ack(t, fresh, again.ID, "")
	until(t, s, "the acknowledgement", s.Settled)
}

func TestDeaf(t *testing.T) {
	for _, pings := range []bool{true, false} {
		s := slackfake.New(t, slackfake.Options{Second: 10 * time.Millisecond})
		deaf := connect(t, s)
		s.Deafen(pings)
		ponged, read := make(chan string, 1), make(chan error, 1)
		deaf.SetPongHandler(func(text string) error { ponged <- text; return nil })
		go func() {
			_, text, err := deaf.ReadMessage()
			read <- fmt.Errorf("got %s, %w", text, err)
		}()
		if err := deaf.WriteControl(websocket.PingMessage, []byte("there?"), time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		if pings && <-ponged != "there?" {
			t.Error("got another pong than the ping")
		}
		s.Say("C1", "U1", "hello", "")
		until(t, s, "a timeout", func() bool {
			return slices.ContainsFunc(s.Entries(), func(e slackfake.Entry) bool { return e.Event == slackfake.EventTimeout })
		})
		select {
		case err := <-read:
			t.Errorf("a deaf connection said something: %v", err)
		case text := <-ponged:
			t.Errorf("with pings %v got the pong %q, want none", pings, text)
		default:
		}
		_ = deaf.Close()
		if err := <-read; err == nil {
			t.Error("the closed connection reads on")
		}
		until(t, s, "the end of the deaf connection", func() bool { return s.Connections() == 0 })
		if e := receive(t, connect(t, s)); e.Payload.Event["text"] != "hello" {
			t.Errorf("a new connection got %+v, want the message", e)
		}
	}
}

func TestRaw(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{})
	if _, err := s.Raw("{"); err == nil {
		t.Error("wrote without a connection")
	}
	conn := connect(t, s)
	id, err := s.Raw(`{"type":"novelty","envelope_id":"%s","payload":[1]}`)
	if err != nil {
		t.Fatal(err)
	}
	_, text, err := conn.ReadMessage()
	if want := fmt.Sprintf(`{"type":"novelty","envelope_id":%q,"payload":[1]}`, id); err != nil || string(text) != want {
		t.Fatalf("got %s, %v, want %s", text, err, want)
	}
	if s.Acked(id) {
		t.Error("acknowledged before it was")
	}
	ack(t, conn, id, "")
	until(t, s, "the acknowledgement", func() bool { return s.Acked(id) })
	s.Revoke(slackfake.AppToken, "token_revoked")
	if e := receive(t, conn); e.Reason != "link_disabled" {
		t.Errorf("got %+v, want link_disabled when the token is revoked", e)
	}
	if got := call(t, s, "apps.connections.open", "", slackfake.AppToken, ""); got.Error != "token_revoked" {
		t.Errorf("got %s, want token_revoked", got.raw)
	}
}
