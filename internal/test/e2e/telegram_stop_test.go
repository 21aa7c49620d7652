package e2e_test

import (
	"maps"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/telegramfake"
)

// TestTelegramRestart: a task that was interrupted, cleanly or not, goes on
// after the next start where it was: nothing is looked up twice, and each
// question gets one answer. Messages that were written meanwhile are answered,
// too.
func TestTelegramRestart(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*serving){
		"SIGTERM": func(s *serving) { s.stops() },
		"SIGINT": func(s *serving) {
			s.signal(syscall.SIGINT)
			if code := s.code(); code != 0 {
				s.t.Errorf("got exit code %d, want 0", code)
			}
		},
		"SIGKILL": func(s *serving) { s.kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTelegramEnv(t, works("3000"))
			s := b.opens()
			group := b.group(b.Supergroup("Friends", b.bob))
			b.Say(b.bob.ID, b.bob, "first: a question")
			b.Say(group, b.bob, "/task first: one in a group")
			board := b.working(b.bob.ID)
			b.working(group)
			b.passes() // until the ids of the boards are stored
			end(s)
			b.Say(b.ann.ID, b.ann, "later0: is anybody there?")
			s = b.opens()
			b.once(b.bob.ID, "value of quick", "at last")
			b.once(group, "value of quick", "at last")
			b.once(b.ann.ID, "[later0] answers")
			b.until("both boards folded", func(v telegramfake.View) bool {
				folded := 0
				for _, chat := range []int64{b.bob.ID, group} {
					for _, m := range v.Chat(chat).Bots() {
						if strings.HasPrefix(m.Text, "Done: 2 sub-tasks in ") && len(m.Buttons) == 0 {
							folded++
						}
					}
				}
				return folded == 2
			})
			if n := b.count(b.bob.ID, "first: a question"); n > 0 {
				t.Errorf("%d boards still stand, the first was message %d", n, board.ID)
			}
			if n := len(b.calls("lookup")); n != 2 {
				t.Errorf("got %d lookups, want one for each question", n)
			}
			b.goesOn(b.bob)
			b.passes()
			b.once(b.bob.ID, "at last")
			s.stops()
		})
	}
}

// TestTelegramRestartInMidAnswer: an answer that was being streamed comes whole
// after the next start, in the message that was there for it.
func TestTelegramRestartInMidAnswer(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*serving){"SIGTERM": func(s *serving) { s.stops() }, "SIGKILL": func(s *serving) { s.kill() }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTelegramEnv(t, telegramOptions{options: options{think: talks()}})
			s := b.opens()
			group := b.group(b.Supergroup("Friends", b.bob))
			b.Say(b.bob.ID, b.bob, words)
			asked := b.Say(group, b.bob, "/task "+words)
			b.meets(group, "the first words", func(m telegramfake.Message) bool { return strings.Contains(m.Text, "[q1] answers: q1:") })
			end(s)
			b.opens()
			b.once(b.bob.ID, "[q1] answers: "+words)
			b.grows(group, asked)
			b.goesOn(b.bob)
			b.once(b.bob.ID, "[q1] answers: "+words)
		})
	}
}

// TestTelegramStopsSoon: a clean stop does not wait for a model that hangs or a
// platform that does not answer.
func TestTelegramStopsSoon(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: options{think: always(llmfake.Response{Fault: llmfake.Fault{Kind: llmfake.FaultHang}})}})
	s := b.opens()
	group := b.group(b.Supergroup("Friends", b.bob))
	b.Say(b.bob.ID, b.bob, "q1: hello")
	b.Say(group, b.bob, "/task q2: hello")
	b.offers(group, "Stop")
	b.Fail(telegramfake.Fault{Kind: telegramfake.FaultDelay, Delay: patience, Count: telegramfake.Forever})
	b.Say(b.bob.ID, b.bob, "/status")
	s.stops()
}

// TestTelegramHealth: what /healthz and /readyz say of a daemon that works.
func TestTelegramHealth(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{})
	s := b.opens()
	s.becomes("well", patience, func(r readiness) bool {
		return r.Code == http.StatusOK && r.Status == "ready" && maps.Equal(r.Parts, map[string]string{
			"store": "ok", "disk": "ok", "work": "ok", "models": "ok", "servers": "ok", "telegram": "ok",
		})
	})
	if code, body := s.get("/healthz"); code != http.StatusOK || body != "ok" {
		t.Errorf("/healthz: got %d %q", code, body)
	}
	if code, body := s.get("/"); code != http.StatusNotFound || !strings.Contains(body, `"code":"not_found"`) {
		t.Errorf("/: got %d %q, want 404 and a problem document", code, body)
	}
}

// TestTelegramPortInUse: a port that is taken ends the start with a sentence,
// before anything is received.
func TestTelegramPortInUse(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	b := newTelegramEnv(t, telegramOptions{})
	b.configure(strings.Replace(b.config, `listen: "127.0.0.1:0"`, `listen: "`+taken.Addr().String()+`"`, 1))
	b.Say(b.bob.ID, b.bob, "q1: hello")
	p := b.start("serve")
	if code := p.code(); code != 1 || !strings.Contains(p.err.String(), "http.listen") || !strings.Contains(p.err.String(), taken.Addr().String()) {
		t.Errorf("got exit code %d, %q; want 1 and the address with its key", code, p.err.String())
	}
	if log := b.Log(); len(log) > 0 {
		t.Errorf("the platform was called %d times, first %s", len(log), log[0].Method)
	}
}

// TestTelegramSecondProcess: a second daemon with the same data does not start.
func TestTelegramSecondProcess(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{})
	b.opens()
	p := b.start("serve")
	if code := p.code(); code != 1 || !strings.Contains(p.err.String(), "in use by pid") || !strings.Contains(p.err.String(), "legwork serve") {
		t.Errorf("got exit code %d, %q; want 1 and who holds the data", code, p.err.String())
	}
	b.goesOn(b.bob)
}

// TestTelegramWrongConfig: each mistake is named with its place, none repeats a
// secret, and nothing starts.
func TestTelegramWrongConfig(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{})
	for name, c := range map[string]struct {
		from, to string
		want     []string
	}{
		"a short token":            {telegramToken, "1000:tooshortsecret", []string{"telegram.token", "@BotFather"}},
		"no token":                 {`token: "` + telegramToken + `", `, "", []string{"telegram.token", "missing"}},
		"a webhook without secret": {"telegram: {", `telegram: {mode: webhook, webhook: {url: "https://bot.example.com/telegram/webhook"}, `, []string{"telegram.webhook.secret", "missing"}},
		"an unknown mode":          {"telegram: {", "telegram: {mode: push, ", []string{"telegram.mode", "poll", "webhook"}},
		"an unknown key":           {"telegram: {", "telegram: {tokn: x, ", []string{"telegram.tokn", "token"}},
		"an admin of nowhere":      {`"telegram:1"`, `"telegraph:1"`, []string{"access.admins", "telegraph"}},
		"no platform":              {"telegram: {", "x: {", []string{"config.yaml"}},
	} {
		good := b.config
		b.configure(strings.Replace(good, c.from, c.to, 1))
		p := b.start("serve")
		if code := p.code(); code != 1 || !holdsAll(p.err.String(), c.want) || strings.Contains(p.err.String(), "tooshortsecret") || strings.Contains(p.err.String(), telegramToken) {
			t.Errorf("%s: got exit code %d, %q; want 1 and %q", name, code, p.err.String(), c.want)
		}
		b.configure(good)
	}
	if log := b.Log(); len(log) > 0 {
		t.Errorf("the platform was called %d times", len(log))
	}
}
