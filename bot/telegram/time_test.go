package telegram_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"legwork/bot"
	"legwork/bot/telegram"
	"legwork/internal/retry"
)

// script answers requests at once and without a socket, so that time in a
// bubble passes as it likes.
type script struct {
	mu     sync.Mutex
	answer func(method string, params map[string]string) (string, error)
	slow   func(method string, params map[string]string) time.Duration // how long a call hangs; nil: none does
	calls  []scripted
}

type scripted struct {
	at     time.Time
	method string
	params map[string]string
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if err := r.ParseForm(); err != nil {
		return nil, err
	}
	params := map[string]string{}
	for name := range r.PostForm {
		params[name] = r.PostForm.Get(name)
	}
	method := path.Base(r.URL.Path)
	s.mu.Lock()
	s.calls = append(s.calls, scripted{time.Now(), method, params})
	answer := s.answer
	s.mu.Unlock()
	if s.slow != nil {
		if err := retry.Sleep(r.Context(), s.slow(method, params)); err != nil {
			return nil, err
		}
	}
	text, err := answer(method, params)
	if text == "" && err == nil && method == "getUpdates" { // a long poll
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-time.After(50 * time.Second):
			text = `{"ok":true,"result":[]}`
		}
	}
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(text)), Header: http.Header{}, Request: r}, nil
}

func (s *script) of(method string) []scripted {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []scripted
	for _, c := range s.calls {
		if c.method == method {
			list = append(list, c)
		}
	}
	return list
}

// usual is what a healthy server says.
func usual(method string, _ map[string]string) (string, error) {
	switch method {
	case "getMe":
		return `{"ok":true,"result":{"id":1000,"is_bot":true,"first_name":"L","username":"legwork_bot"}}`, nil
	case "getUpdates":
		return "", nil
	case "sendMessage", "editMessageText":
		return `{"ok":true,"result":{"message_id":5}}`, nil
	}
	return `{"ok":true,"result":true}`, nil
}

// bubble runs a platform on a script inside a bubble of time.
func bubble(t *testing.T, s *script, in *inbox, body func(*testing.T, *telegram.Telegram)) {
	t.Helper()
	bubbleWith(t, s, in, func() bot.RateLimiter { return &limiter{} }, body)
}

// bubbleWith runs it with a limiter of the test's, made in the bubble.
func bubbleWith(t *testing.T, s *script, in *inbox, p func() bot.RateLimiter, body func(*testing.T, *telegram.Telegram)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tg, err := telegram.New(telegram.Config{Token: token}, telegram.Options{RateLimiter: p()}.WithTransport(s))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- tg.Run(ctx, in.handle) }()
		synctest.Wait()
		body(t, tg)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run returned %v, want nil", err)
		}
	})
}

// pass lets the bubble's time pass.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // of a bubble
	synctest.Wait()
}

func TestDownForAnHour(t *testing.T) {
	begun := time.Time{}
	s := &script{}
	s.answer = func(method string, params map[string]string) (string, error) {
		down := time.Since(begun) > time.Minute && time.Since(begun) < time.Minute+time.Hour
		if method == "getUpdates" && down {
			return "", errors.New("connection refused")
		}
		if method == "getUpdates" && time.Since(begun) > time.Hour && params["offset"] == "" {
			return `{"ok":true,"result":[{"update_id":41,"message":{` + private + `,"text":"at last"}}]}`, nil
		}
		return usual(method, params)
	}
	synctest.Test(t, func(*testing.T) { begun = time.Now() }) // every bubble begins at the same time
	in := &inbox{news: make(chan struct{}, 1)}
	bubble(t, s, in, func(t *testing.T, tg *telegram.Telegram) {
		pass(30 * time.Minute)
		if !says(tg.Ready(), "no connection") {
			t.Errorf("in the middle Ready says %v", tg.Ready())
		}
		if n := len(s.of("getUpdates")); n < 60 || n > 200 {
			t.Errorf("in half an hour there were %d tries, want one about every 25 s", n)
		}
		pass(31*time.Minute + 30*time.Second)
		if _, messages := in.seen(); len(messages) != 1 || messages[0].Text != "at last" || tg.Ready() != nil {
			t.Errorf("half a minute after the network is back there are %+v, ready: %v", messages, tg.Ready())
		}
	})
}

func TestRefusedTokenIsTriedEachMinute(t *testing.T) {
	t.Parallel()
	s := &script{answer: func(string, map[string]string) (string, error) {
		return `{"ok":false,"error_code":401,"description":"Unauthorized"}`, nil
	}}
	bubble(t, s, &inbox{}, func(t *testing.T, tg *telegram.Telegram) {
		pass(10*time.Minute + time.Second)
		for _, method := range []string{"getMe", "deleteWebhook"} {
			if n := len(s.of(method)); n != 11 {
				t.Errorf("%s was called %d times in ten minutes, want once a minute", method, n)
			}
		}
		s.mu.Lock()
		s.answer = usual
		s.mu.Unlock()
		pass(time.Minute)
		if err := tg.Ready(); err != nil {
			t.Errorf("a minute after the token is taken again Ready says %v", err)
		}
	})
}

func TestHandlerThatFailsIsNotSpunOn(t *testing.T) {
	t.Parallel()
	s := &script{answer: func(method string, params map[string]string) (string, error) {
		if method == "getUpdates" && params["offset"] == "" {
			return `{"ok":true,"result":[{"update_id":41,"message":{` + private + `,"text":"hello"}}]}`, nil
		}
		return usual(method, params)
	}}
	in := &inbox{news: make(chan struct{}, 1), fail: 20}
	bubble(t, s, in, func(t *testing.T, _ *telegram.Telegram) {
		pass(5 * time.Minute)
		if batches, _ := in.seen(); batches < 8 || batches > 20 {
			t.Errorf("a batch that could not be stored was offered %d times in five minutes, want longer and longer pauses", batches)
		}
		pass(10 * time.Minute)
		if batches, messages := in.seen(); len(messages) != 1 || batches != 21 {
			t.Errorf("after %d batches %+v was stored, want the message once", batches, messages)
		}
		polls := s.of("getUpdates")
		if last := polls[len(polls)-1].params["offset"]; last != "42" {
			t.Errorf("the last poll asked from %q, want 42", last)
		}
	})
}

func TestDraftIsKeptAliveAndEnds(t *testing.T) {
	t.Parallel()
	dm := bot.Chat{Platform: "telegram", ID: "7", Private: true}
	s := &script{answer: usual}
	bubble(t, s, &inbox{}, func(t *testing.T, tg *telegram.Telegram) {
		ctx := t.Context()
		stream := func(d bot.Draft) {
			t.Helper()
			d.Task = "01J"
			if err := tg.Stream(ctx, dm, d); err != nil {
				t.Fatalf("streaming %+v: %v", d, err)
			}
		}
		begin := time.Now()
		stream(bot.Draft{Kind: bot.KindBoard, Board: &bot.Board{Status: "thinking"}, Partial: true})
		pass(45 * time.Second)
		stream(bot.Draft{Kind: bot.KindAnswer, Text: "It **is", Partial: true})
		pass(45 * time.Second)
		var got []string
		for _, c := range s.of("sendMessageDraft") {
			got = append(got, fmt.Sprintf("%ds %q", int(c.at.Sub(begin).Seconds()), c.params["text"]))
			if c.params["draft_id"] == "" || c.params["draft_id"] == "0" || c.params["draft_id"] != s.of("sendMessageDraft")[0].params["draft_id"] {
				t.Errorf("draft_id is %q, want one that is not 0 and stays", c.params["draft_id"])
			}
		}
		want := `[0s "" 20s "" 40s "" 45s "It <b>is</b> ▌" 65s "It <b>is</b> ▌" 85s "It <b>is</b> ▌"]`
		if fmt.Sprint(got) != want {
			t.Errorf("the drafts were\n%s\nwant\n%s", got, want)
		}
		if _, err := tg.Post(ctx, dm, bot.Draft{Kind: bot.KindAnswer, Task: "01J", Text: "It **is**."}); err != nil {
			t.Fatal(err)
		}
		n := len(s.of("sendMessageDraft"))
		pass(time.Hour)
		if more := len(s.of("sendMessageDraft")) - n; more != 0 {
			t.Errorf("after the answer the draft was shown %d times more", more)
		}

		stream(bot.Draft{Kind: bot.KindAnswer, Text: "perhaps", Partial: true})
		stream(bot.Draft{Kind: bot.KindAnswer, Partial: true}) // no answer after all
		n = len(s.of("sendMessageDraft"))
		if last := s.of("sendMessageDraft")[n-1]; last.params["text"] != "" {
			t.Errorf("words that were taken back leave %q, want nothing", last.params["text"])
		}
		pass(time.Hour)
		if more := len(s.of("sendMessageDraft")) - n; more != 0 {
			t.Errorf("after it was taken back the draft was shown %d times more", more)
		}

		stream(bot.Draft{Kind: bot.KindBoard, Board: &bot.Board{}, Partial: true}) // of a task that never ends
		pass(time.Hour)
		if all := len(s.of("sendMessageDraft")) - n; all > 50 {
			t.Errorf("a forgotten draft was shown %d times in an hour, want it to end", all)
		}
	})
}

func TestTypingAtMostEveryFiveSeconds(t *testing.T) {
	t.Parallel()
	team := bot.Chat{Platform: "telegram", ID: "-100"}
	s := &script{answer: usual}
	bubble(t, s, &inbox{}, func(t *testing.T, tg *telegram.Telegram) {
		for range 12 {
			if _, err := tg.Post(t.Context(), team, bot.Draft{Kind: bot.KindBoard, Board: &bot.Board{Status: "x"}}); err != nil {
				t.Fatal(err)
			}
			pass(time.Second)
		}
		if n := len(s.of("sendChatAction")); n != 3 {
			t.Errorf("typing was shown %d times in twelve seconds, want 3", n)
		}
	})
}

// TestWebhookThatDoesNotDeliver: Ready tells what Telegram says of its webhook,
// and one that another program put in its place is set again.
func TestWebhookThatDoesNotDeliver(t *testing.T) {
	const mine = "https://bot.example.com/telegram/webhook"
	type info struct {
		url, failure string
		waiting      int
		ago          time.Duration
	}
	good := info{url: mine}
	s := &script{}
	now := good // with the lock of s
	s.answer = func(method string, params map[string]string) (string, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch method {
		case "setWebhook":
			now = good
		case "getWebhookInfo":
			failed := time.Now().Add(-now.ago).Unix()
			return fmt.Sprintf(`{"ok":true,"result":{"url":%q,"pending_update_count":%d,"last_error_date":%d,"last_error_message":%q}}`, now.url, now.waiting, failed, now.failure), nil
		}
		return usual(method, params)
	}
	synctest.Test(t, func(t *testing.T) {
		cfg := telegram.Config{Token: token, Mode: telegram.ModeWebhook, Webhook: telegram.Webhook{URL: mine, Secret: "s"}}
		tg, err := telegram.New(cfg, telegram.Options{RateLimiter: &limiter{}}.WithTransport(s))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- tg.Run(ctx, (&inbox{}).handle) }()
		synctest.Wait()
		for _, test := range []struct {
			now   info
			ready bool
		}{
			{good, true},
			{info{mine, "Connection refused", 3, 10 * time.Second}, false},
			{info{mine, "Connection refused", 3, time.Hour}, true},
			{info{mine, "Connection refused", 0, time.Second}, true},
			{info{"https://elsewhere.example.com", "", 0, 0}, true},
			{info{"", "", 0, 0}, true},
		} {
			s.mu.Lock()
			now = test.now
			s.mu.Unlock()
			pass(90 * time.Second)
			if err := tg.Ready(); (err == nil) != test.ready || err != nil && !strings.Contains(err.Error(), test.now.failure) {
				t.Errorf("of %+v Ready says %v, want ready: %t", test.now, err, test.ready)
			}
		}
		if n := len(s.of("setWebhook")); n != 3 {
			t.Errorf("the webhook was set %d times, want at the start and after each of two changes", n)
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run returned %v, want nil", err)
		}
	})
}
