package telegram_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"legwork/bot"
	"legwork/bot/telegram"
	"legwork/internal/test/fakes/telegramfake"
)

func TestPollingDoesNotWaitForTheName(t *testing.T) {
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
