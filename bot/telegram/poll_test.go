package telegram_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"legwork/bot"
	"legwork/bot/telegram"
	"legwork/internal/test/fakes/telegramfake"
)

func TestOffsetMovesAfterTheBatchIsStored(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{})
	ann := r.fake.User(7, "Ann", "en")
	dm := r.fake.Private(ann)
	r.inbox.refuse(2)
	for i := range 3 {
		r.fake.Say(dm, ann, fmt.Sprint("question ", i))
	}
	var keys []string
	for i := range 3 {
		m := r.next()
		if want := fmt.Sprint("question ", i); m.Text != want {
			t.Errorf("message %d is %q, want %q: the order must hold", i, m.Text, want)
		}
		keys = append(keys, m.Key)
	}
	r.until("all is confirmed", func() bool { return r.fake.Pending() == 0 })
	r.fake.Redeliver(3)
	for _, want := range keys {
		if m := r.next(); m.Key != want {
			t.Errorf("a message came again with the key %q, want %q", m.Key, want)
		}
	}
}

func TestRestartGetsWhatWasNotConfirmed(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{})
	ann := r.fake.User(7, "Ann", "en")
	dm := r.fake.Private(ann)
	r.fake.Say(dm, ann, "one")
	key := r.next().Key
	r.until("it is confirmed", func() bool { return r.fake.Pending() == 0 })
	r.stop()
	r.fake.Say(dm, ann, "two")
	r.run()
	if m := r.next(); m.Text != "two" || m.Key == key {
		t.Errorf("after the restart came %+v, want the message that was sent meanwhile", m)
	}
}

// TestIdsBeginAnew: after a week of silence Telegram counts updates from a
// number of its choice, which may be lower than before.
func TestIdsBeginAnew(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{})
	ann := r.fake.User(7, "Ann", "en")
	dm := r.fake.Private(ann)
	r.fake.Renumber(700_000_000)
	r.fake.Say(dm, ann, "before")
	r.next()
	r.until("it is confirmed", func() bool { return r.fake.Pending() == 0 })
	r.fake.Renumber(100_000_000)
	for _, text := range []string{"after", "and again"} {
		r.fake.Say(dm, ann, text)
		if m := r.next(); m.Text != text {
			t.Errorf("got %+v, want %q", m, text)
		}
		r.until("it is confirmed", func() bool { return r.fake.Pending() == 0 })
	}
	if batches, messages := r.inbox.seen(); batches != 3 || len(messages) != 3 {
		t.Errorf("%d batches brought %d messages, want each message once", batches, len(messages))
	}
}

// TestServerThatBringsTheSameForEver: it is not asked without a pause. Here an
// update says another id than the one that the server counts it by.
func TestServerThatBringsTheSameForEver(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{})
	r.ready()
	r.fake.Raw(`{"update_id": 99999999}`)
	var stuck []time.Time
	r.until("it was polled often", func() bool {
		stuck = nil
		for _, e := range r.fake.Log() {
			if e.Method == "getUpdates" && len(e.Updates) > 0 {
				stuck = append(stuck, e.At)
			}
		}
		return len(stuck) >= 4
	})
	if took := stuck[3].Sub(stuck[1]); took < 400*time.Millisecond {
		t.Errorf("two polls that brought nothing new came within %v, want pauses that grow", took)
	}
}

func TestPollingGoesOnAfterFaults(t *testing.T) {
	kinds := []string{
		telegramfake.FaultDropBefore, telegramfake.FaultDropAfter, telegramfake.FaultError, telegramfake.FaultBusy,
		telegramfake.FaultGarbage, telegramfake.FaultHalf, telegramfake.FaultDown,
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := start(t, telegramfake.Options{})
			ann := r.fake.User(7, "Ann", "en")
			dm := r.fake.Private(ann)
			r.ready()
			r.fake.Fail(telegramfake.Fault{Kind: kind, Count: 2})
			r.fake.Say(dm, ann, "are you there?")
			if m := r.next(); m.Text != "are you there?" {
				t.Errorf("after %s came %+v, want the message", kind, m)
			}
			r.ready()
			r.until("it is confirmed", func() bool { return r.fake.Pending() == 0 })
		})
	}
}

func TestReadySaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	t.Run("before Run", func(t *testing.T) {
		tg, err := telegram.New(telegram.Config{Token: token}, telegram.Options{RateLimiter: &limiter{}})
		if err != nil {
			t.Fatal(err)
		}
		if tg.Ready() == nil {
			t.Error("it is ready before it runs")
		}
	})
	t.Run("token refused", func(t *testing.T) {
		r := start(t, telegramfake.Options{Token: "1000:another"})
		r.until("it names the token", func() bool { return says(r.tg.Ready(), "token is refused", "@BotFather") })
		if n := r.count("getMe") + r.count("deleteWebhook"); n > 2 {
			t.Errorf("a refused token was tried %d times at once, want a minute between", n)
		}
	})
	t.Run("token revoked", func(t *testing.T) {
		r := start(t, telegramfake.Options{})
		r.ready()
		r.fake.Fail(telegramfake.Fault{Kind: telegramfake.FaultRevoked, Count: telegramfake.Forever})
		ann := r.fake.User(7, "Ann", "en")
		r.fake.Say(r.fake.Private(ann), ann, "hello") // ends the poll that is open
		r.until("it names the token", func() bool { return says(r.tg.Ready(), "token is refused") })
	})
	t.Run("another poller", func(t *testing.T) {
		r := start(t, telegramfake.Options{Pollers: 2})
		r.ready()
		r.until("it polls", func() bool { return r.count("getMe") > 0 })
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		polled := make(chan struct{})
		go func() {
			defer close(polled)
			for ctx.Err() == nil {
				get(ctx, r.fake.URL+"/bot"+token+"/getUpdates?timeout=5")
			}
		}()
		r.until("it names the other one", func() bool { return says(r.tg.Ready(), "another program") })
		n := r.count("getUpdates")
		cancel()
		<-polled
		if n > 8 {
			t.Errorf("%d polls were made until then: it fights", n)
		}
	})
	t.Run("somebody sets a webhook", func(t *testing.T) {
		fake, err := telegramfake.Start(telegramfake.Options{Token: token}) // it holds the poll against us that cannot know
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = fake.Close() }() // it ended with the test
		r := &env{t: t, fake: fake, limiter: &limiter{}, inbox: &inbox{news: make(chan struct{}, 1)}, log: &log{}}
		r.run()
		defer r.stop()
		r.ready()
		ann := r.fake.User(7, "Ann", "en")
		get(context.Background(), r.fake.URL+"/bot"+token+"/setWebhook?url=https://bot.example.com/x&secret_token=s")
		r.fake.Say(r.fake.Private(ann), ann, "hello")
		r.until("it names the webhook", func() bool { return says(r.tg.Ready(), "webhook") })
		if n := r.count("deleteWebhook"); n != 1 {
			t.Errorf("the webhook was taken back %d times, want only at the start", n)
		}
	})
	t.Run("no server there", func(t *testing.T) {
		r := start(t, telegramfake.Options{}, func(c *telegram.Config, _ *telegram.Options) { c.APIURL = "http://" + closedPort(t) })
		r.until("it names the connection", func() bool { return says(r.tg.Ready(), "no connection") })
	})
}

func says(err error, words ...string) bool {
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) {
			return false
		}
	}
	return true
}

// get makes a request whose answer does not matter.
func get(ctx context.Context, url string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return
	}
	if resp, err := http.DefaultClient.Do(request); err == nil {
		resp.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
}

// closedPort is an address without a listener.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func TestWebhookThatIsSetIsTakenBack(t *testing.T) {
	t.Parallel()
	fake := telegramfake.New(t, telegramfake.Options{Token: token})
	get(t.Context(), fake.URL+"/bot"+token+"/setWebhook?url=https://bot.example.com/x&secret_token=s")
	ann := fake.User(7, "Ann", "en")
	r := &env{t: t, fake: fake, limiter: &limiter{}, inbox: &inbox{news: make(chan struct{}, 1)}, log: &log{}}
	r.run()
	fake.Say(fake.Private(ann), ann, "kept")
	if m := r.next(); m.Text != "kept" {
		t.Errorf("the first message is %+v, want the one that waited", m)
	}
}

func TestCommandsAreRegistered(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{}, func(_ *telegram.Config, o *telegram.Options) {
		o.Commands = func() map[string][]telegram.Command {
			return map[string][]telegram.Command{
				"en": {{Name: "task", Description: "Do something"}, {Name: "help", Description: "Say what I can"}},
				"de": {{Name: "task", Description: "Etwas tun"}},
			}
		}
	})
	r.until("three menus are registered", func() bool { return r.count("setMyCommands") == 3 })
	for language, want := range map[string]string{"": "Do something", "en": "Do something", "de": "Etwas tun"} {
		got := r.fake.Commands("default", language)
		if len(got) == 0 || got[0].Command != "task" || got[0].Description != want {
			t.Errorf("the menu of language %q is %+v, want it to begin with %q", language, got, want)
		}
	}
}

func TestTry(t *testing.T) {
	t.Parallel()
	fake := telegramfake.New(t, telegramfake.Options{Token: token, Name: "Legs", Username: "legs_bot"})
	who, err := telegram.Try(t.Context(), telegram.Config{Token: token, APIURL: fake.URL + "/"})
	if err != nil || who != "@legs_bot (Legs)" {
		t.Errorf("Try gave %q and %v, want the bot's names", who, err)
	}
	for _, test := range []struct{ name, token, url, want string }{
		{"other token", "1000:CANARY-canary_CANARY-canary_CANARY-2", fake.URL, "token is refused"},
		{"no token", "", fake.URL, "telegram.token"},
		{"wrong address", token, "http://" + closedPort(t), "no connection"},
	} {
		who, err := telegram.Try(t.Context(), telegram.Config{Token: test.token, APIURL: test.url})
		if who != "" || !says(err, test.want) || says(err, "CANARY") {
			t.Errorf("%s: Try gave %q and %v, want an error about %q without the token", test.name, who, err, test.want)
		}
	}
}

func TestMistakesAreRefused(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]telegram.Config{
		"no token":          {},
		"no webhook secret": {Token: token, Mode: telegram.ModeWebhook, Webhook: telegram.Webhook{URL: "https://bot.example.com/x"}},
		"no webhook url":    {Token: token, Mode: telegram.ModeWebhook, Webhook: telegram.Webhook{Secret: "s"}},
		"unknown mode":      {Token: token, Mode: "both"},
	} {
		if _, err := telegram.New(cfg, telegram.Options{RateLimiter: &limiter{}}); !says(err, "telegram.") || says(err, "CANARY") {
			t.Errorf("%s: New gave %v, want it refused without the token", name, err)
		}
	}
	if _, err := telegram.New(telegram.Config{Token: token}, telegram.Options{}); err == nil {
		t.Error("New took options without a limiter")
	}
}

func TestPollingDoesNotWaitForTheName(t *testing.T) {
	t.Parallel()
	s := &script{answer: func(method string, params map[string]string) (string, error) {
		if method == "getMe" {
			time.Sleep(3 * time.Second) //nolint:forbidigo // of a bubble
		}
		if method == "getUpdates" && params["offset"] == "" {
			return `{"ok":true,"result":[{"update_id":41,"message":{` + private + `,"text":"hello"}}]}`, nil
		}
		return usual(method, params)
	}}
	in := &inbox{news: make(chan struct{}, 1)}
	bubble(t, s, in, func(t *testing.T, tg *telegram.Telegram) {
		if n := len(s.of("getUpdates")); n != 1 {
			t.Errorf("there were %d polls before the name is known, want 1", n)
		}
		if _, messages := in.seen(); len(messages) != 0 || tg.Ready() == nil {
			t.Errorf("before the name is known %+v was handed on, ready: %v", messages, tg.Ready())
		}
		pass(4 * time.Second)
		if _, messages := in.seen(); len(messages) != 1 || tg.Ready() != nil {
			t.Errorf("with the name %+v was handed on, ready: %v", messages, tg.Ready())
		}
	})
}

// BenchmarkFirstPoll measures from New to the first message that waits there;
// the limit of the first poll alone is 50 ms.
func BenchmarkFirstPoll(b *testing.B) {
	fake := telegramfake.New(b, telegramfake.Options{Token: token})
	ann := fake.User(7, "Ann", "en")
	dm := fake.Private(ann)
	for b.Loop() {
		fake.Say(dm, ann, "hello")
		tg, err := telegram.New(telegram.Config{Token: token, APIURL: fake.URL}, telegram.Options{RateLimiter: &limiter{}, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(b.Context())
		if err := tg.Run(ctx, func(context.Context, []bot.Message) error { cancel(); return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
