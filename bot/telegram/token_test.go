package telegram_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"legwork/bot"
	"legwork/bot/telegram"
)

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
