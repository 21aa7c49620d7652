package telegram_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"strconv"
	"strings"
	"testing"
	"time"

	"legwork/bot"
	"legwork/bot/telegram"
	"legwork/internal/test/fakes/telegramfake"
)

func TestDrafts(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true})
	ann := r.fake.User(7, "Ann", "en")
	dm := r.fake.Private(ann)
	ctx, chat := context.Background(), chatOf(dm)
	if !r.tg.Streams(chat) || r.tg.Streams(chatOf(-5)) {
		t.Errorf("it streams in private %t and in groups %t, want true and false", r.tg.Streams(chat), r.tg.Streams(chatOf(-5)))
	}
	long := strings.Repeat("many words ", 1000)
	for _, frame := range []struct {
		draft bot.Draft
		want  string
	}{
		{bot.Draft{Kind: bot.KindBoard, Board: &bot.Board{Status: "Thinking"}, Partial: true}, ""},
		{bot.Draft{Kind: bot.KindBoard, Text: "Waiting for you", Board: &bot.Board{Status: "Waiting for you"}, Partial: true}, "Waiting for you"},
		{bot.Draft{Kind: bot.KindAnswer, Text: "It **is", Partial: true}, "It is ▌"},
		{bot.Draft{Kind: bot.KindAnswer, Text: long + "and the end", Partial: true}, "and the end ▌"},
	} {
		frame.draft.Task = "01J"
		if err := r.tg.Stream(ctx, chat, frame.draft); err != nil {
			t.Fatalf("streaming %q: %v", frame.draft.Text, err)
		}
		shown := r.fake.Chat(dm).Drafts
		if len(shown) != 1 || !strings.HasSuffix(shown[0].Text, frame.want) || (shown[0].Text == "") != (frame.want == "") {
			t.Errorf("of %q is shown %+v, want one draft that ends with %q", frame.draft.Text, shown, frame.want)
		}
	}
	r.post(chat, bot.Draft{Kind: bot.KindAnswer, Task: "01J", Text: "It **is**."})
	if c := r.fake.Chat(dm); len(c.Drafts) != 0 || len(c.Bots()) != 1 || c.Bots()[0].Text != "It is." {
		t.Errorf("after the answer the chat shows %+v, want the answer alone", c)
	}
}

func TestDraftInATopic(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true})
	ann := r.fake.User(7, "Ann", "en")
	dm := r.fake.Private(ann)
	chat := chatOf(dm)
	chat.Thread = strconv.Itoa(r.fake.Topic(dm, "Trips"))
	if err := r.tg.Stream(context.Background(), chat, bot.Draft{Kind: bot.KindAnswer, Task: "1", Text: "x", Partial: true}); err != nil {
		t.Fatal(err)
	}
	if shown := r.fake.Chat(dm).Drafts; len(shown) != 1 || strconv.Itoa(shown[0].Topic) != chat.Thread {
		t.Errorf("the drafts are %+v, want one in topic %s", shown, chat.Thread)
	}
}

// TestDraftsOfOlderServers: a refused draft turns drafts off for its chat and for ten
// minutes.
func TestDraftsOfOlderServers(t *testing.T) {
	t.Parallel()
	fake := telegramfake.New(t, telegramfake.Options{Token: token})
	ann := fake.User(7, "Ann", "en")
	dm := fake.Private(ann)
	target, err := url.Parse(fake.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = &http.Transport{DisableKeepAlives: true}
	asked := 0
	older := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if path.Base(q.URL.Path) == "sendMessageDraft" {
			asked++
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"ok":false,"error_code":404,"description":"Not Found: method not found"}`))
			return
		}
		proxy.ServeHTTP(w, q)
	}))
	defer older.Close()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	pass := func(d time.Duration) { now = now.Add(d) }
	tg, err := telegram.New(telegram.Config{Token: token, APIURL: older.URL}, telegram.Options{RateLimiter: &limiter{}, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, chat := context.Background(), chatOf(dm)
	begun := bot.Draft{Kind: bot.KindBoard, Task: "1", Board: &bot.Board{Status: "Thinking"}}
	if err := tg.Stream(ctx, chat, begun); err == nil {
		t.Error("a server without drafts took one")
	}
	if tg.Streams(chat) {
		t.Error("it goes on streaming to a server without drafts")
	}
	if _, err := tg.Post(ctx, chat, begun); err != nil {
		t.Errorf("posting the board instead: %v", err)
	}
	if other := (bot.Chat{Platform: "telegram", ID: "8", Private: true}); !tg.Streams(other) {
		t.Error("one chat's refusal ended drafts in all chats")
	}
	pass(10*time.Minute - time.Second)
	if tg.Streams(chat) {
		t.Error("it streams again before ten minutes have passed")
	}
	pass(time.Second)
	if !tg.Streams(chat) {
		t.Error("ten minutes after a refusal it does not stream")
	}
	if asked != 1 {
		t.Errorf("the server was asked %d times, want once", asked)
	}
	if err := tg.Edit(ctx, chat, "1", bot.Draft{Kind: bot.KindAnswer, Text: "It *is", Partial: true}); err != nil {
		t.Errorf("growing the answer in the board's message: %v", err)
	}
	if got := fake.Chat(dm).Bots()[0].Text; got != "It is ▌" {
		t.Errorf("the growing answer reads %q", got)
	}
	http.DefaultClient.CloseIdleConnections()
	runOnce(t, tg)
}

// runOnce lets a platform give back its connections.
func runOnce(t *testing.T, tg *telegram.Telegram) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := tg.Run(ctx, nil); err != nil {
		t.Error(err)
	}
}

func TestDraftThatIsBlocked(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true})
	ann := r.fake.User(7, "Ann", "en")
	dm := r.fake.Private(ann)
	r.fake.Block(ann)
	err := r.tg.Stream(context.Background(), chatOf(dm), bot.Draft{Kind: bot.KindAnswer, Task: "1", Text: "x", Partial: true})
	if !errors.Is(err, bot.ErrGone) {
		t.Errorf("streaming to somebody who blocked the bot gave %v, want ErrGone", err)
	}
	if !r.tg.Streams(chatOf(8)) {
		t.Error("one person's refusal ended streaming for all")
	}
}
