package e2e_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/fakes/telegramfake"
)

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
