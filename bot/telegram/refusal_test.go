package telegram_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"legwork/bot"
	"legwork/internal/test/fakes/telegramfake"
)

func TestRefusals(t *testing.T) {
	yes := bot.Draft{Kind: bot.KindAnswer, Text: "**yes**", ReplyTo: "1"}
	tests := []struct {
		name  string
		act   func(r *rig, ann telegramfake.User, group int64) bot.Chat
		draft bot.Draft
		gone  bool
	}{
		{"blocked", func(r *rig, ann telegramfake.User, _ int64) bot.Chat {
			dm := r.fake.Private(ann)
			r.fake.Block(ann)
			return chatOf(dm)
		}, yes, true},
		{"deactivated", func(r *rig, ann telegramfake.User, _ int64) bot.Chat {
			dm := r.fake.Private(ann)
			r.fake.Deactivate(ann)
			return chatOf(dm)
		}, yes, true},
		{"kicked", func(r *rig, ann telegramfake.User, group int64) bot.Chat {
			r.fake.KickBot(group, ann)
			return chatOf(group)
		}, yes, true},
		{"no such chat", func(*rig, telegramfake.User, int64) bot.Chat { return chatOf(-4711) }, yes, true},
		{"never wrote to the bot", func(_ *rig, ann telegramfake.User, _ int64) bot.Chat { return chatOf(ann.ID) }, yes, true},
		{"no chat at all", func(*rig, telegramfake.User, int64) bot.Chat { return bot.Chat{Platform: "telegram", ID: "main"} }, yes, true},
		{"deleted topic", func(_ *rig, _ telegramfake.User, group int64) bot.Chat {
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
