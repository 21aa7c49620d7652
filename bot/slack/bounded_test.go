package slack_test

import (
	"compress/gzip"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"legwork/bot"
	"legwork/bot/slack"
)

// TestEndlessAnswers: an answer without an end, packed or not, is given up after
// some megabytes.
func TestEndlessAnswers(t *testing.T) {
	t.Parallel()
	for _, packed := range []bool{false, true} {
		var sent atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			page := []byte(strings.Repeat(" ", 1<<20))
			write := w.Write
			if packed {
				w.Header().Set("Content-Encoding", "gzip")
				z := gzip.NewWriter(w)
				write = z.Write
			}
			for r.Context().Err() == nil && sent.Load() < 1<<30 {
				n, err := write(page)
				if err != nil {
					return
				}
				sent.Add(int64(n))
			}
		}))
		s, err := slack.New(slack.Config{BotToken: "xoxb-1-1-a", AppToken: "xapp-1-A-1-a", APIURL: server.URL + "/"}, slack.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), span)
		began := time.Now()
		_, err = s.Post(ctx, bot.Chat{Platform: slack.Name, ID: "C1"}, bot.Draft{Kind: bot.KindNotice, Text: "hi"})
		cancel()
		server.CloseClientConnections()
		server.Close()
		if err == nil || ctx.Err() == context.DeadlineExceeded && time.Since(began) >= span || sent.Load() >= 1<<30 {
			t.Errorf("packed %v: %v after %v and %d MiB, want it given up early", packed, err, time.Since(began), sent.Load()>>20)
		}
	}
}
