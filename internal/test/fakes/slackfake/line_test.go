package slackfake_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"legwork/internal/test/fakes/slackfake"
)

func TestRefresh(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{Second: time.Millisecond})
	old := connect(t, s)
	s.Refresh()
	if e := receive(t, old); e.Type != "disconnect" || e.Reason != "warning" {
		t.Errorf("first got %+v, want a warning", e)
	}
	fresh := connect(t, s)
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
