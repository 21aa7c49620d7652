package slackfake_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"legwork/internal/test/fakes/slackfake"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestTranscript(t *testing.T) {
	at := newClock()
	s := slackfake.New(t, slackfake.Options{AgentView: true, Now: at.Now, Limits: map[string][]slackfake.Limit{}})
	asked := s.Say("C1", "U1", "<@UBOT> when did Go 1.26 come out, and Go 1.25?", "")
	in := []string{"channel", "C1", "thread_ts", asked, "recipient_user_id", "U1", "recipient_team_id", "T1"}
	must(t, s, "agents.sessions.setStatus", "status", "processing", "channel_id", "C1", "thread_ts", asked)
	must(t, s, "assistant.threads.setStatus", "status", "is thinking…", "channel_id", "C1", "thread_ts", asked)
	expect(t, s, "thinking")
	ts := must(t, s, "chat.startStream", append(in, "task_display_mode", "plan", "chunks",
		`[{"type":"plan_update","title":"Working: 1 of 3 done"},
		{"type":"task_update","id":"1","title":"Find the date of Go 1.26","status":"complete","output":"February 2026"},
		{"type":"task_update","id":"2","title":"Find the date of Go 1.25","status":"in_progress","details":"web.fetch"},
		{"type":"task_update","id":"3","title":"Compare both","status":"error"},
		{"type":"markdown_text","text":"So far"}]`)...).TS
	must(t, s, "reactions.add", "channel", "C1", "timestamp", asked, "name", "eyes")
	expect(t, s, "working")
	must(t, s, "chat.stopStream", "channel", "C1", "ts", ts, "chunks", `[{"type":"markdown_text","text":", *good*."}]`, "session_status", "active",
		"blocks", `[{"type":"context","elements":[{"type":"mrkdwn","text":"3 sub-tasks · 12 s"}]},
		{"type":"actions","elements":[{"type":"button","text":{"type":"plain_text","text":"Details"}},{"type":"button","text":{"type":"plain_text","text":"Retry"}}]}]`)
	must(t, s, "chat.postEphemeral", "channel", "C1", "user", "U2", "thread_ts", asked, "text", "Only ann can do that. See <https://x.org|the help>",
		"unfurl_links", "false", "unfurl_media", "false")
	must(t, s, "chat.postMessage", "channel", "C1", "text", "fallback", "blocks", `[{"type":"header","text":{"type":"plain_text","text":"Dates"}},
		{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"a "},{"type":"user","user_id":"U2"}]},
		{"type":"rich_text_list","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"one"}]},{"type":"rich_text_section","elements":[{"type":"text","text":"two"}]}]}]},
		{"type":"divider"},{"type":"table","rows":[[{"type":"raw_text","text":"Go"},{"type":"raw_text","text":"1.26"}]]},
		{"type":"section","text":{"type":"mrkdwn","text":"1 &lt; 2"},"accessory":{"type":"button","text":{"type":"plain_text","text":"Why"}}}]`)
	stream := must(t, s, "chat.startStream", append(in, "markdown_text", "cut")...).TS
	at.Pass(5 * time.Minute)
	if m, _ := s.Message("C1", stream); m.Stream.State != slackfake.StreamExpired {
		t.Errorf("got the state %s", m.Stream.State)
	}
	expect(t, s, "done")
}

// expect compares the transcript of C1 with a golden file.
func expect(t *testing.T, s *slackfake.Server, name string) {
	t.Helper()
	path, got := filepath.Join("testdata", name+".txt"), s.Transcript("C1")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

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
