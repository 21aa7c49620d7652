package telegram_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"legwork/bot"
	"legwork/bot/ratelimit"
	"legwork/bot/telegram"
	"legwork/internal/test/fakes/telegramfake"
)

// TestFramesStayWithinTheRates streams to a person and into a group as fast as
// it may, with the real limiter before the fake's rates, which are the real ones.
func TestFramesStayWithinTheRates(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{}, func(_ *telegram.Config, o *telegram.Options) { o.RateLimiter = ratelimit.New(ratelimit.Telegram()...) })
	ann := r.fake.User(7, "Ann", "en")
	dm, team := r.fake.Private(ann), r.fake.Group("Team", ann)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	board := func(n int) bot.Draft {
		return bot.Draft{Kind: bot.KindBoard, Task: "2", Partial: true, Board: &bot.Board{Status: fmt.Sprint("Working ", n)}}
	}
	id := r.post(chatOf(team), board(0))
	var all sync.WaitGroup
	flood := func(frame func(n int) error) {
		for n := 1; ctx.Err() == nil; n++ {
			err := frame(n)
			later, ok := errors.AsType[*bot.LaterError](err)
			if err != nil && !ok && ctx.Err() == nil {
				t.Errorf("frame %d: %v", n, err)
			}
			if ok {
				select {
				case <-time.After(later.After):
				case <-ctx.Done():
				}
			}
		}
	}
	all.Go(func() {
		flood(func(n int) error {
			return r.tg.Stream(ctx, chatOf(dm), bot.Draft{Kind: bot.KindAnswer, Task: "1", Partial: true, Text: fmt.Sprint("word ", n)})
		})
	})
	all.Go(func() { flood(func(n int) error { return r.tg.Edit(ctx, chatOf(team), id, board(n)) }) })
	all.Wait()
	r.post(chatOf(dm), bot.Draft{Kind: bot.KindAnswer, Task: "1", Text: "the answer"})
	r.post(chatOf(team), bot.Draft{Kind: bot.KindAnswer, Task: "2", Text: "the answer"})
	shown := map[string]int{}
	for _, e := range r.fake.Log() {
		if e.Code == http.StatusTooManyRequests {
			t.Errorf("%s to %d came too early", e.Method, e.Chat)
		}
		shown[e.Method]++
	}
	if shown["sendMessageDraft"] < 3 || shown["editMessageText"] < 1 {
		t.Errorf("in five seconds there were %d drafts and %d edits, want some", shown["sendMessageDraft"], shown["editMessageText"])
	}
}

func TestRateLimitInTheMiddleOfAStream(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true})
	ann := r.fake.User(7, "Ann", "en")
	dm := r.fake.Private(ann)
	words := bot.Draft{Kind: bot.KindAnswer, Task: "1", Partial: true, Text: "It"}
	if err := r.tg.Stream(t.Context(), chatOf(dm), words); err != nil {
		t.Fatal(err)
	}
	r.fake.Fail(telegramfake.Fault{Kind: telegramfake.FaultBusy, Method: "sendMessageDraft", RetryAfter: 1})
	words.Text = "It is"
	for range 2 {
		if later, ok := errors.AsType[*bot.LaterError](r.tg.Stream(t.Context(), chatOf(dm), words)); !ok || later.After > time.Second {
			t.Errorf("a frame in the middle of a rate limit gave %v, want it put off", later)
		}
	}
	if !r.tg.Streams(chatOf(dm)) {
		t.Error("a rate limit ended streaming")
	}
	r.post(chatOf(dm), bot.Draft{Kind: bot.KindAnswer, Task: "1", Text: "It is so."})
	if got := r.shown(dm); len(got) != 1 || got[0] != "It is so." {
		t.Errorf("the chat shows %q, want the answer", got)
	}
}

// TestMarkupThatTelegramRefuses lets a server take texts without markup alone.
func TestMarkupThatTelegramRefuses(t *testing.T) {
	t.Parallel()
	s := &script{answer: func(method string, params map[string]string) (string, error) {
		if params["parse_mode"] != "" {
			return `{"ok":false,"error_code":400,"description":"Bad Request: can't parse entities: Unsupported start tag"}`, nil
		}
		return usual(method, params)
	}}
	team := bot.Chat{Platform: "telegram", ID: "-100"}
	bubble(t, s, &inbox{}, func(t *testing.T, tg *telegram.Telegram) {
		for _, test := range []struct {
			draft bot.Draft
			want  string
		}{
			{bot.Draft{Kind: bot.KindAnswer, Text: "**See** [docs](https://go.dev/doc) & `a<b`", Footer: "2 s"}, "See docs (https://go.dev/doc) & a<b\n\n2 s"},
			{bot.Draft{Kind: bot.KindBoard, Board: &bot.Board{Title: "a<b", Status: "Working", Items: []bot.Item{{Title: "x", Group: "web", State: "done"}}}}, "a<b\nWorking\n\n✅ x · web"},
			{bot.Draft{Kind: bot.KindAnswer, Text: strings.Repeat("[x](https://example.com/a-long-address) ", 400), Part: 2}, ""},
		} {
			if _, err := tg.Post(t.Context(), team, test.draft); err != nil {
				t.Errorf("posting %+v: %v", test.draft, err)
				continue
			}
			calls := s.of("sendMessage")
			got := calls[len(calls)-1].params["text"]
			if test.want != "" && got != test.want || telegramfake.Length(got) > telegramfake.MaxText || !strings.Contains(got, "x") && test.want == "" {
				t.Errorf("%+v went out as %q, want %q", test.draft, got, test.want)
			}
		}
	})
}

// TestUnknownRefusals: whatever Telegram has against how a message looks, its
// words arrive.
func TestUnknownRefusals(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		against string // the parameter that is not taken
		want    string // which of the parameters that matter are left; empty: it fails
	}{
		{"parse_mode", "reply_markup"},
		{"reply_markup", "-"},
		{"text", ""},
	} {
		t.Run(test.against, func(t *testing.T) {
			s := &script{answer: func(method string, params map[string]string) (string, error) {
				if params[test.against] != "" && strings.HasPrefix(method, "send") {
					return `{"ok":false,"error_code":400,"description":"Bad Request: SOMETHING_NEW"}`, nil
				}
				return usual(method, params)
			}}
			bubble(t, s, &inbox{}, func(t *testing.T, tg *telegram.Telegram) {
				draft := bot.Draft{Kind: bot.KindAnswer, Text: "**yes**", Buttons: []bot.Button{{Label: "Details", Data: "d"}}}
				_, err := tg.Post(t.Context(), bot.Chat{Platform: "telegram", ID: "-100"}, draft)
				calls := s.of("sendMessage")
				if test.want == "" {
					if err == nil || errors.Is(err, bot.ErrGone) || len(calls) > 4 {
						t.Errorf("got %v after %d calls, want an error that may pass", err, len(calls))
					}
					return
				}
				left := "-"
				for _, name := range []string{"parse_mode", "reply_markup"} {
					if calls[len(calls)-1].params[name] != "" {
						left = name
					}
				}
				if got := calls[len(calls)-1].params["text"]; err != nil || got != "yes" || left != test.want {
					t.Errorf("got %v; %q went out with %s, want %q with %s", err, got, left, "yes", test.want)
				}
			})
		})
	}
}

// TestLongLimit: a chat that Telegram wants left alone for an hour holds up no
// other chat, is asked again when the hour is over and not before, and does
// not keep the program from stopping.
func TestLongLimit(t *testing.T) {
	until := sync.OnceValue(func() time.Time { return time.Now().Add(time.Hour) }) // from the first message on
	s := &script{}
	s.answer = func(method string, params map[string]string) (string, error) {
		if method != "sendMessage" || params["chat_id"] != "7" {
			return usual(method, params)
		}
		if left := time.Until(until()); left > 0 {
			return fmt.Sprintf(`{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 3600","parameters":{"retry_after":%d}}`, int(left.Seconds())), nil
		}
		return usual(method, params)
	}
	answer := bot.Draft{Kind: bot.KindAnswer, Text: "yes"}
	bubbleWith(t, s, &inbox{}, func() bot.RateLimiter { return ratelimit.New(ratelimit.Telegram()...) }, func(t *testing.T, tg *telegram.Telegram) {
		begun := time.Now()
		shown := make(chan error)
		go func() {
			_, err := tg.Post(t.Context(), chatOf(7), answer)
			shown <- err
		}()
		stopped, stop := context.WithCancel(t.Context())
		gone := make(chan error)
		go func() {
			_, err := tg.Post(stopped, chatOf(7), answer)
			gone <- err
		}()
		synctest.Wait()
		for id := range int64(40) {
			if _, err := tg.Post(t.Context(), chatOf(100+id), answer); err != nil {
				t.Errorf("posting to another chat: %v", err)
			}
		}
		if waited := time.Since(begun); waited > 2*time.Second {
			t.Errorf("forty other chats had their answers after %s", waited)
		}
		stop()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("a post that was given up gave %v", err)
		}
		if err := <-shown; err != nil {
			t.Errorf("after the limit: %v", err)
		}
		if waited := time.Since(begun); waited < time.Hour || waited > time.Hour+2*time.Second {
			t.Errorf("the answer went out after %s, want an hour", waited)
		}
		tries := 0
		for _, c := range s.of("sendMessage") {
			if c.params["chat_id"] == "7" {
				tries++
			}
		}
		if tries > 4 { // the second post may be under way already when the first is refused
			t.Errorf("the chat was tried %d times, want once before and once after", tries)
		}
	})
}
