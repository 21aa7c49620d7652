package slack_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"legwork/bot"
	"legwork/bot/slack"
	"legwork/internal/test/fakes/slackfake"
)

// httpEnv is an env of mode http. It uses fake and refuse of o.
func httpEnv(t *testing.T, o set) *env {
	t.Helper()
	var h http.Handler
	app := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(w, r) }))
	p := start(t, set{
		fake: o.fake, refuse: o.refuse,
		cfg:    func(c *slack.Config) { c.Mode, c.AppToken = slack.ModeHTTP, "" },
		before: func(s *slack.Slack) { h = s.Handler(); app.Start() },
	}).ready(t)
	t.Cleanup(app.Close)
	p.SetApp(app.URL)
	return p
}

func TestForgedDeliveries(t *testing.T) {
	t.Parallel()
	p := httpEnv(t, set{})
	h := p.s.Handler()
	body := `{"type":"event_callback","team_id":"T1","event_id":"Ev1","event":{"type":"message","channel":"DU1","channel_type":"im","user":"U1","text":"hi","ts":"1700000000.000100"}}`
	now := time.Now()
	sign := func(at time.Time, said string) http.Header {
		return slackfake.Sign(slackfake.SigningSecret, at, []byte(said))
	}
	other := sign(now, body)
	other.Set("X-Slack-Signature", "v0="+strings.Repeat("ab", 32))
	tests := []struct {
		name, path, body string
		header           http.Header
		status           int
		heard            bool
	}{
		{"good", "/slack/events", body, sign(now, body), 200, true},
		{"no signature", "/slack/events", body, http.Header{}, 401, false},
		{"another signature", "/slack/events", body, other, 401, false},
		{"another body", "/slack/events", body + " ", sign(now, body), 401, false},
		{"stale", "/slack/events", body, sign(now.Add(-6*time.Minute), body), 401, false},
		{"from the future", "/slack/events", body, sign(now.Add(6*time.Minute), body), 401, false},
		{"another secret", "/slack/events", body, slackfake.Sign("other", now, []byte(body)), 401, false},
		{"no JSON", "/slack/events", "{{{", sign(now, "{{{"), 200, false},
		{"no form", "/slack/commands", "%zz", sign(now, "%zz"), 200, false},
		{"empty interaction", "/slack/interactions", "payload=", sign(now, "payload="), 200, false},
		{"elsewhere", "/slack/else", body, sign(now, body), 404, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := len(p.got())
			r := httptest.NewRequest(http.MethodPost, test.path, strings.NewReader(test.body))
			for name, values := range test.header {
				r.Header[name] = values
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if heard := len(p.got()) > before; w.Code != test.status || heard != test.heard {
				t.Errorf("%s: status %d, heard %v; want %d, %v", test.body, w.Code, heard, test.status, test.heard)
			}
		})
	}
}

func TestChallenge(t *testing.T) {
	t.Parallel()
	p := httpEnv(t, set{})
	body := `{"type":"url_verification","challenge":"3eZbrw1aB"}`
	r := httptest.NewRequest(http.MethodPost, "/slack/events", strings.NewReader(body))
	r.Header = slackfake.Sign(slackfake.SigningSecret, time.Now(), []byte(body))
	w := httptest.NewRecorder()
	p.s.Handler().ServeHTTP(w, r)
	if w.Code != 200 || w.Body.String() != "3eZbrw1aB" {
		t.Errorf("got %d %q", w.Code, w.Body)
	}
	if err := p.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestUnstoredDelivery(t *testing.T) {
	t.Parallel()
	fails := 0
	refuse := func([]bot.Message) error {
		if fails++; fails <= 2 {
			return errors.New("the disk is full")
		}
		return nil
	}
	soon := []time.Duration{0, 50 * time.Millisecond, 50 * time.Millisecond}
	p := httpEnv(t, set{fake: slackfake.Options{Retries: soon}, refuse: refuse})
	p.Say("DU1", "U1", "one", "")
	p.next(t, 1)
	p.until(t, "the acknowledgement", p.Settled)
	if d := p.Deliveries()[0]; d.Attempts != 3 || fails != 3 {
		t.Errorf("stored in try %d of %d deliveries, want 3 and 3: every retry counts", fails, d.Attempts)
	}
}

// TestOrderOfDeliveries: what takes longer to prepare is not passed by what came
// after it in the same conversation, while others go on.
func TestOrderOfDeliveries(t *testing.T) {
	t.Parallel()
	p := httpEnv(t, set{})
	p.Break(slackfake.Fault{Method: "users.info", Kind: slackfake.FaultDelay, Delay: 500 * time.Millisecond})
	p.Say("DU1", "U1", "one", "")
	p.until(t, "the look-up of the author", func() bool { return lookUps(p) > 0 })
	p.Say("DU1", "U1", "two", "")
	p.Say("DU2", "U2", "elsewhere", "")
	var got []string
	for _, m := range p.next(t, 3) {
		got = append(got, m.Text)
	}
	if want := []string{"elsewhere", "one", "two"}; !slices.Equal(got, want) {
		t.Errorf("the messages came as %q, want %q", got, want)
	}
}

func TestBeforeConnected(t *testing.T) {
	t.Parallel()
	s, err := slack.New(slack.Config{BotToken: "xoxb-1-2-abc", Mode: slack.ModeHTTP, SigningSecret: "secret"}, slack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	body, _ := json.Marshal(map[string]any{"type": "event_callback"})
	r := httptest.NewRequest(http.MethodPost, "/slack/events", strings.NewReader(string(body)))
	r.Header = slackfake.Sign("secret", time.Now(), body)
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusServiceUnavailable || s.Ready() == nil {
		t.Errorf("before Run: status %d, ready %v; want 503 and a reason", w.Code, s.Ready())
	}
}

// TestEndlessAnswers: an answer without an end, packed or not, is given up after
// some megabytes.
func TestEndlessAnswers(t *testing.T) {
	t.Parallel()
	for _, packed := range []bool{false, true} {
		var sent atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			page := []byte(strings.Repeat(" ", 1<<20))
			write := w.Write
			if packed {
				w.Header().Set("Content-Encoding", "gzip")
				z := gzip.NewWriter(w)
				write = z.Write
			}
			for r.Context().Err() == nil && sent.Load() < 1<<30 {
				n, err := write(page)
				if err != nil {
					return
				}
				sent.Add(int64(n))
			}
		}))
		s, err := slack.New(slack.Config{BotToken: "xoxb-1-1-a", AppToken: "xapp-1-A-1-a", APIURL: server.URL + "/"}, slack.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), span)
		began := time.Now()
		_, err = s.Post(ctx, bot.Chat{Platform: slack.Name, ID: "C1"}, bot.Draft{Kind: bot.KindNotice, Text: "hi"})
		cancel()
		server.CloseClientConnections()
		server.Close()
		if err == nil || ctx.Err() == context.DeadlineExceeded && time.Since(began) >= span || sent.Load() >= 1<<30 {
			t.Errorf("packed %v: %v after %v and %d MiB, want it given up early", packed, err, time.Since(began), sent.Load()>>20)
		}
	}
}
