package telegram_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"legwork/bot"
	"legwork/bot/telegram"
	"legwork/internal/test/fakes/telegramfake"
)

// reaction is the bot's reaction to a message; empty for none.
func (r *env) reaction(chat int64, id int) string {
	for _, m := range r.fake.Chat(chat).Messages {
		if m.ID == id {
			return m.Reaction
		}
	}
	return ""
}

// TestTakenQuestions: a question in a group is marked while legwork works on it.
func TestTakenQuestions(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true})
	ann := r.fake.User(7, "Ann", "en")
	team := r.fake.Group("Team", ann)
	chat := chatOf(team)
	asked := r.fake.Say(team, ann, "@legwork_bot what is it?")
	m := r.next()
	board := bot.Draft{Kind: bot.KindBoard, Task: "1", ReplyTo: m.ID, Partial: true, Board: &bot.Board{Status: "Planning"}}
	id := r.post(chat, board)
	r.until("the question is marked", func() bool { return r.reaction(team, asked) == "👀" })
	if err := r.tg.Edit(context.Background(), chat, id, board); err != nil {
		t.Fatal(err)
	}
	r.post(chat, bot.Draft{Kind: bot.KindAnswer, Task: "1", ReplyTo: m.ID, Text: "It", Partial: true})
	if got := r.reaction(team, asked); got != "👀" {
		t.Errorf("the mark is %q while the answer grows", got)
	}
	r.post(chat, bot.Draft{Kind: bot.KindAnswer, Task: "1", ReplyTo: m.ID, Text: "It rains."})
	r.until("the mark is gone", func() bool { return r.reaction(team, asked) == "" })
	if n := r.count("setMessageReaction"); n != 2 {
		t.Errorf("%d reactions were set or removed, want 2", n)
	}
}

// TestRefusedReactions: a chat that forbids reactions is not asked again, and others
// are.
func TestRefusedReactions(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true})
	ann := r.fake.User(7, "Ann", "en")
	team, other := r.fake.Group("Team", ann), r.fake.Group("Other", ann)
	r.fake.ForbidReactions(team)
	ask := func(chat int64) (asked int) {
		asked = r.fake.Say(chat, ann, "@legwork_bot what is it?")
		m := r.next()
		r.post(chatOf(chat), bot.Draft{Kind: bot.KindBoard, Task: m.ID, ReplyTo: m.ID, Partial: true, Board: &bot.Board{Status: "Planning"}})
		return asked
	}
	ask(team)
	r.until("the reaction is refused", func() bool { return r.count("setMessageReaction") == 1 })
	marked := ask(other)
	r.until("the question in the other group is marked", func() bool { return r.reaction(other, marked) == "👀" })
	ask(team)
	r.post(chatOf(team), bot.Draft{Kind: bot.KindAnswer, Task: "1", ReplyTo: "1", Text: "It rains."})
	marked = ask(other)
	r.until("the next one is marked, too", func() bool { return r.reaction(other, marked) == "👀" })
	if n := r.count("setMessageReaction"); n != 3 {
		t.Errorf("Telegram was asked for %d reactions, want 3", n)
	}
}

// TestTypingEndsWithTheWork: the last change of a board shows no typing.
func TestTypingEndsWithTheWork(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	var mu sync.Mutex
	r := start(t, telegramfake.Options{NoLimits: true}, func(_ *telegram.Config, o *telegram.Options) {
		o.Now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return now
		}
	})
	ann := r.fake.User(7, "Ann", "en")
	team := r.fake.Group("Team", ann)
	board := bot.Draft{Kind: bot.KindBoard, Task: "1", Partial: true, Board: &bot.Board{Status: "Planning"}}
	id := r.post(chatOf(team), board)
	r.until("typing is shown", func() bool { return r.count("sendChatAction") == 1 })
	change := func(status string, partial bool) {
		mu.Lock()
		now = now.Add(time.Minute)
		mu.Unlock()
		board.Board, board.Partial = &bot.Board{Status: status}, partial
		if err := r.tg.Edit(context.Background(), chatOf(team), id, board); err != nil {
			t.Fatal(err)
		}
	}
	change("Working", true)
	r.until("typing is shown while it works", func() bool { return r.count("sendChatAction") == 2 })
	change("Done", false)
	r.stop()
	if n := r.count("sendChatAction"); n != 2 {
		t.Errorf("typing was shown %d times, want 2: none at the end", n)
	}
}

// TestNoMarkBesideDrafts: in a private chat, the draft shows that the bot is at work.
func TestNoMarkBesideDrafts(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true})
	ann := r.fake.User(7, "Ann", "en")
	dm := r.fake.Private(ann)
	r.fake.Say(dm, ann, "what is it?")
	m := r.next()
	r.post(chatOf(dm), bot.Draft{Kind: bot.KindBoard, Task: "1", ReplyTo: m.ID, Partial: true, Board: &bot.Board{Status: "Planning"}})
	r.post(chatOf(dm), bot.Draft{Kind: bot.KindAnswer, Task: "1", ReplyTo: m.ID, Text: "It rains."})
	r.stop()
	if n := r.count("setMessageReaction"); n != 0 {
		t.Errorf("%d reactions in a private chat, want none", n)
	}
}
