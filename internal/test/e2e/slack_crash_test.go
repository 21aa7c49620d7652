package e2e_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/slackfake"
	"legwork/internal/test/fakes/telegramfake"
)

// TestSlackEnds: however legwork ends in the middle of tasks, the next one goes
// on, and each is answered once; nothing is left live.
func TestSlackEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*serving){
		"SIGTERM": func(s *serving) { s.stops() },
		"kill -9": func(s *serving) { s.kill() },
	} {
		for mode, http := range map[string]bool{"socket": false, "http": true} {
			t.Run(name+" "+mode, func(t *testing.T) {
				t.Parallel()
				held := newGate(t)
				o := newSlackEnv(t, slackOptions{held: held, http: http})
				s := o.opens()
				thread := o.asks(general, ben, "q1: desk alpha; desk held")
				o.offers(thread, "Stop", "✓ q1 desk alpha", "◐ q1 desk held")
				o.Say(benDM, ben, "q2: desk held", "")
				o.offers(in(benDM), "Stop", "q2 desk held")
				o.slash("/task", "q3: desk held", random, ben)
				held.reachedBy(3)
				o.passes()
				end(s)
				o.Say(annDM, ann, "q4: are you there?", "")
				held.opens()
				o.opens()
				o.offers(thread, "Details", "value of q1 desk alpha", "value of q1 desk held")
				o.answers(in(benDM), "value of q2 desk held")
				o.answers(in(random), "value of q3 desk held")
				o.answers(in(annDM), "answers: q4: are you there?")
				o.sees(thread, "Done: 2 sub-tasks")
				o.sees(in(benDM), "Done: 1 sub-task")
				o.goesOn(ben)
				for words, p := range map[string]place{"value of q1 desk held": thread, "value of q2 desk held": in(benDM), "value of q3 desk held": in(random), "answers: q4:": in(annDM)} {
					if n := o.count(p, words); n != 1 {
						t.Errorf("%d messages hold %q, want one", n, words)
					}
				}
				for _, m := range append(o.said(in(general)), o.said(in(benDM))...) {
					if m.Stream != nil && m.Stream.State == slackfake.StreamLive {
						t.Errorf("a stream was left live: %q", o.Shown(m))
					}
				}
				if n := len(o.calls("lookup")); n != 4 {
					t.Errorf("got %d calls of the tool, want one for each sub-task", n)
				}
			})
		}
	}
}

// TestSlackFoundAgain: an answer that Slack has, and that is not known to have
// been sent, is found by its mark and not sent again.
func TestSlackFoundAgain(t *testing.T) {
	t.Parallel()
	o := newSlackEnv(t, slackOptions{})
	s := o.opens()
	o.Break(slackfake.Fault{Method: "chat.postMessage", Kind: slackfake.FaultDelay, Delay: time.Second})
	thread := o.asks(general, ben, "q1: desk alpha")
	o.until("the answer on its way", func() bool { return len(o.Calls("chat.postMessage")) > 0 })
	s.kill()
	o.Heal()
	o.opens()
	o.sees(thread, "value of q1 desk alpha")
	o.once(thread, "value of q1 desk alpha")
}

// TestBothPlatforms: Telegram and Slack live in one process, and neither holds
// the other up when it is slow, down or limited.
func TestBothPlatforms(t *testing.T) {
	t.Parallel()
	words := llmfake.Brain{PerToken: 10 * time.Millisecond}
	telegram := telegramfake.New(t, telegramfake.Options{Token: telegramToken, NeedSecret: true})
	o := newSlackEnv(t, slackOptions{
		options: options{think: words.Respond, wait: time.Minute, more: telegramKeys(telegram)},
		access:  `{slack: {users: ["U2"]}, telegram: {users: ["2"]}, admins: ["slack:U1"]}`,
	})
	b := &telegramEnv{env: o.env, Server: telegram}
	b.bob = telegram.User(2, "Bob", "en")
	b.chats = []int64{b.Private(b.bob)}
	s := o.serve(append(slackSecrets, telegramToken)...)
	s.readyAgain(patience)
	both := func(round string) {
		t.Helper()
		b.Say(b.bob.ID, b.bob, round+": desk alpha")
		o.Say(benDM, ben, round+": desk alpha", "")
	}
	both("q1")
	b.sees(b.bob.ID, "value of q1 desk alpha")
	o.answers(in(benDM), "value of q1 desk alpha")

	o.Break(slackfake.Fault{Method: "*", Kind: slackfake.FaultDelay, Delay: 12 * time.Second, Count: -1})
	both("q2")
	from := time.Now()
	b.sees(b.bob.ID, "value of q2 desk alpha")
	if took := time.Since(from); took > 10*time.Second {
		t.Errorf("Telegram's answer took %v while Slack is slow", took)
	}
	o.Heal()
	o.answers(in(benDM), "value of q2 desk alpha")

	o.Down()
	s.slackUnready("apps.connections.open")
	if r := s.ready(); r.Parts["telegram"] != "ok" {
		t.Errorf("/readyz while Slack is down: %+v", r)
	}
	b.Say(b.bob.ID, b.bob, "q3: desk alpha")
	b.sees(b.bob.ID, "value of q3 desk alpha")
	o.Heal()
	s.readyAgain(patience)

	b.Fail(telegramfake.Fault{Kind: telegramfake.FaultDown, Count: telegramfake.Forever})
	s.unready("no connection to Telegram")
	o.Say(benDM, ben, "q4: desk alpha", "")
	o.answers(in(benDM), "value of q4 desk alpha")
	telegram.Heal()
	b.Say(b.bob.ID, b.bob, "q5: desk alpha")
	b.sees(b.bob.ID, "value of q5 desk alpha")
	s.stops()
}

func telegramKeys(fake *telegramfake.Server) string {
	return "telegram: {token: \"" + telegramToken + "\", api_url: \"" + fake.URL + "\"}\n"
}

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
			if run == 0 { // each command is acknowledged to Ben alone
				again := func(m slackfake.Message) bool {
					return m.To == ben && o.Shown(m) == o.text("notice.received_already", nil)
				}
				o.meets(in(general), "that the task was received", again)
				o.meets(in(benDM), "that the command was received", again)
				before += 2
			}
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
