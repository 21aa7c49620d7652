package telegram_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"legwork/bot/telegram"
	"legwork/internal/test/fakes/telegramfake"
)

const secret = "CANARY_webhook-secret"

// hooked runs a platform that has its updates delivered.
func hooked(t *testing.T) *env {
	t.Helper()
	var r *env
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { r.tg.Handler().ServeHTTP(w, q) }))
	r = &env{
		t: t, fake: telegramfake.New(t, telegramfake.Options{Token: token, NeedSecret: true, WebhookTo: server.URL}),
		limiter: &limiter{}, inbox: &inbox{news: make(chan struct{}, 1)}, log: &log{},
	}
	r.run(func(c *telegram.Config, _ *telegram.Options) {
		c.Mode = telegram.ModeWebhook
		c.Webhook = telegram.Webhook{URL: "https://bot.example.com/telegram/webhook", Secret: secret}
	})
	t.Cleanup(server.Close)
	return r
}

func TestWebhook(t *testing.T) {
	t.Parallel()
	r := hooked(t)
	r.ready()
	ann := r.fake.User(7, "Ann", "en")
	dm := r.fake.Private(ann)
	for i := range 5 {
		r.fake.Say(dm, ann, fmt.Sprint("question ", i))
	}
	for i := range 5 {
		if m, want := r.next(), fmt.Sprint("question ", i); m.Text != want {
			t.Errorf("message %d is %q, want %q", i, m.Text, want)
		}
	}
	r.until("all is confirmed", func() bool { return r.fake.Pending() == 0 })
	if n := r.count("getUpdates"); n != 0 {
		t.Errorf("it polled %d times beside its webhook", n)
	}
}

func TestWebhookReplies(t *testing.T) {
	t.Parallel()
	good := `{"update_id":1,"message":{` + private + `,"text":"hello"}}`
	tests := []struct {
		name, method, secret, body string
		refuse                     int
		status, taken              int
	}{
		{"right", http.MethodPost, secret, good, 0, 200, 1},
		{"no secret", http.MethodPost, "", good, 0, 401, 0},
		{"wrong secret", http.MethodPost, secret + "x", good, 0, 401, 0},
		{"looked at", http.MethodGet, secret, "", 0, 405, 0},
		{"not stored", http.MethodPost, secret, good, 1, 503, 0},
		{"no JSON", http.MethodPost, secret, "hello", 0, 200, 0},
		{"no update", http.MethodPost, secret, `[1]`, 0, 200, 0},
		{"wrong types", http.MethodPost, secret, `{"update_id":2,"message":"x"}`, 0, 200, 0},
		{"nothing for us", http.MethodPost, secret, `{"update_id":3,"message":{` + group + `,"text":"lunch?"}}`, 0, 200, 0},
		{"too long", http.MethodPost, secret, strings.Repeat(" ", 2<<20), 0, 413, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := hooked(t)
			r.ready()
			r.inbox.refuse(test.refuse)
			request := httptest.NewRequest(test.method, "/telegram/webhook", strings.NewReader(test.body))
			request.Header.Set("X-Telegram-Bot-Api-Secret-Token", test.secret)
			w := httptest.NewRecorder()
			r.tg.Handler().ServeHTTP(w, request)
			if body, _ := io.ReadAll(w.Body); w.Code != test.status || strings.Contains(string(body), "CANARY") {
				t.Errorf("the reply is %d %q, want %d", w.Code, body, test.status)
			}
			if got := len(r.rest()); got != test.taken {
				t.Errorf("%d messages were taken, want %d", got, test.taken)
			}
		})
	}
}

func TestWebhookOutsideOfRun(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{telegram.ModeWebhook, telegram.ModePoll} {
		cfg := telegram.Config{Token: token, Mode: mode, Webhook: telegram.Webhook{URL: "https://bot.example.com/x", Secret: secret}}
		tg, err := telegram.New(cfg, telegram.Options{RateLimiter: &limiter{}})
		if err != nil {
			t.Fatal(err)
		}
		request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"update_id":1}`))
		request.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
		w := httptest.NewRecorder()
		tg.Handler().ServeHTTP(w, request)
		if want := map[string]int{telegram.ModeWebhook: 503, telegram.ModePoll: 401}[mode]; w.Code != want {
			t.Errorf("in mode %s the reply without Run is %d, want %d", mode, w.Code, want)
		}
	}
}

func TestWebhookDeliversAgain(t *testing.T) {
	t.Parallel()
	r := hooked(t)
	r.ready()
	ann := r.fake.User(7, "Ann", "en")
	dm := r.fake.Private(ann)
	r.inbox.refuse(1)
	r.fake.Say(dm, ann, "one")
	if m := r.next(); m.Text != "one" {
		t.Errorf("after a failure came %+v, want the message again", m)
	}
	r.until("it is confirmed", func() bool { return r.fake.Pending() == 0 })
}

func TestWebhookKeepsTheOrderOfAChat(t *testing.T) {
	t.Parallel()
	r := hooked(t)
	r.ready()
	r.inbox.mu.Lock() // the first delivery is held up here
	codes := make(chan int)
	deliver := func(ctx context.Context, id int) {
		body := fmt.Sprintf(`{"update_id":%d,"message":{%s,"text":"question %d"}}`, id, private, id)
		request := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(body))
		request.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
		w := httptest.NewRecorder()
		r.tg.Handler().ServeHTTP(w, request)
		codes <- w.Code
	}
	const n = 20
	for id := range n {
		go deliver(context.Background(), id+1)
		r.until("it stands in the queue", func() bool { return r.tg.Queued("7") == id+1 })
	}
	hasty, hangUp := context.WithCancel(context.Background()) // one that does not wait lets no one pass
	go deliver(hasty, 99)
	r.until("it stands in the queue", func() bool { return r.tg.Queued("7") == n+1 })
	hangUp()
	if code := <-codes; code != http.StatusServiceUnavailable {
		t.Errorf("a delivery that was hung up on ended with %d, want 503", code)
	}
	r.inbox.mu.Unlock()
	for range n {
		if code := <-codes; code != http.StatusOK {
			t.Errorf("a delivery was answered with %d, want 200", code)
		}
	}
	for id := range n {
		if m, want := r.next(), fmt.Sprint("question ", id+1); m.Text != want {
			t.Fatalf("message %d is %q, want %q", id+1, m.Text, want)
		}
	}
}
