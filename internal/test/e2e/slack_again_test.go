package e2e_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/internal/test/fakes/slackfake"
)

// TestSlackRedelivery: everything that is delivered again, to the same process
// or to the next one, changes nothing.
func TestSlackRedelivery(t *testing.T) {
	inBothModes(t, func(t *testing.T, r slackOptions) {
		o := newSlackEnv(t, r)
		s := o.opens()
		thread := o.asks(general, ben, "one: hello")
		o.answers(thread, "answers: one: hello")
		o.Say(benDM, ben, "two: hello", "")
		o.answers(in(benDM), "answers: two: hello")
		o.slash("/task", "q3: desk alpha", general, ben)
		answer := o.offers(in(general), "Details", "value of q3 desk alpha")
		o.taps(answer, "Details", ben)
		o.sees(in(general), "1. **q3 desk alpha**")
		o.slash("/legwork", "history", benDM, ben)
		o.sees(in(benDM), "ago: two: hello")
		o.passes()
		seen := func() int {
			return len(o.said(in(general))) + len(o.said(in(benDM)))
		}
		before, asked, all := seen(), len(o.models.Requests()), o.Deliveries()
		for run := range 2 {
			for _, d := range all {
				if run > 0 && d.Kind == slackfake.KindCommand {
					continue // Slack delivers commands once
				}
				if err := o.Repeat(d.ID); err != nil {
					t.Fatal(err)
				}
			}
			o.passes()
			if n, m := seen(), len(o.models.Requests()); n != before || m != asked {
				t.Errorf("after everything was delivered again people see %d messages and the model was called %d times, want %d and %d", n, m, before, asked)
			}
			s.stops()
			s = o.opens()
		}
	})
}

// forgetful is a proxy that loses the answer to the first delivery of each
// event.
func forgetful(t *testing.T, to string) string {
	t.Helper()
	var mu sync.Mutex
	met := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		request, err := http.NewRequestWithContext(r.Context(), r.Method, to+r.URL.Path, strings.NewReader(string(body)))
		if err != nil {
			t.Error(err)
			return
		}
		request.Header = r.Header.Clone()
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer response.Body.Close()
		mu.Lock()
		again := met[string(body)]
		met[string(body)] = true
		mu.Unlock()
		if !again && r.URL.Path == "/slack/events" {
			w.WriteHeader(http.StatusGatewayTimeout)
			return
		}
		w.WriteHeader(response.StatusCode)
		_, _ = io.Copy(w, response.Body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestSlackLostAcknowledgement: an event that was stored and whose answer was
// lost comes again, and is answered once.
func TestSlackLostAcknowledgement(t *testing.T) {
	t.Parallel()
	o := newSlackEnv(t, slackOptions{http: true, fake: slackfake.Options{Retries: []time.Duration{0, 0, 0}}})
	o.opens()
	o.SetApp(forgetful(t, o.front.URL))
	thread := o.asks(general, ben, "one: hello")
	o.once(thread, "answers: one: hello")
	o.Say(benDM, ben, "two: hello", "")
	o.once(in(benDM), "answers: two: hello")
	repeated := 0
	for _, d := range o.Deliveries() {
		if d.Kind == slackfake.KindEvent && d.Attempts > 1 {
			repeated++
		}
	}
	if repeated < 3 { // the question in the channel comes as two events
		t.Errorf("%d events were delivered again, want all that people wrote", repeated)
	}
}

// TestSlackSignatures: a delivery that is not Slack's changes nothing.
func TestSlackSignatures(t *testing.T) {
	t.Parallel()
	o := newSlackEnv(t, slackOptions{http: true})
	s := o.opens()
	if err := o.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	o.Say(benDM, ben, "one: hello", "")
	o.answers(in(benDM), "answers: one: hello")
	o.until("all that was delivered", o.Settled)
	body := []byte(strings.ReplaceAll(string(o.Deliveries()[0].Payload), "one: hello", "two: forged"))
	secret, now := slackSecrets[2], time.Now()
	changed := slackfake.Sign(secret, now, []byte("another body"))
	unsigned := http.Header{}
	unsigned.Set("X-Slack-Request-Timestamp", changed.Get("X-Slack-Request-Timestamp"))
	noTime := slackfake.Sign(secret, now, body)
	noTime.Del("X-Slack-Request-Timestamp")
	for name, header := range map[string]http.Header{
		"forged":             slackfake.Sign("another secret", now, body),
		"of another body":    changed,
		"stale":              slackfake.Sign(secret, now.Add(-6*time.Minute), body),
		"of the future":      slackfake.Sign(secret, now.Add(6*time.Minute), body),
		"without signature":  unsigned,
		"without a time":     noTime,
		"without any header": {},
	} {
		for _, path := range []string{"/slack/events", "/slack/commands", "/slack/interactions"} {
			response, text, err := o.Knock(t.Context(), o.front.URL+path, header.Clone(), body)
			if err != nil || response.StatusCode != http.StatusUnauthorized || strings.Contains(string(text), secret) {
				t.Errorf("%s at %s: got %v, %q, %v, want 401", name, path, response, text, err)
			}
		}
	}
	sound := []byte(o.Deliveries()[0].Payload)
	for range 3 { // replayed within five minutes
		header := slackfake.Sign(secret, now, sound)
		header.Set("Content-Type", "application/json")
		if response, _, err := o.Knock(t.Context(), o.front.URL+"/slack/events", header, sound); err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("replayed: got %v, %v, want 200", response, err)
		}
	}
	for name, garbage := range map[string]string{"nothing": "", "no JSON": "{", "no form": "%zz", "an array": "[]", "a number": "7", "an event without anything": `{"type":"event_callback"}`} {
		for _, path := range []string{"/slack/events", "/slack/commands", "/slack/interactions"} {
			response, text, err := o.Knock(t.Context(), o.front.URL+path, slackfake.Sign(secret, time.Now(), []byte(garbage)), []byte(garbage))
			if err != nil || response.StatusCode != http.StatusOK {
				t.Errorf("%s at %s: got %v, %q, %v, want 200: it would be the same again", name, path, response, text, err)
			}
		}
	}
	if code, _ := s.get("/slack/events"); code != http.StatusMethodNotAllowed && code != http.StatusNotFound {
		t.Errorf("GET /slack/events: got %d", code)
	}
	o.goesOn(ben)
	o.passes()
	if n := o.count(in(benDM), "answers: one: hello"); n != 1 || len(o.asked("two: forged")) > 0 {
		t.Errorf("the question was answered %d times, want once, and what was forged never", n)
	}
}

// TestSlackSlowModel: deliveries are acknowledged soon, whatever the model does.
func TestSlackSlowModel(t *testing.T) {
	inBothModes(t, func(t *testing.T, r slackOptions) {
		r.held = newGate(t)
		o := newSlackEnv(t, r)
		o.opens()
		thread := o.asks(general, ben, "q1: desk held")
		r.held.reached()
		o.slash("/task", "q2: desk held", general, ben)
		o.slash("/legwork", "status", general, ben)
		o.until("the acknowledgements", o.Settled)
		for _, d := range o.Deliveries() {
			if !d.Acked || d.After > time.Second {
				t.Errorf("%s was acknowledged after %v", d.Name, d.After)
			}
		}
		r.held.opens()
		o.answers(thread, "value of q1 desk held")
	})
}
