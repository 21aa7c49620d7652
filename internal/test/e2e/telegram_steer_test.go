package e2e_test

import (
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/telegramfake"
)

// heard reports that a prompt held a text as guidance.
func (b *telegramEnv) heard(text string) bool {
	return slices.ContainsFunc(b.models.Requests(), func(r llmfake.Request) bool {
		return slices.Contains(r.AllTagged("guidance"), text)
	})
}

// TestTelegramGuidance: what the person writes while a plan runs is added to it,
// taken back by Undo, and a question of its own by Ask separately.
func TestTelegramGuidance(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		button, key string // empty: none is pressed
		heard       bool
		apart       bool // it is answered as a question of its own
	}{
		"kept":             {"", "", true, false},
		"taken back":       {"Undo", "notice.undone", false, false},
		"asked separately": {"Ask separately", "", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := works("4000")
			s.haste = 10
			b := newTelegramEnv(t, s)
			b.opens()
			for _, chat := range []int64{b.group(b.Supergroup("Friends", b.ann, b.bob, b.eve)), b.bob.ID} {
				guidance := "later: " + name + " in " + chatID(chat)
				b.Say(chat, b.bob, "/task first: a question")
				board := b.working(chat)
				if chat == b.bob.ID {
					b.Say(chat, b.bob, guidance)
				} else {
					b.Say(chat, b.bob, guidance, telegramfake.ReplyTo(board.ID))
				}
				added := b.offers(chat, "Ask separately", b.says("notice.added", nil))
				if added.ReplyTo == 0 || added.Button("Undo") == "" {
					t.Errorf("the notice is %+v, want a reply with Undo", added)
				}
				if c.button != "" {
					p := b.taps(b.bob, chat, added.ID, c.button)
					if c.key != "" && p.Text != b.says(c.key, nil) {
						t.Errorf("the tap reads %q, want %q", p.Text, b.says(c.key, nil))
					}
					b.taps(b.bob, chat, added.ID, c.button)
				}
				if c.apart {
					b.once(chat, "answers: "+guidance)
				}
				b.once(chat, "at last")
				if got := b.heard(guidance); got != c.heard {
					t.Errorf("in chat %d the model read it as guidance: %v, want %v", chat, got, c.heard)
				}
			}
		})
	}
}

// TestTelegramPlanOfALongText: a plan that repeats a long text is shown in one
// message all the same.
func TestTelegramPlanOfALongText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("beta ", 10_000)
	b := newTelegramEnv(t, telegramOptions{haste: 10, options: options{think: steps{plan: func(llmfake.Request) llmfake.Response {
		return llmfake.Call("plan", `{"plan": [{"name": "desk", "description": "find `+long+`"}]}`)
	}}.think}})
	b.opens()
	b.Say(b.bob.ID, b.bob, "/plan q1: look at this: alpha")
	plan := b.offers(b.bob.ID, "Run", b.says("question.plan", nil), "1. desk: find beta")
	if got := len(plan.Text); got > 1200 || !strings.Contains(plan.Text, "…\n\nIt may take about") {
		t.Errorf("the plan takes %d bytes: %.80q, want a beginning", got, plan.Text)
	}
	b.taps(b.bob, b.bob.ID, plan.ID, "Cancel")
}

// TestTelegramPlanFirst: /plan shows the plan before anything is done, and does
// what is decided.
func TestTelegramPlanFirst(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{haste: 10, options: options{think: steps{plan: func(r llmfake.Request) llmfake.Response {
		if slices.Contains(r.AllTagged("guidance"), "take beta") {
			return llmfake.Call("plan", `{"plan": [{"name": "desk", "description": "find beta"}]}`)
		}
		return llmfake.Call("plan", `{"plan": [{"name": "desk", "description": "find alpha"}]}`)
	}}.think}})
	b.opens()
	group := b.group(b.Supergroup("Friends", b.ann, b.bob, b.eve))
	for _, chat := range []int64{b.bob.ID, group} {
		b.Say(chat, b.bob, "/plan q1: run it")
		plan := b.offers(chat, "Run", b.says("question.plan", nil), "1. desk: find alpha")
		if plan.Button("Edit") == "" || plan.Button("Cancel") == "" || len(b.calls("lookup")) > 0 && chat == b.bob.ID {
			t.Errorf("the plan is shown as %+v after %d calls, want Run, Edit, Cancel and none", plan, len(b.calls("lookup")))
		}
		if chat == group {
			if p := b.taps(b.eve, chat, plan.ID, "Run"); p.Text != b.says("error.not_yours", nil) {
				t.Errorf("a stranger's tap: got %q", p.Text)
			}
		}
		b.taps(b.bob, chat, plan.ID, "Run")
		b.taps(b.bob, chat, plan.ID, plan.Button("Run"))
		b.once(chat, "value of find alpha")
		b.closed(chat, plan.ID, b.says("question.agreed", nil))

		b.Say(chat, b.bob, "/plan q2: change it")
		plan = b.offers(chat, "Edit", "1. desk: find alpha")
		b.taps(b.bob, chat, plan.ID, "Edit")
		how := b.sees(chat, b.says("notice.edit_plan", nil))
		b.Say(chat, b.bob, "/status@legwork_bot") // no person answers as fast as a test does
		b.sees(chat, "q2: change it · ")
		b.Say(chat, b.bob, "take beta", telegramfake.ReplyTo(how.ID))
		second := b.offers(chat, "Run", "1. desk: find beta")
		b.closed(chat, plan.ID, b.says("question.over", nil))
		b.taps(b.bob, chat, second.ID, "Run")
		b.once(chat, "value of find beta")

		b.Say(chat, b.bob, "/plan q3: cancel it")
		plan = b.offers(chat, "Cancel", "1. desk: find alpha")
		b.taps(b.bob, chat, plan.ID, "Cancel")
		b.closed(chat, plan.ID, b.says("question.denied", nil))
		over := b.once(chat, b.says("problem.stopped", nil))
		if strings.Contains(over.Text, "sub-task") || len(over.Buttons) > 0 {
			t.Errorf("nothing was done, and the outcome is %q with %v", over.Text, over.Buttons)
		}
	}
	if calls := b.calls("lookup"); len(calls) != 4 {
		t.Errorf("got %d calls, want two in each chat", len(calls))
	}
	b.goesOn(b.bob)
}

// closed waits until a question's message says how it ended and offers nothing.
func (b *telegramEnv) closed(chat int64, id int, how string) {
	b.t.Helper()
	b.meets(chat, "the closed question", func(m telegramfake.Message) bool {
		return m.ID == id && strings.HasSuffix(m.Text, how) && len(m.Buttons) == 0
	})
}

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

// works is a scene with a task of two sub-tasks, of which the second one waits
// for a tool that takes so long.
func works(takes string) telegramOptions {
	return telegramOptions{options: options{think: slowly(`{"ms": ` + takes + `}`), tools: ", slow", limit: 2 * time.Minute}}
}

// working waits for the board of such a task when one sub-task is done.
func (b *telegramEnv) working(chat int64) telegramfake.Message {
	b.t.Helper()
	return b.offers(chat, "Stop", "Working: 1 of 2 sub-tasks done", "✅ quick", "⏳ slow", "desk.slow")
}

// TestTelegramPlannedTask: the board shows what is done and what goes on, folds
// into a line, and the answer is a new message with a footer and Details.
func TestTelegramPlannedTask(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, works("6000"))
	b.opens()
	for name, where := range map[string]struct {
		chat int64
		text string
	}{
		"in private": {b.bob.ID, "first: a question"},
		"in a group": {b.group(b.Supergroup("Friends", b.bob)), "/task first: a question"},
	} {
		asked := b.Say(where.chat, b.bob, where.text)
		board := b.working(where.chat)
		if !strings.Contains(board.Text, "first: a question") || board.ReplyTo != asked {
			t.Errorf("%s: the board reads %q and replies to %d, want the question's title and %d", name, board.Text, board.ReplyTo, asked)
		}
		answer := b.offers(where.chat, "Details", "value of quick", "at last")
		if answer.ID == board.ID || answer.ReplyTo != asked || answer.Button("Retry") != "" || answer.Edits > 0 {
			t.Errorf("%s: the answer is %+v, want a new message that replies to %d", name, answer, asked)
		}
		if !strings.Contains(answer.Text, "2 sub-tasks ·") {
			t.Errorf("%s: the answer has no footer: %q", name, answer.Text)
		}
		b.until("the folded board", func(v telegramfake.View) bool {
			for _, m := range v.Chat(where.chat).Messages {
				if m.ID == board.ID {
					return strings.HasPrefix(m.Text, "Done: 2 sub-tasks in ") && !strings.Contains(m.Text, "\n") && len(m.Buttons) == 0
				}
			}
			return false
		})
		b.taps(b.bob, where.chat, answer.ID, "Details")
		b.sees(where.chat, "1. quick", "2. slow", "desk.lookup", "desk.slow", b.says("state.done", nil))
		for _, e := range b.Events(where.chat) {
			if strings.Contains(e.Message.Text, `"plan"`) || strings.Contains(e.Message.Text, `{"`) && !strings.Contains(e.Message.Text, "<result") {
				t.Errorf("%s: people saw JSON: %q", name, e.Message.Text)
			}
		}
	}
	b.goesOn(b.bob)
}

// TestTelegramStop: a task is stopped by its button or the command, by a
// person who may, once; the results so far are shown.
func TestTelegramStop(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, works("60000"))
	b.opens()
	private := func() int64 { return b.bob.ID }
	group := func() int64 { return b.group(b.Supergroup("Friends", b.ann, b.bob, b.eve)) }
	for _, c := range []struct {
		name string
		chat int64
		stop func(chat int64, board telegramfake.Message)
	}{
		{"by button", private(), func(chat int64, board telegramfake.Message) {
			first, second := b.Press(chat, board.ID, "Stop", b.bob), b.Press(chat, board.ID, board.Button("Stop"), b.bob)
			if p := b.answered(first); p.Text != b.says("notice.stopping", nil) {
				t.Errorf("the first tap: got %q, want that it stops", p.Text)
			}
			b.answered(second)
		}},
		{"by command", private(), func(chat int64, _ telegramfake.Message) { b.Say(chat, b.bob, "/stop") }},
		{"by an admin's button", group(), func(chat int64, board telegramfake.Message) {
			if p := b.taps(b.eve, chat, board.ID, "Stop"); p.Text != b.says("error.not_yours", nil) {
				t.Errorf("a stranger's tap: got %q, want that it is not theirs", p.Text)
			}
			b.taps(b.ann, chat, board.ID, "Stop")
		}},
		{"by command in a group", group(), func(chat int64, _ telegramfake.Message) { b.Say(chat, b.bob, "/stop@legwork_bot") }},
	} {
		before := len(b.Chat(c.chat).Bots())
		b.Say(c.chat, b.bob, "/task first: a question "+c.name)
		board := b.working(c.chat)
		c.stop(c.chat, board)
		answer := b.meets(c.chat, "the answer "+c.name, func(m telegramfake.Message) bool {
			return m.ID > board.ID && strings.Contains(m.Text, "value of quick") && m.Button("Details") != ""
		})
		if p := b.taps(b.bob, c.chat, board.ID, board.Button("Stop")); p.Text != b.says("error.too_late", nil) {
			t.Errorf("%s: a late tap reads %q, want that it is too late", c.name, p.Text)
		}
		found := 0
		for _, m := range b.Chat(c.chat).Bots()[before:] {
			if strings.Contains(m.Text, "value of quick") {
				found++
			}
			if m.Button("Stop") != "" {
				t.Errorf("%s: message %d still offers Stop: %q", c.name, m.ID, m.Text)
			}
		}
		if found != 1 {
			t.Errorf("%s: got %d answers, want one: %q", c.name, found, answer.Text)
		}
	}
	b.goesOn(b.bob)
}

// TestTelegramRetry: a failure says what can be done and has a button that asks
// again, once.
func TestTelegramRetry(t *testing.T) {
	t.Parallel()
	var mended atomic.Bool
	b := newTelegramEnv(t, telegramOptions{options: options{think: func(r llmfake.Request) llmfake.Response {
		if !mended.Load() {
			return llmfake.Status(401)
		}
		return llmfake.Brain{}.Respond(r)
	}}})
	b.opens()
	for _, chat := range []int64{b.bob.ID, b.group(b.Supergroup("Friends", b.bob, b.eve))} {
		mended.Store(false)
		b.Say(chat, b.bob, "/task q1: desk alpha")
		failed := b.offers(chat, "Retry", "⚠️", b.says("problem.refused", nil))
		mended.Store(true)
		if p := b.taps(b.eve, chat, failed.ID, "Retry"); p.Text != b.says("error.not_yours", nil) && chat != b.bob.ID {
			t.Errorf("a stranger's tap: got %q, want that it is not theirs", p.Text)
		}
		for range 2 {
			b.taps(b.bob, chat, failed.ID, "Retry")
		}
		b.offers(chat, "Details", "[q1]", "value of q1 desk alpha")
		b.passes()
		b.once(chat, "[q1]", "value of q1 desk alpha")
	}
	b.goesOn(b.bob)
}
