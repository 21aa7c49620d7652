package telegram_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"legwork/bot"
	"legwork/bot/telegram"
	"legwork/internal/test/fakes/telegramfake"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	yes := bot.Draft{Kind: bot.KindAnswer, Text: "**yes**", ReplyTo: "1"}
	tests := []struct {
		name  string
		act   func(r *env, ann telegramfake.User, group int64) bot.Chat
		draft bot.Draft
		gone  bool
	}{
		{"blocked", func(r *env, ann telegramfake.User, _ int64) bot.Chat {
			dm := r.fake.Private(ann)
			r.fake.Block(ann)
			return chatOf(dm)
		}, yes, true},
		{"deactivated", func(r *env, ann telegramfake.User, _ int64) bot.Chat {
			dm := r.fake.Private(ann)
			r.fake.Deactivate(ann)
			return chatOf(dm)
		}, yes, true},
		{"kicked", func(r *env, ann telegramfake.User, group int64) bot.Chat {
			r.fake.KickBot(group, ann)
			return chatOf(group)
		}, yes, true},
		{"no such chat", func(*env, telegramfake.User, int64) bot.Chat { return chatOf(-4711) }, yes, true},
		{"never wrote to the bot", func(_ *env, ann telegramfake.User, _ int64) bot.Chat { return chatOf(ann.ID) }, yes, true},
		{"no chat at all", func(*env, telegramfake.User, int64) bot.Chat { return bot.Chat{Platform: "telegram", ID: "main"} }, yes, true},
		{"deleted topic", func(_ *env, _ telegramfake.User, group int64) bot.Chat {
			c := chatOf(group)
			c.Thread = "4711"
			return c
		}, yes, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := start(t, telegramfake.Options{})
			r.ready()
			ann := r.fake.User(7, "Ann", "en")
			group := r.fake.Forum("Team", ann)
			chat := test.act(r, ann, group)
			for range 6 { // a client that goes on asking a chat which refused it is a violation
				_, err := r.tg.Post(context.Background(), chat, test.draft)
				if errors.Is(err, bot.ErrGone) != test.gone || err != nil && !test.gone {
					t.Fatalf("posting gave %v, want gone: %t", err, test.gone)
				}
				if err := r.tg.Edit(context.Background(), chat, "3", bot.Draft{Kind: bot.KindBoard, Text: "x", Board: &bot.Board{Status: "x"}}); errors.Is(err, bot.ErrGone) != test.gone {
					t.Fatalf("editing gave %v, want gone: %t", err, test.gone)
				}
				if !test.gone {
					break
				}
			}
		})
	}
}

func TestBlockedBotSpeaksAgainWhenItMay(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{})
	ann := r.fake.User(7, "Ann", "en")
	dm := r.fake.Private(ann)
	r.fake.Block(ann)
	if _, err := r.tg.Post(context.Background(), chatOf(dm), bot.Draft{Kind: bot.KindNotice, Text: "x"}); !errors.Is(err, bot.ErrGone) {
		t.Fatalf("posting to somebody who blocked the bot gave %v, want ErrGone", err)
	}
	r.fake.Unblock(ann)
	r.fake.Say(dm, ann, "/start")
	r.next()
	r.post(chatOf(dm), bot.Draft{Kind: bot.KindNotice, Text: "welcome back"})
}

func TestGroupBecomesSupergroup(t *testing.T) {
	t.Parallel()
	for _, told := range []bool{true, false} {
		t.Run(fmt.Sprintf("told before sending %t", told), func(t *testing.T) {
			r := start(t, telegramfake.Options{})
			ann := r.fake.User(7, "Ann", "en")
			old := r.fake.Group("Team", ann)
			board := bot.Draft{Kind: bot.KindBoard, Board: &bot.Board{Status: "working"}}
			id := r.post(chatOf(old), board)
			if !told {
				r.fake.Fail(telegramfake.Fault{Kind: telegramfake.FaultDown, Method: "getUpdates", Count: telegramfake.Forever})
			}
			now := r.fake.Migrate(old)
			if told {
				if m := r.next(); m.Kind != bot.MessageMove || m.MovedTo.ID != strconv.FormatInt(now, 10) {
					t.Fatalf("the bot was told %+v, want that the group moved to %d", m, now)
				}
			}
			r.post(chatOf(old), bot.Draft{Kind: bot.KindAnswer, Text: "here"})
			board.Board.Status = "done"
			err := r.tg.Edit(context.Background(), chatOf(old), id, board)
			if _, ok := errors.AsType[*bot.MovedError](err); !ok {
				t.Errorf("editing a message of the old group gave %v, want it moved", err)
			}
			if got := r.shown(now); len(got) != 2 || got[0] != "here" || got[1] != "done" {
				t.Errorf("the new group shows %q, want both messages", got)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{})
	ann := r.fake.User(7, "Ann", "en")
	dm, other := r.fake.Private(ann), r.fake.Private(r.fake.User(8, "Bob", "en"))
	id := r.post(chatOf(dm), bot.Draft{Kind: bot.KindBoard, Board: &bot.Board{Status: "1"}})
	r.fake.Fail(telegramfake.Fault{Kind: telegramfake.FaultBusy, Chat: dm, RetryAfter: 1})
	err := r.tg.Edit(context.Background(), chatOf(dm), id, bot.Draft{Kind: bot.KindBoard, Partial: true, Board: &bot.Board{Status: "2"}})
	if later, ok := errors.AsType[*bot.LaterError](err); !ok || later.After <= 0 || later.After > time.Second {
		t.Errorf("a frame in the middle of a rate limit gave %v, want it put off for the second", err)
	}
	r.post(chatOf(other), bot.Draft{Kind: bot.KindAnswer, Text: "meanwhile"})
	if held := r.limiter.held; len(held) != 1 || held[0] != (bot.Request{Account: "1000", Chat: "7"}) {
		t.Errorf("the limiter was told to leave %+v alone, want that chat only", held)
	}
	begun := time.Now()
	r.post(chatOf(dm), bot.Draft{Kind: bot.KindAnswer, Text: "the answer"})
	if waited := time.Since(begun); waited < 500*time.Millisecond {
		t.Errorf("the answer went out after %s, want after the second was over", waited)
	}
	r.fake.Fail(telegramfake.Fault{Kind: telegramfake.FaultBusy, Chat: dm, RetryAfter: 1})
	r.post(chatOf(dm), bot.Draft{Kind: bot.KindAnswer, Text: "the second"})
	if got := r.shown(dm); len(got) != 3 || got[2] != "the second" {
		t.Errorf("the chat shows %q, want every lasting message", got)
	}
}

// TestTokenIsInNoError calls everything while the server fails in every way that
// an address could get into an error or a log.
func TestTokenIsInNoError(t *testing.T) {
	echo := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			fmt.Fprintf(w, body, r.URL.Path)
		}
	}
	servers := map[string]http.HandlerFunc{
		"echoes the address": echo(http.StatusBadRequest, `{"ok":false,"error_code":400,"description":"Bad Request: %s"}`),
		"echoes as a page":   echo(http.StatusBadGateway, "<html>%s</html>"),
		"echoes as success":  echo(http.StatusOK, "%s"),
		"wrong result":       echo(http.StatusOK, `{"ok":true,"result":"%s"}`),
		"half": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "{")
		},
		"cuts": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"redirects": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1"+r.URL.Path, http.StatusFound)
		},
		"redirects badly": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://%zz"+r.URL.Path)
			w.WriteHeader(http.StatusMovedPermanently)
		},
		"speaks no HTTP": nil,
		"is not there":   nil,
	}
	for name, handler := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := closedPort(t)
			if handler != nil {
				server := httptest.NewServer(handler)
				defer server.Close()
				address = strings.TrimPrefix(server.URL, "http://")
			}
			scheme := "http://"
			if name == "speaks no HTTP" {
				scheme = "https://"
			}
			log := &log{}
			tg, err := telegram.New(telegram.Config{Token: token, APIURL: scheme + address}, telegram.Options{
				RateLimiter: &limiter{}, Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
				Commands: func() map[string][]telegram.Command {
					return map[string][]telegram.Command{"en": {{Name: "task", Description: "x"}}}
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			if err := tg.Run(ctx, func(context.Context, []bot.Message) error { return nil }); err != nil {
				t.Errorf("Run returned %v, want nil", err)
			}
			dm := bot.Chat{Platform: "telegram", ID: "7", Private: true}
			draft := bot.Draft{Kind: bot.KindAnswer, Task: "1", Text: "x"}
			_, posted := tg.Post(t.Context(), dm, draft)
			_, tried := telegram.Try(t.Context(), telegram.Config{Token: token, APIURL: scheme + address})
			all := errors.Join(
				posted, tried, tg.Edit(t.Context(), dm, "3", draft), tg.Stream(t.Context(), dm, draft),
				tg.Answer(t.Context(), bot.Message{Token: "7"}, "x"), tg.Ready(),
			)
			text := fmt.Sprintf("%v %+v %q %s %s", all, all, log, tg, fmt.Sprintf("%v %+v %#v", tg, tg, tg))
			for e := range chain(all) {
				text += fmt.Sprintf(" %v %+v", e, e)
			}
			for _, secret := range []string{token, "CANARY"} {
				if strings.Contains(text, secret) {
					t.Errorf("the token is in an error or in the log:\n%s", text)
				}
			}
			if tg.Ready() == nil {
				t.Error("it is ready all the same")
			}
		})
	}
}

// chain yields an error and everything it wraps.
func chain(err error) func(func(error) bool) {
	return func(yield func(error) bool) {
		if err == nil || !yield(err) {
			return
		}
		switch e := err.(type) { //nolint:errorlint // each step of the chain is wanted
		case interface{ Unwrap() error }:
			chain(e.Unwrap())(yield)
		case interface{ Unwrap() []error }:
			for _, one := range e.Unwrap() {
				chain(one)(yield)
			}
		}
	}
}
