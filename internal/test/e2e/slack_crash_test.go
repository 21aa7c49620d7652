package e2e_test

import (
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
