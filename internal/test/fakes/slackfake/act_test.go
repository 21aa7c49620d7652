package slackfake_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slack-go/slack"

	"legwork/internal/test/fakes/slackfake"
)

// events are the events that the app got since from, one line each.
func events(t *testing.T, s *slackfake.Server, from int) string {
	t.Helper()
	var lines []string
	for _, d := range s.Deliveries()[from:] {
		var payload struct {
			Shared bool `json:"is_ext_shared_channel"`
			Event  map[string]any
		}
		if err := json.Unmarshal(d.Payload, &payload); err != nil {
			t.Fatal(err)
		}
		line := d.Name
		for _, name := range []string{"subtype", "channel_type", "user", "text", "source_team", "bot_id"} {
			if value, set := payload.Event[name]; set {
				line += fmt.Sprintf(" %s=%v", name, value)
			}
		}
		if payload.Shared {
			line += " shared"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestEvents(t *testing.T) {
	tests := []struct {
		name string
		do   func(s *slackfake.Server)
		want string
	}{
		{"a message", func(s *slackfake.Server) { s.Say("C1", "U1", "hi", "") }, "message channel_type=channel user=U1 text=hi"},
		{"a mention", func(s *slackfake.Server) { s.Say("C5", "U1", "<@UBOT> hi", "") }, "message channel_type=group user=U1 text=<@UBOT> hi\napp_mention user=U1 text=<@UBOT> hi"},
		{"a direct message", func(s *slackfake.Server) { s.Say("DU1", "U1", "<@UBOT> hi", "") }, "message channel_type=im user=U1 text=<@UBOT> hi"},
		{"where the app is not", func(s *slackfake.Server) { s.Say("C2", "U1", "<@UBOT> hi", "") }, ""},
		{"a stranger", func(s *slackfake.Server) { s.Say("C4", "U4", "hi", "") }, "message channel_type=channel user=U4 text=hi source_team=T2 shared"},
		{"somebody joined", func(s *slackfake.Server) { s.Noise("C1", "channel_join", "U2", "joined") }, "message subtype=channel_join channel_type=channel user=U2 text=joined"},
		{"another bot", func(s *slackfake.Server) { s.Noise("C1", "bot_message", "ci", "built") }, "message subtype=bot_message channel_type=channel text=built bot_id=B9"},
		{"home", func(s *slackfake.Server) { s.OpenHome("U1") }, "app_home_opened user=U1"},
		{"the app joined", func(s *slackfake.Server) { s.Join("C2", slackfake.BotUser) }, "member_joined_channel channel_type=C user=UBOT"},
		{"something new", func(s *slackfake.Server) { s.Event("C1", "novelty", map[string]any{"user": "U1"}) }, "novelty user=U1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := slackfake.New(t, slackfake.Options{})
			test.do(s)
			if got := events(t, s, 0); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestMentionHasTwoEventsOfOneMessage(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{})
	ts := s.Say("C1", "U1", "<@UBOT> hi", "")
	list := s.Deliveries()
	if len(list) != 2 || list[0].ID == list[1].ID {
		t.Fatalf("got %+v, want two events with ids of their own", list)
	}
	for _, d := range list {
		if !strings.Contains(string(d.Payload), `"ts":"`+ts+`"`) {
			t.Errorf("%s has another ts than %s: %s", d.Name, ts, d.Payload)
		}
	}
}

func TestEventsOfOwnMessages(t *testing.T) {
	for quiet, want := range map[bool]string{
		false: "message channel_type=channel user=UBOT text=hi bot_id=B1\nmessage subtype=message_changed channel_type=channel\nmessage subtype=message_deleted channel_type=channel",
		true:  "",
	} {
		s := slackfake.New(t, slackfake.Options{Quiet: quiet})
		ts := must(t, s, "chat.postMessage", "channel", "C1", "text", "hi").TS
		must(t, s, "chat.update", "channel", "C1", "ts", ts, "text", "ho")
		must(t, s, "chat.delete", "channel", "C1", "ts", ts)
		if got := events(t, s, 0); got != want {
			t.Errorf("quiet %v got\n%s\nwant\n%s", quiet, got, want)
		}
	}
}

func TestEditedAndDeleted(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{})
	asked := s.Say("C1", "U1", "hi", "")
	reply := s.Say("C1", "U2", "yes?", asked)
	if err := s.Edit("C1", asked, "hello"); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete("C1", reply); err != nil {
		t.Fatal(err)
	}
	list := s.Deliveries()
	var changed struct {
		Event struct {
			Message, Previous struct{ Text, TS string }
			Deleted           string `json:"deleted_ts"`
		}
	}
	if err := json.Unmarshal(list[2].Payload, &changed); err != nil || changed.Event.Message.Text != "hello" || changed.Event.Message.TS != asked {
		t.Errorf("got %s, %v, want the new text", list[2].Payload, err)
	}
	if err := json.Unmarshal(list[3].Payload, &changed); err != nil || changed.Event.Deleted != reply {
		t.Errorf("got %s, %v, want %s deleted", list[3].Payload, err, reply)
	}
	if err := s.Edit("C1", reply, "no"); err == nil {
		t.Error("edited what was deleted")
	}
}

// app is a small one with webhooks; it answers as it is told.
type app struct {
	url    string
	mu     sync.Mutex
	answer func(n int, w http.ResponseWriter)
	seen   []*http.Request
	bodies []string
}

func newApp(t *testing.T, answer func(n int, w http.ResponseWriter)) *app {
	t.Helper()
	a := &app{answer: answer}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	a.url = server.URL
	return a
}

func (a *app) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	verifier, err := slack.NewSecretsVerifier(r.Header, slackfake.SigningSecret)
	if err == nil {
		_, _ = verifier.Write(body)
		err = verifier.Ensure()
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	if strings.Contains(string(body), "url_verification") {
		var asked struct{ Challenge string }
		_ = json.Unmarshal(body, &asked)
		_, _ = fmt.Fprint(w, asked.Challenge)
		return
	}
	a.mu.Lock()
	n := len(a.seen)
	a.seen, a.bodies = append(a.seen, r), append(a.bodies, string(body))
	a.mu.Unlock()
	a.answer(n, w)
}

func TestWebhooks(t *testing.T) {
	a := newApp(t, func(int, http.ResponseWriter) {})
	s := slackfake.New(t, slackfake.Options{App: a.url, Quiet: true})
	if err := s.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	for i := range 3 {
		s.Say("C1", "U1", fmt.Sprint("hi ", i), "")
	}
	if _, err := s.Slash("/task", "do & it", "C1", "U1"); err != nil {
		t.Fatal(err)
	}
	posted := must(t, s, "chat.postMessage", "channel", "C1", "text", "a", "blocks", button(`,"value":"v & w"`)).TS
	if _, err := s.Press("C1", posted, "Stop", "U1"); err != nil {
		t.Fatal(err)
	}
	ts := s.Say("C1", "U1", "last", "")
	until(t, s, "all acknowledgements", s.Settled)
	for i := range 3 {
		if !strings.Contains(a.bodies[i], fmt.Sprint("hi ", i)) || a.seen[i].URL.Path != "/slack/events" {
			t.Errorf("call %d was %s %s, want the messages in order", i, a.seen[i].URL, a.bodies[i])
		}
	}
	form, err := url.ParseQuery(a.bodies[3])
	if err != nil || form.Get("text") != "do & it" || form.Get("channel_id") != "C1" || a.seen[3].URL.Path != "/slack/commands" {
		t.Errorf("got %s %s, want the command", a.seen[3].URL, a.bodies[3])
	}
	form, err = url.ParseQuery(a.bodies[4])
	if err != nil || !strings.Contains(form.Get("payload"), `"value":"v \u0026 w"`) || a.seen[4].URL.Path != "/slack/interactions" {
		t.Errorf("got %s %s, want the press", a.seen[4].URL, a.bodies[4])
	}
	if !strings.Contains(a.bodies[5], ts) {
		t.Errorf("got %s, want %s", a.bodies[5], ts)
	}
}

func TestWebhookRetries(t *testing.T) {
	tests := []struct {
		name   string
		answer func(n int, w http.ResponseWriter)
		want   []string // Retry-Num and Retry-Reason of each call
		lost   bool
	}{
		{"refused once", func(n int, w http.ResponseWriter) {
			if n == 0 {
				w.WriteHeader(http.StatusInternalServerError)
			}
		}, []string{" ", "1 http_error"}, false},
		{"cut", func(n int, _ http.ResponseWriter) {
			if n < 2 {
				panic(http.ErrAbortHandler)
			}
		}, []string{" ", "1 connection_failed", "2 connection_failed"}, false},
		{"never", func(_ int, w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }, []string{" ", "1 http_error", "2 http_error", "3 http_error"}, true},
		{"asked not to", func(_ int, w http.ResponseWriter) {
			w.Header().Set("X-Slack-No-Retry", "1")
			w.WriteHeader(http.StatusBadGateway)
		}, []string{" "}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := newApp(t, test.answer)
			s := slackfake.New(t, slackfake.Options{App: a.url, Second: 100 * time.Millisecond, Retries: []time.Duration{0, time.Millisecond, time.Millisecond}})
			s.Say("C1", "U1", "hi", "")
			until(t, s, "the end", s.Settled)
			var got []string
			for _, r := range a.seen {
				got = append(got, r.Header.Get("X-Slack-Retry-Num")+" "+r.Header.Get("X-Slack-Retry-Reason"))
			}
			if strings.Join(got, "\n") != strings.Join(test.want, "\n") || s.Deliveries()[0].Lost != test.lost {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestSlowWebhookTimesOut(t *testing.T) {
	var hold sync.WaitGroup
	hold.Add(1)
	a := newApp(t, func(n int, _ http.ResponseWriter) {
		if n == 0 {
			hold.Wait()
		}
	})
	s := slackfake.New(t, slackfake.Options{App: a.url, Second: 20 * time.Millisecond})
	s.Say("C1", "U1", "hi", "")
	until(t, s, "the second attempt", s.Settled)
	hold.Done()
	if got := a.seen[1].Header.Get("X-Slack-Retry-Reason"); got != "http_timeout" {
		t.Errorf("got the reason %q, want http_timeout", got)
	}
}

func TestForgery(t *testing.T) {
	a := newApp(t, func(int, http.ResponseWriter) {})
	s := slackfake.New(t, slackfake.Options{App: a.url})
	body := []byte(`{"type":"event_callback"}`)
	tests := []struct {
		name   string
		header http.Header
		want   int
	}{
		{"good", slackfake.Sign(slackfake.SigningSecret, time.Now(), body), http.StatusOK},
		{"forged", slackfake.Sign("another", time.Now(), body), http.StatusUnauthorized},
		{"stale", slackfake.Sign(slackfake.SigningSecret, time.Now().Add(-6*time.Minute), body), http.StatusUnauthorized},
		{"unsigned", http.Header{}, http.StatusUnauthorized},
	}
	for _, test := range tests {
		response, text, err := s.Knock(t.Context(), a.url+"/slack/events", test.header, body)
		if err != nil || response.StatusCode != test.want {
			t.Errorf("%s got %v %s, %v, want %d", test.name, response, text, err, test.want)
		}
	}
}
