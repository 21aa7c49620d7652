package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"legwork/conf"
	"legwork/internal/test/fakes/telegramfake"
	"legwork/tasks/api"
)

// noAccess is the access of a bot that was just set up.
const noAccess = "{}"

var claimCode = regexp.MustCompile(`/start ([A-Z0-9]+)`)

// code is the one that the daemon prints for the first admin.
func (s *serving) claimCode() string {
	s.t.Helper()
	s.until("the code on stdout", func() bool { return claimCode.MatchString(s.out.String()) })
	return claimCode.FindStringSubmatch(s.out.String())[1]
}

// TestTelegramFirstAdmin: the person who writes the code becomes the admin,
// and stays so after a restart, when no code is printed any more.
func TestTelegramFirstAdmin(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{access: noAccess})
	s := b.opens()
	code := s.claimCode()
	group := b.group(b.Group("Friends", b.ann))
	b.Say(group, b.ann, "/start "+code) // everybody reads it there
	b.Say(b.ann.ID, b.ann, "/start WRONGONE")
	b.sees(b.ann.ID, b.says("error.claim_wrong", map[string]any{"Count": 4}))
	b.Say(b.ann.ID, b.ann, "/start "+strings.ToLower(code[:4]+"-"+code[4:]))
	b.sees(b.ann.ID, b.says("notice.claimed", nil), "/help")
	b.Say(b.bob.ID, b.bob, "/start "+code)
	b.sees(b.bob.ID, b.says("error.not_allowed", nil))
	b.goesOn(b.ann)
	b.silent(group)
	s.stops()
	s = b.opens()
	b.goesOn(b.ann)
	if out := s.out.String(); claimCode.MatchString(out) {
		t.Errorf("there is an admin, and another code is printed: %q", out)
	}
}

// TestTelegramWrongCodes: after five wrong codes the right one is worth nothing.
func TestTelegramWrongCodes(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{access: noAccess})
	s := b.opens()
	code := s.claimCode()
	for left := 4; left > 0; left-- {
		b.Say(b.eve.ID, b.eve, "/start GUESS"+strings.Repeat("X", left))
		b.sees(b.eve.ID, b.says("error.claim_wrong", map[string]any{"Count": left}))
	}
	b.Say(b.eve.ID, b.eve, "/start GUESS")
	b.sees(b.eve.ID, b.says("error.claim_over", nil))
	b.Say(b.ann.ID, b.ann, "/start "+code)
	b.sees(b.ann.ID, b.says("error.no_admin", nil))
	s.stops()
	again := b.opens()
	if next := again.claimCode(); next == code {
		t.Errorf("the code after a restart is the same: %q", code)
	} else {
		b.Say(b.ann.ID, b.ann, "/start "+next)
		b.sees(b.ann.ID, b.says("notice.claimed", nil))
	}
}

// TestTelegramUnlisted: one sentence a day, with a button that asks the admins.
func TestTelegramUnlisted(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{access: `{admins: ["telegram:1", "telegram:2"]}`})
	b.opens()
	b.Say(b.bob.ID, b.bob, "/status") // the bot may write to Bob
	b.sees(b.bob.ID, b.says("statusline.none", nil))
	b.Say(b.eve.ID, b.eve, "first: hello")
	told := b.offers(b.eve.ID, b.says("button.ask_admin", nil), b.says("error.not_allowed", nil))
	b.Say(b.eve.ID, b.eve, "second: hello?")
	b.Say(b.eve.ID, b.eve, "/help")
	b.passes()
	if bots := b.Chat(b.eve.ID).Bots(); len(bots) != 1 {
		t.Errorf("the stranger read %d messages, want one", len(bots))
	}
	if n := len(b.models.Requests()); n > 0 {
		t.Errorf("the model was called %d times for a stranger", n)
	}
	for range 2 {
		if p := b.taps(b.eve, b.eve.ID, told.ID, b.says("button.ask_admin", nil)); p.Text != b.says("notice.asked", nil) {
			t.Errorf("the stranger reads %q, want that the admins were asked", p.Text)
		}
	}
	request := b.says("notice.request", map[string]any{"Name": "Eve", "Person": "telegram:3"})
	asked, other := b.offers(b.ann.ID, "Allow", request), b.offers(b.bob.ID, "Allow", request)
	first := b.Press(b.ann.ID, asked.ID, "Allow", b.ann)
	second := b.Press(b.ann.ID, asked.ID, "Allow", b.ann)
	if p := b.answered(first); p.Text != b.says("notice.allowed", map[string]any{"Name": "Eve"}) {
		t.Errorf("the admin reads %q, want whom they let in", p.Text)
	}
	for what, p := range map[string]telegramfake.Press{
		"a double tap":    b.answered(second),
		"the other admin": b.taps(b.bob, b.bob.ID, other.ID, "Ignore"),
	} {
		if p.Text != b.says("error.too_late", nil) {
			t.Errorf("%s reads %q, want that it is too late", what, p.Text)
		}
	}
	b.once(b.eve.ID, b.says("notice.admitted", nil))
	b.goesOn(b.eve)
}

// TestTelegramGrants: what each of the admin's taps lets a stranger do.
func TestTelegramGrants(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		button, key    string
		private, group bool // where the stranger is heard afterwards
	}{
		"allowed":        {"button.allow", "notice.allowed", true, true},
		"only this chat": {"button.only_here", "notice.allowed_here", true, false},
		"ignored":        {"button.ignore", "notice.ignored", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTelegramEnv(t, telegramOptions{})
			b.opens()
			group := b.group(b.Group("Friends", b.eve))
			b.Say(b.eve.ID, b.eve, "hello")
			told := b.offers(b.eve.ID, b.says("button.ask_admin", nil))
			b.taps(b.eve, b.eve.ID, told.ID, b.says("button.ask_admin", nil))
			asked := b.offers(b.ann.ID, b.says(c.button, nil), "Eve")
			if p, want := b.taps(b.ann, b.ann.ID, asked.ID, b.says(c.button, nil)), b.says(c.key, map[string]any{"Name": "Eve"}); p.Text != want {
				t.Errorf("the admin reads %q, want %q", p.Text, want)
			}
			b.Say(group, b.eve, "q1: hello in the group @legwork_bot")
			b.Say(b.eve.ID, b.eve, "q2: hello in private")
			for _, where := range []struct {
				chat  int64
				heard bool
				want  string
			}{{b.eve.ID, c.private, "[q2] answers"}, {group, c.group, "[q1] answers"}} {
				if where.heard {
					b.once(where.chat, where.want)
					continue
				}
				b.passes()
				if n := b.count(where.chat, where.want); n > 0 {
					t.Errorf("%q was answered in chat %d", where.want, where.chat)
				}
			}
			if n := len(b.asked("q1: hello")); n > 0 != c.group {
				t.Errorf("the model was asked %d times for the group, want it to be asked: %v", n, c.group)
			}
		})
	}
}

// TestTelegramGrantsByHTTP: an admin reads at the API who asks, and decides there. A
// person who is let in is answered, and a person who is refused is not.
func TestTelegramGrantsByHTTP(t *testing.T) {
	t.Parallel()
	for decision, heard := range map[string]bool{"allow": true, "ignore": false} {
		t.Run(decision, func(t *testing.T) {
			t.Parallel()
			b := newTelegramEnv(t, telegramOptions{http: fmt.Sprintf(", tokens: [{name: boss, role: admin, sha256: %q}]", conf.HashToken(adminToken))})
			o := &apiEnv{b.env, b.opens()}
			b.Say(b.eve.ID, b.eve, "hello")
			told := b.offers(b.eve.ID, b.says("button.ask_admin", nil))
			b.taps(b.eve, b.eve.ID, told.ID, b.says("button.ask_admin", nil))
			asked := b.offers(b.ann.ID, b.says("button.allow", nil), "Eve")
			var people api.People
			read := func(r reply) api.People {
				if err := json.Unmarshal([]byte(r.body), &people); err != nil || r.status != http.StatusOK {
					t.Fatalf("got %d %s (%v)", r.status, r.body, err)
				}
				return people
			}
			if asks := read(o.calls(adminToken, "GET", "/v1/people", "")).Requests; len(asks) != 1 || asks[0].Key != "telegram:3" || asks[0].Name != "Eve" {
				t.Fatalf("the admin reads the requests %+v, want the one of Eve", asks)
			}
			after := read(o.calls(adminToken, "POST", "/v1/people/telegram:3", `{"decision":"`+decision+`"}`))
			if len(after.Requests) != 0 || len(after.People) != 1 || after.People[0].Key != "telegram:3" || after.People[0].Access != decision {
				t.Errorf("after the decision got %+v, want Eve with %q", after, decision)
			}
			if heard {
				if p := b.taps(b.ann, b.ann.ID, asked.ID, b.says("button.allow", nil)); p.Text != b.says("error.too_late", nil) {
					t.Errorf("the admin who taps after it reads %q, want that it is too late", p.Text)
				}
				b.once(b.eve.ID, b.says("notice.admitted", nil))
				b.goesOn(b.eve)
				return
			}
			b.Say(b.eve.ID, b.eve, "q1: hello?")
			b.passes()
			if n := len(b.asked("q1: hello?")); n > 0 || b.count(b.eve.ID, "[q1] answers") > 0 {
				t.Errorf("the model was asked %d times for a person who was refused", n)
			}
		})
	}
}

// TestTelegramListed: the people who are heard by the config's lists.
func TestTelegramListed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		access         string
		private, group bool // where Eve is heard
	}{
		"a listed user":             {`{telegram: {users: ["3"]}, admins: ["telegram:1"]}`, true, true},
		"a listed chat":             {`{telegram: {chats: ["-1"]}, admins: ["telegram:1"]}`, false, true},
		"everybody":                 {`{telegram: {users: ["*"]}, admins: ["telegram:1"]}`, true, true},
		"a group full of strangers": {`{telegram: {users: ["2"]}, admins: ["telegram:1"]}`, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTelegramEnv(t, telegramOptions{access: c.access})
			group := b.group(b.Group("Friends", b.eve, b.bob))
			b.configure(strings.ReplaceAll(b.config, `chats: ["-1"]`, `chats: ["`+chatID(group)+`"]`))
			b.opens()
			b.Say(group, b.eve, "/start")
			b.Say(group, b.eve, "/task q1: hello in the group")
			b.Say(b.eve.ID, b.eve, "q2: hello in private")
			if c.group {
				b.once(group, "[q1] answers")
			} else {
				b.silent(group)
			}
			if c.private {
				b.once(b.eve.ID, "[q2] answers")
			} else {
				b.once(b.eve.ID, b.says("error.not_allowed", nil))
			}
		})
	}
}

// changes writes the config with one part replaced, and waits until the log has
// a line with all words more often than before.
func (b *telegramEnv) changes(s *serving, from, to string, words ...string) {
	b.t.Helper()
	if !strings.Contains(b.config, from) {
		b.t.Fatalf("the config has no %q: %s", from, b.config)
	}
	before := countLines(s.err.String(), words)
	b.configure(strings.Replace(b.config, from, to, 1))
	s.until("that the config was read", func() bool { return countLines(s.err.String(), words) > before })
}

func countLines(text string, words []string) int {
	n := 0
	for line := range strings.Lines(text) {
		if holdsAll(line, words) {
			n++
		}
	}
	return n
}

// TestTelegramReload: what changes in the file is in use at once, without a
// signal.
func TestTelegramReload(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{})
	s := b.opens()
	b.Say(b.eve.ID, b.eve, "q1: hello")
	b.sees(b.eve.ID, b.says("error.not_allowed", nil))
	b.changes(s, `users: ["2"]`, `users: ["3"]`, "config reloaded", "access")
	b.Say(b.eve.ID, b.eve, "q2: hello")
	b.once(b.eve.ID, "[q2] answers")
	b.Say(b.bob.ID, b.bob, "q3: hello")
	b.sees(b.bob.ID, b.says("error.not_allowed", nil))
	if len(b.asked("q1: hello"))+len(b.asked("q3: hello")) > 0 {
		t.Error("somebody who is not on the list was heard")
	}

	b.changes(s, "groups:\n", "groups:\n  fresh: {description: Is new here., servers: [desk], tools: [lookup], read_only: [\"*\"]}\n", "config reloaded", "groups")
	b.Say(b.ann.ID, b.ann, "/groups")
	b.sees(b.ann.ID, "fresh: Is new here.")
	b.Say(b.ann.ID, b.ann, "q4: fresh alpha; fresh beta")
	b.once(b.ann.ID, "[q4]", "value of q4 fresh alpha")

	b.changes(s, "log: {level: debug}", "log: {level: info}\nlimits: {turns: 7}", "config changes need a restart", "log")
	b.once(b.ann.ID, b.says("admin.reload_restart", map[string]any{"Keys": "log"}))

	b.changes(s, "access: ", "access: {} # ", "config reloaded", "access")
	wei := b.User(4, "Wei", "en")
	b.chats = append(b.chats, b.Private(wei))
	b.Say(wei.ID, wei, "q5: hello")
	b.sees(wei.ID, b.says("error.no_admin", nil))
	b.Say(wei.ID, wei, "/start "+s.claimCode())
	b.sees(wei.ID, b.says("notice.claimed", nil))
}

// TestTelegramBadReload: a config with mistakes changes nothing, and the admins
// read where they are; a mended one is in use again.
func TestTelegramBadReload(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ from, to, told string }{
		"an unknown key":     {"access: ", "acces: ", "acces"},
		"no YAML":            {"access: ", "access: [", "config.yaml:"},
		"an unknown server":  {"servers: [desk], tools: [lookup], read_only", "servers: [dsek], tools: [lookup], read_only", "dsek"},
		"a missing variable": {`users: ["2"]`, `users: ["${NO_SUCH_VARIABLE}"]`, "NO_SUCH_VARIABLE"},
		"a bad token":        {telegramToken, "1000:short-secret", "telegram.token"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTelegramEnv(t, telegramOptions{})
			s := b.opens()
			good := b.config
			b.changes(s, c.from, c.to, "level=ERROR", "config rejected")
			told := b.sees(b.ann.ID, "config.yaml has mistakes", c.told)
			if strings.Contains(told.Text, "short-secret") || strings.Contains(s.err.String(), "short-secret") {
				t.Errorf("the mistake repeats the token: %q", told.Text)
			}
			b.goesOn(b.bob)
			b.Say(b.bob.ID, b.bob, "q1: desk alpha; safe beta")
			b.once(b.bob.ID, "[q1]", "value of q1 desk alpha")
			b.configure(good)
			b.once(b.ann.ID, b.says("admin.reload_fixed", map[string]any{"Config": "config.yaml"}))
			b.goesOn(b.bob)
		})
	}
}

// TestServeLog: what an operator reads from the start to the end of legwork names only
// what is configured, says nothing twice, and ends each matter with its last word.
func TestServeLog(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{access: noAccess})
	s := b.opens()
	s.claimCode()
	if out := s.out.String(); !strings.Contains(out, "in Telegram.") || strings.Contains(out, "Slack") {
		t.Errorf("the code for the first admin is for other platforms than Telegram: %q", out)
	}
	last := func() string {
		lines := strings.Split(strings.TrimSpace(s.err.String()), "\n")
		return lines[len(lines)-1]
	}
	good := b.config
	b.changes(s, "access: ", "acces: ", "config rejected")
	b.configure(good)
	s.until("that the config is mended", func() bool { return strings.Contains(last(), "config mended") })
	b.changes(s, "access: ", "acces: ", "config rejected")
	b.configure("timezone: Asia/Tokyo\n" + good)
	s.until("that the changed config is mended", func() bool {
		return strings.Count(s.err.String(), "config mended") == 2 && strings.Contains(last(), "config mended")
	})
	s.stops()
	text := s.err.String()
	if stopping, stopped := strings.Index(text, "msg=stopping"), strings.Index(text, "msg=stopped"); stopping < 0 || stopped < stopping || !strings.Contains(last(), "msg=stopped") {
		t.Errorf("the end is not told in order:\n%s", text)
	}
	if strings.Contains(text, "0001-01-01") {
		t.Errorf("a time is the year 1:\n%s", text)
	}
	seen := map[string]int{}
	for line := range strings.Lines(text) {
		_, message, _ := strings.Cut(line, " level=")
		if seen[message]++; seen[message] > 1 && !strings.Contains(message, "config rejected") && !strings.Contains(message, "config mended") && !strings.Contains(message, "DEBUG") {
			t.Errorf("a line is logged twice: %s", message)
		}
	}
}

// TestTelegramHangup: SIGHUP reads the config again.
func TestTelegramHangup(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{})
	s := b.opens()
	b.changes(s, `users: ["2"]`, `users: ["2", "3"]`, "config reloaded")
	s.signal(syscall.SIGHUP)
	s.signal(syscall.SIGHUP)
	b.Say(b.eve.ID, b.eve, "q1: hello")
	b.once(b.eve.ID, "[q1] answers")
	b.changes(s, `users:`, `usres:`, "config rejected")
	s.signal(syscall.SIGHUP)
	s.until("a second complaint", func() bool { return strings.Count(s.err.String(), "config rejected") >= 2 })
	b.goesOn(b.eve)
	s.stops()
}

// TestTelegramChangeWhileWorking: a task that runs goes on when the config
// changes, and a tool that is taken away is not called any more.
func TestTelegramChangeWhileWorking(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, works("3000"))
	s := b.opens()
	b.Say(b.bob.ID, b.bob, "/task first: a question")
	b.working(b.bob.ID)
	b.changes(s, "groups:\n", "groups:\n  fresh: {description: Is new here., servers: [desk], tools: [lookup], read_only: [\"*\"]}\n", "config reloaded")
	b.once(b.bob.ID, "value of quick", "at last")
	b.until("the folded board", func(v telegramfake.View) bool {
		for _, m := range v.Chat(b.bob.ID).Bots() {
			if strings.HasPrefix(m.Text, "Done: 2 sub-tasks in ") {
				return true
			}
		}
		return false
	})
	b.changes(s, "  desk: {description: Looks things up., servers", "  gone: {description: Looks things up., servers", "config reloaded")
	b.Say(b.bob.ID, b.bob, "/groups")
	b.sees(b.bob.ID, "gone: Looks things up.", "fresh")
	b.goesOn(b.bob)
}

// hooked is a scene in which Telegram delivers to a webhook behind a proxy.
func hooked(f *webhookProxy) telegramOptions {
	return telegramOptions{
		fake:     telegramfake.Options{WebhookTo: f.URL, Second: 100 * time.Millisecond},
		telegram: `, mode: webhook, webhook: {url: "https://bot.example.com/telegram/webhook", secret: "` + telegramSecret + `"}`,
	}
}

// opensAt starts legwork behind a proxy.
func (b *telegramEnv) opensAt(f *webhookProxy) *serving {
	b.t.Helper()
	s := b.serve(telegramToken, telegramSecret)
	f.leads(s.address)
	s.readyAgain(patience)
	return s
}

// TestTelegramWebhook: delivered messages are answered like polled ones;
// messages that come while legwork is down are answered after the next start,
// once.
func TestTelegramWebhook(t *testing.T) {
	t.Parallel()
	f := newWebhookProxy(t)
	b := newTelegramEnv(t, hooked(f))
	s := b.opensAt(f)
	group := b.group(b.Supergroup("Friends", b.bob))
	b.Say(b.bob.ID, b.bob, "q1: hello")
	b.once(b.bob.ID, "[q1] answers")
	b.Say(group, b.bob, "/task q2: desk alpha; desk beta")
	answer := b.offers(group, "Details", "[q2]", "value of q2 desk beta")
	b.taps(b.bob, group, answer.ID, "Details")
	b.sees(group, "1. q2 desk alpha")
	s.stops()
	b.Say(b.bob.ID, b.bob, "q3: is anybody there?")
	b.until("a try to deliver", func(v telegramfake.View) bool {
		log := v.Log()
		return len(log) > 0 && log[len(log)-1].Method == telegramfake.MethodWebhook && !log[len(log)-1].Done
	})
	s = b.opensAt(f)
	b.once(b.bob.ID, "[q3] answers")
	b.Redeliver(5)
	b.goesOn(b.bob)
	b.once(b.bob.ID, "[q3] answers")
	b.once(b.bob.ID, "[q1] answers")
	s.stops()
	for _, e := range b.Log() {
		if e.Method == "getUpdates" || e.Method == "setWebhook" && e.Params["secret_token"] != telegramSecret {
			t.Errorf("got the request %+v, want a webhook with its secret and no poll", e)
		}
	}
}

// TestTelegramForgedDelivery: a delivery without the secret is ignored, and an
// unreadable one does no harm.
func TestTelegramForgedDelivery(t *testing.T) {
	t.Parallel()
	f := newWebhookProxy(t)
	b := newTelegramEnv(t, hooked(f))
	s := b.opensAt(f)
	b.Say(b.bob.ID, b.bob, "q1: hello")
	b.once(b.bob.ID, "[q1] answers")
	genuine := `{"update_id": 1000, "message": {"message_id": 1, "from": {"id": 2, "first_name": "Bob"}, "chat": {"id": 2, "type": "private"}, "date": 1, "text": "q1: hello"}}`
	forged := strings.ReplaceAll(strings.ReplaceAll(genuine, "1000", "2000"), "q1: hello", "forged")
	for name, c := range map[string]struct {
		method, path, secret, body string
		status                     int
	}{
		"no secret":             {"POST", "/telegram/webhook", "", forged, 401},
		"a wrong secret":        {"POST", "/telegram/webhook", telegramSecret + "x", forged, 401},
		"the secret's start":    {"POST", "/telegram/webhook", telegramSecret[:5], forged, 401},
		"the token":             {"POST", "/telegram/webhook", telegramToken, forged, 401},
		"a GET":                 {"GET", "/telegram/webhook", telegramSecret, "", 405},
		"another path":          {"POST", "/telegram/webhook/x", telegramSecret, forged, 404},
		"Slack's path":          {"POST", "/slack/events", telegramSecret, forged, 404},
		"one that came before":  {"POST", "/telegram/webhook", telegramSecret, genuine, 200},
		"no JSON":               {"POST", "/telegram/webhook", telegramSecret, "\x00{", 200},
		"a list":                {"POST", "/telegram/webhook", telegramSecret, "[1, 2]", 200},
		"nothing":               {"POST", "/telegram/webhook", telegramSecret, "", 200},
		"a number for the text": {"POST", "/telegram/webhook", telegramSecret, `{"update_id": 3000, "message": {"text": 7}}`, 200},
		"more than a MiB":       {"POST", "/telegram/webhook", telegramSecret, `{"x": "` + strings.Repeat("x", 2<<20) + `"}`, 413},
	} {
		request, err := http.NewRequest(c.method, "http://"+s.address+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Telegram-Bot-Api-Secret-Token", c.secret)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode != c.status {
			t.Errorf("%s: got %d %s, want %d", name, response.StatusCode, body, c.status)
		}
	}
	b.goesOn(b.bob)
	b.once(b.bob.ID, "[q1] answers")
	if n := len(b.asked("forged")); n > 0 {
		t.Errorf("the model was asked the forged question %d times", n)
	}
	s.logged("level=WARN", "delivery without the secret refused")
}

// TestTelegramWebhookListener: with a listener of its own, the webhook is there
// and nowhere else, and nothing else is there.
func TestTelegramWebhookListener(t *testing.T) {
	t.Parallel()
	f := newWebhookProxy(t)
	b := newTelegramEnv(t, hooked(f))
	b.configure(strings.Replace(b.config, `http: {listen: "127.0.0.1:0"}`, `http: {listen: "127.0.0.1:0", webhook_listen: "localhost:0"}`, 1))
	s := b.serve(telegramToken, telegramSecret)
	addresses := s.listens(2)
	f.leads(addresses[1])
	s.readyAgain(patience)
	b.Say(b.bob.ID, b.bob, "q1: hello")
	b.once(b.bob.ID, "[q1] answers")
	for _, c := range []struct {
		address, path string
		status        int
	}{
		{addresses[0], "/telegram/webhook", 404},
		{addresses[1], "/readyz", 404},
		{addresses[1], "/healthz", 404},
		{addresses[0], "/healthz", 200},
		{addresses[1], "/", 404},
		{addresses[1], "/telegram/webhook", 405},
	} {
		response, err := http.Get("http://" + c.address + c.path)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != c.status {
			t.Errorf("%s at %s: got %d, want %d", c.path, c.address, response.StatusCode, c.status)
		}
	}
}

// TestTelegramChangesMode: a bot goes from poll to webhook and back, and no
// message is lost on the way.
func TestTelegramChangesMode(t *testing.T) {
	t.Parallel()
	f := newWebhookProxy(t)
	b := newTelegramEnv(t, hooked(f))
	hook := b.config
	poll := strings.Replace(hook, "mode: webhook", "mode: poll", 1)
	for i, config := range []string{poll, hook, poll} {
		id := "q" + chatID(int64(i))
		b.configure(config)
		b.Say(b.bob.ID, b.bob, id+": hello")
		s := b.serve(telegramToken, telegramSecret)
		f.leads(s.address)
		s.readyAgain(patience)
		b.once(b.bob.ID, "["+id+"] answers")
		s.stops()
	}
}
