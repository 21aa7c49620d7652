package e2e_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/telegramfake"
)

// unready waits until /readyz says that Telegram is at fault, and why.
func (s *serving) unready(why string) {
	s.t.Helper()
	s.becomes("not ready: "+why, patience, func(r readiness) bool {
		return r.Code == http.StatusServiceUnavailable && strings.Contains(r.Parts["telegram"], why) && !strings.Contains(r.Parts["telegram"], "127.0.0.1") && r.Parts["store"] == "ok"
	})
	if code, body := s.get("/healthz"); code != http.StatusOK || body != "ok" {
		s.t.Errorf("/healthz meanwhile: got %d %q, want 200", code, body)
	}
}

// TestTelegramDown: what people write while the platform is down is answered
// afterwards, and so is what was being answered, once.
func TestTelegramDown(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{haste: 10, options: options{think: talks()}})
	s := b.opens()
	group := b.group(b.Supergroup("Friends", b.bob))
	b.Say(b.bob.ID, b.bob, words)
	b.Say(group, b.bob, "/task "+words)
	b.offers(group, "Stop")
	b.Fail(telegramfake.Fault{Kind: telegramfake.FaultDown, Count: telegramfake.Forever})
	s.unready("no connection to Telegram")
	b.Say(b.ann.ID, b.ann, "q2: are you there?")
	b.until("some tries", func(v telegramfake.View) bool {
		tries := 0
		for _, e := range v.Log() {
			if e.Fault == telegramfake.FaultDown && e.Method == "getUpdates" {
				tries++
			}
		}
		return tries >= 4
	})
	b.Heal()
	b.once(b.ann.ID, "[q2] answers")
	b.once(b.bob.ID, "[q1] answers: "+words)
	b.once(group, "[q1] answers: "+words)
	s.readyAgain(patience)
	b.goesOn(b.bob)
	if tries := len(b.Log()); tries > 400 {
		t.Errorf("got %d requests, want pauses between tries", tries)
	}
}

// TestTelegramRevoked: a token that is refused makes legwork say so, in /readyz
// and the log, and a valid one again lets it go on by itself.
func TestTelegramRevoked(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{haste: 60})
	s := b.opens()
	b.goesOn(b.bob)
	b.Fail(telegramfake.Fault{Kind: telegramfake.FaultRevoked, Count: telegramfake.Forever})
	b.until("the end of a poll", func(v telegramfake.View) bool {
		for _, e := range v.Log() {
			if e.Fault == telegramfake.FaultRevoked {
				return true
			}
		}
		return false
	})
	s.unready("the token is refused; set telegram.token")
	s.logged("level=WARN", "the token is refused")
	b.Say(b.bob.ID, b.bob, "q1: meanwhile")
	b.Heal()
	b.once(b.bob.ID, "[q1] answers")
	s.readyAgain(patience)
}

// TestTelegramRevokedFromTheStart: a wrong token does not end the process.
func TestTelegramRevokedFromTheStart(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{haste: 60})
	b.Fail(telegramfake.Fault{Kind: telegramfake.FaultRevoked, Count: telegramfake.Forever})
	s := b.serve(telegramToken)
	s.unready("the token is refused")
	b.Say(b.bob.ID, b.bob, "q1: meanwhile")
	b.Heal()
	b.once(b.bob.ID, "[q1] answers")
	s.readyAgain(patience)
	s.stops()
}

// TestTelegramRates: rate limits in the middle of a stream cost frames, and
// never the answer; other chats go on.
func TestTelegramRates(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: options{think: talks()}})
	b.opens()
	group := b.group(b.Supergroup("Friends", b.bob))
	b.Say(b.bob.ID, b.bob, words)
	b.Say(group, b.bob, "/task "+words)
	b.offers(group, "Stop")
	b.until("a draft with words", func(v telegramfake.View) bool {
		drafts := v.Chat(b.bob.ID).Drafts
		return len(drafts) > 0 && drafts[0].Text != ""
	})
	for _, f := range []telegramfake.Fault{
		{Method: "sendMessageDraft", Chat: b.bob.ID},
		{Method: "sendMessage", Chat: b.bob.ID, RetryAfter: 2},
		{Method: "editMessageText", Chat: group, RetryAfter: 2, Count: 2},
	} {
		f.Kind = telegramfake.FaultBusy
		b.Fail(f)
	}
	b.Say(b.ann.ID, b.ann, "/status")
	b.sees(b.ann.ID, b.says("statusline.none", nil))
	if b.count(b.bob.ID, "[q1] answers") > 0 {
		t.Error("the other chat had to wait for the busy one")
	}
	b.once(b.bob.ID, "[q1] answers: "+words)
	b.once(group, "[q1] answers: "+words)
}

// TestTelegramFlakyNetwork: whatever happens to single requests, each question
// gets its answer; only where it cannot be known whether a message was sent
// may it come twice.
func TestTelegramFlakyNetwork(t *testing.T) {
	t.Parallel()
	for kind, most := range map[string]int{
		telegramfake.FaultDropBefore: 1, telegramfake.FaultError: 1, telegramfake.FaultDropAfter: 2,
		telegramfake.FaultGarbage: 2, telegramfake.FaultHalf: 2, telegramfake.FaultDelayAfter: 1,
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := newTelegramEnv(t, telegramOptions{})
			b.opens()
			group := b.group(b.Supergroup("Friends", b.bob))
			for _, method := range []string{"getUpdates", "sendMessage", "editMessageText", "sendMessageDraft"} {
				b.Fail(telegramfake.Fault{Kind: kind, Method: method, Delay: 300 * time.Millisecond})
			}
			b.Say(b.bob.ID, b.bob, "q1: hello")
			b.sees(b.bob.ID, "[q1] answers")
			b.until("the second try, or it would meet the next fault", func(v telegramfake.View) bool {
				n := 0
				for _, m := range v.Chat(b.bob.ID).Bots() {
					if holdsAll(m.Text, []string{"[q1] answers"}) {
						n++
					}
				}
				return n >= most
			})
			b.Fail(telegramfake.Fault{Kind: kind, Method: "sendMessage", Delay: 300 * time.Millisecond})
			b.Say(group, b.bob, "/task q2: desk alpha; desk beta")
			b.sees(group, "[q2]", "value of q2 desk alpha")
			b.passes()
			if n, m := b.count(b.bob.ID, "[q1] answers"), b.count(group, "[q2]", "value of q2 desk beta"); n > most || m > most {
				t.Errorf("got the answers %d and %d times, want at most %d", n, m, most)
			}
			b.goesOn(b.bob)
		})
	}
}

// TestTelegramRefused: a person who blocked the bot, a chat that was
// deleted or threw it out costs its own answer and nothing else.
func TestTelegramRefused(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: options{think: talks()}})
	s := b.opens()
	kicked, deleted := b.group(b.Supergroup("Kicked", b.bob)), b.group(b.Group("Deleted", b.bob))
	b.Say(b.bob.ID, b.bob, "q1: hello")
	b.Say(kicked, b.bob, "/task q2: hello")
	b.Say(deleted, b.bob, "/task q3: hello")
	b.offers(kicked, "Stop")
	b.offers(deleted, "Stop")
	b.Block(b.bob)
	b.KickBot(kicked, b.ann)
	b.DeleteChat(deleted)
	s.until("three answers that cannot be shown", func() bool {
		return strings.Count(s.err.String(), "outcome not shown") == 3
	})
	b.goesOn(b.ann)
	b.Unblock(b.bob)
	b.AddBot(kicked, b.ann)
	b.goesOn(b.bob)
	b.Say(b.bob.ID, b.bob, "/history")
	b.sees(b.bob.ID, "q1: hello →", "later")
	b.Say(kicked, b.bob, "/task q4: hello again")
	b.once(kicked, "[q4] answers")
}

// TestTelegramMigrated: a group that becomes a supergroup keeps its history, and
// what was asked before is answered there.
func TestTelegramMigrated(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: options{think: func(r llmfake.Request) llmfake.Response {
		return llmfake.Brain{First: 500 * time.Millisecond}.Respond(r)
	}}})
	b.opens()
	group := b.group(b.Group("Friends", b.bob))
	b.Say(group, b.bob, "/task q1: my number is 4711")
	b.once(group, "[q1] answers")
	b.Say(group, b.bob, "/task q2: asked before the move")
	b.offers(group, "Stop")
	moved := b.group(b.Migrate(group))
	b.once(moved, "[q2] answers: q2: asked before the move")
	b.Say(moved, b.bob, "/history@legwork_bot")
	b.sees(moved, "my number is 4711", "asked before the move")
	b.Say(moved, b.bob, "/task q3: and what was it?")
	b.once(moved, "[q3] answers")
	if asked := b.asked("q3: and what was it?"); !strings.Contains(prompt(asked[0]), "4711") {
		t.Errorf("the prompt after the move holds nothing of before: %.2000s", prompt(asked[0]))
	}
}

// TestTelegramSecondPoller: while another program polls with the same token,
// legwork says so and leaves it alone; afterwards it goes on.
func TestTelegramSecondPoller(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{fake: telegramfake.Options{Pollers: 2}})
	s := b.opens()
	other := func() {
		t.Helper()
		response, err := http.PostForm(b.URL+"/bot"+telegramToken+"/getUpdates", url.Values{"timeout": {"1"}})
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}
	b.until("a poll of legwork's", telegramfake.View.Polling)
	other()
	s.unready("another program receives this bot's messages")
	s.logged("level=WARN", "another program receives this bot's messages")
	b.Say(b.bob.ID, b.bob, "q1: hello")
	b.once(b.bob.ID, "[q1] answers")
	s.readyAgain(patience)
}
