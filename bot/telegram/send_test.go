package telegram_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"legwork/bot"
	"legwork/fakes/telegramfake"
)

// chatOf names a chat of the fake.
func chatOf(id int64) bot.Chat {
	return bot.Chat{Platform: "telegram", ID: strconv.FormatInt(id, 10), Private: id > 0}
}

// shown are the bot's messages in a chat, as people read them.
func (r *rig) shown(chat int64) []string {
	var texts []string
	for _, m := range r.fake.Chat(chat).Bots() {
		texts = append(texts, m.Text)
	}
	return texts
}

func (r *rig) post(chat bot.Chat, d bot.Draft) string {
	r.t.Helper()
	id, err := r.tg.Post(context.Background(), chat, d)
	if err != nil {
		r.t.Fatalf("posting %+v: %v", d, err)
	}
	return id
}

func TestPost(t *testing.T) {
	r := start(t, telegramfake.Options{NoLimits: true})
	ann := r.fake.User(7, "Ann", "en")
	dm := r.fake.Private(ann)
	asked := r.fake.Say(dm, ann, "what is it?")
	id := r.post(chatOf(dm), bot.Draft{
		Kind: bot.KindAnswer, Text: "It is **bold** & see [docs](https://go.dev/doc).", Footer: "3 sub-tasks · 12 s", ReplyTo: strconv.Itoa(asked),
		Buttons: []bot.Button{{Label: "Details", Data: "d:1"}, {Label: "Retry", Data: "r:1"}, {Label: "Something that is longer", Data: "x"}, {Label: "Last", Data: strings.Repeat("x", 64)}, {Label: "Too long", Data: strings.Repeat("x", 65)}},
	})
	all := r.fake.Chat(dm).Bots()
	if len(all) != 1 || strconv.Itoa(all[0].ID) != id {
		t.Fatalf("the chat shows %+v, want one message with the id %s", all, id)
	}
	m := all[0]
	if want := "It is bold & see docs (go.dev).\n\n3 sub-tasks · 12 s"; m.Text != want {
		t.Errorf("the message reads %q, want %q", m.Text, want)
	}
	if m.ReplyTo != asked || m.Preview {
		t.Errorf("the message replies to %d with preview %t, want %d without", m.ReplyTo, m.Preview, asked)
	}
	if got, want := fmt.Sprint(m.Buttons), "[[{Details d:1 } {Retry r:1 }] [{Something that is longer x }] [{Last "+strings.Repeat("x", 64)+" }]]"; got != want {
		t.Errorf("the buttons are %s, want %s", got, want)
	}
}

func TestEdit(t *testing.T) {
	r := start(t, telegramfake.Options{NoLimits: true})
	ann := r.fake.User(7, "Ann", "en")
	dm := r.fake.Private(ann)
	ctx := context.Background()
	id := r.post(chatOf(dm), bot.Draft{Kind: bot.KindQuestion, Text: "Sure?", Buttons: []bot.Button{{Label: "Yes", Data: "a:1"}}})
	for _, text := range []string{"Done.", "Done."} { // the second changes nothing, which is no error
		if err := r.tg.Edit(ctx, chatOf(dm), id, bot.Draft{Kind: bot.KindQuestion, Text: text}); err != nil {
			t.Fatalf("editing to %q: %v", text, err)
		}
	}
	m := r.fake.Chat(dm).Bots()[0]
	if m.Text != "Done." || m.Buttons != nil {
		t.Errorf("the message is %q with %v, want the new text without buttons", m.Text, m.Buttons)
	}
	for _, lost := range []string{id, "99999", "", "-4", "words"} {
		if lost == id {
			n, _ := strconv.Atoi(id)
			r.fake.Delete(dm, n)
		}
		before := len(r.shown(dm))
		err := r.tg.Edit(ctx, chatOf(dm), lost, bot.Draft{Kind: bot.KindAnswer, Text: "It is " + lost + "!"})
		moved, ok := errors.AsType[*bot.Moved](err)
		if all := r.fake.Chat(dm).Bots(); !ok || len(all) != before+1 || strconv.Itoa(all[before].ID) != moved.ID {
			t.Errorf("editing the lost message %q gave %v and the chat %q, want it moved to a new message", lost, err, r.shown(dm))
		}
	}
}

func TestLongTexts(t *testing.T) {
	r := start(t, telegramfake.Options{NoLimits: true})
	ann := r.fake.User(7, "Ann", "en")
	dm := r.fake.Private(ann)
	var words []string
	for i := range 2000 {
		words = append(words, fmt.Sprintf("word%d", i))
	}
	long := strings.Join(words, " ")
	d := bot.Draft{Kind: bot.KindAnswer, Text: long, Footer: "the end", ReplyTo: "1", Buttons: []bot.Button{{Label: "Details", Data: "d"}}}
	parts := r.tg.Split(d)
	if len(parts) < 4 {
		t.Fatalf("a text of %d characters has %d parts, want at least 4", len(long), len(parts))
	}
	for i, part := range parts {
		last := i == len(parts)-1
		if part.Part != i+1 || part.Text != long || (part.Footer != "") != last || (part.Buttons != nil) != last {
			t.Errorf("part %d is number %d with footer %q and buttons %v", i+1, part.Part, part.Footer, part.Buttons)
		}
		r.post(chatOf(dm), part)
	}
	all := strings.Join(r.shown(dm), " ")
	for _, w := range words {
		if !strings.Contains(all, w) {
			t.Fatalf("%s is lost", w)
		}
	}
	if !strings.HasSuffix(all, "the end") {
		t.Errorf("the last part ends with %q, want the footer", all[len(all)-20:])
	}
	posted := len(parts)
	r.post(chatOf(dm), bot.Draft{Kind: bot.KindNotice, Text: long}) // nobody split it
	if got := len(r.shown(dm)); got != 2*posted {
		t.Errorf("there are %d messages after an unsplit post, want %d", got, 2*posted)
	}
}

func TestFooterThatDoesNotFit(t *testing.T) {
	r := start(t, telegramfake.Options{NoLimits: true})
	ann := r.fake.User(7, "Ann", "en")
	dm := r.fake.Private(ann)
	d := bot.Draft{Kind: bot.KindAnswer, Text: strings.Repeat("x", 4090), Footer: "3 sub-tasks · 12 s · 900 tokens", Buttons: []bot.Button{{Label: "Details", Data: "d"}}}
	for _, part := range r.tg.Split(d) {
		r.post(chatOf(dm), part)
	}
	all := r.fake.Chat(dm).Bots()
	if len(all) != 2 || all[1].Text != d.Footer || all[0].Buttons != nil || len(all[1].Buttons) != 1 {
		t.Errorf("the messages are %+v, want the text and then the footer with the button", all)
	}
}

func TestTextsThatTelegramRefuses(t *testing.T) {
	r := start(t, telegramfake.Options{NoLimits: true})
	ann := r.fake.User(7, "Ann", "en")
	dm := r.fake.Private(ann)
	for _, text := range []string{"", " \n ", "\u200b", "```\n```", "<b>", "&amp;", "[](http://x.y)", "![](http://x.y/z.png)", "*", "\x00\x1b[31m", "\xff\xfe", "\u202etxt", strings.Repeat("*", 5000), strings.Repeat("**a** ", 300)} {
		before := len(r.shown(dm))
		r.post(chatOf(dm), bot.Draft{Kind: bot.KindAnswer, Text: text})
		if len(r.shown(dm)) == before {
			t.Errorf("of %q nothing was shown", text)
		}
	}
}

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
				if m := r.next(); m.MovedTo == nil || m.MovedTo.ID != strconv.FormatInt(now, 10) {
					t.Fatalf("the bot was told %+v, want that the group moved to %d", m, now)
				}
			}
			r.post(chatOf(old), bot.Draft{Kind: bot.KindAnswer, Text: "here"})
			board.Board.Status = "done"
			err := r.tg.Edit(context.Background(), chatOf(old), id, board)
			if _, ok := errors.AsType[*bot.Moved](err); !ok {
				t.Errorf("editing a message of the old group gave %v, want it moved", err)
			}
			if got := r.shown(now); len(got) != 2 || got[0] != "here" || got[1] != "done" {
				t.Errorf("the new group shows %q, want both messages", got)
			}
		})
	}
}

func TestTopics(t *testing.T) {
	r := start(t, telegramfake.Options{})
	ann := r.fake.User(7, "Ann", "en")
	forum := r.fake.Forum("Team", ann)
	topic := r.fake.Topic(forum, "Trips")
	for thread, want := range map[int]int{0: 0, topic: topic} {
		before := r.count("sendChatAction")
		r.fake.Say(forum, ann, "/status", telegramfake.InTopic(thread))
		m := r.next()
		r.post(m.Chat, bot.Draft{Kind: bot.KindBoard, ReplyTo: m.ID, Board: &bot.Board{Status: "working"}})
		all := r.fake.Chat(forum).Bots()
		if got := all[len(all)-1].Topic; got != want {
			t.Errorf("the answer to topic %d is in topic %d, want %d", thread, got, want)
		}
		r.until("typing is shown", func() bool { return r.count("sendChatAction") > before })
		typed := r.last("sendChatAction").Params["message_thread_id"]
		if want := strconv.Itoa(max(want, 1)); typed != want { // General is topic 1 for typing alone
			t.Errorf("typing was shown in topic %q, want %q", typed, want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	r := start(t, telegramfake.Options{})
	ann := r.fake.User(7, "Ann", "en")
	dm, other := r.fake.Private(ann), r.fake.Private(r.fake.User(8, "Bob", "en"))
	id := r.post(chatOf(dm), bot.Draft{Kind: bot.KindBoard, Board: &bot.Board{Status: "1"}})
	r.fake.Fail(telegramfake.Fault{Kind: telegramfake.FaultBusy, Chat: dm, RetryAfter: 1})
	err := r.tg.Edit(context.Background(), chatOf(dm), id, bot.Draft{Kind: bot.KindBoard, Board: &bot.Board{Status: "2"}})
	if later, ok := errors.AsType[*bot.Later](err); !ok || later.After <= 0 || later.After > time.Second {
		t.Errorf("a frame in the middle of a rate limit gave %v, want it put off for the second", err)
	}
	r.post(chatOf(other), bot.Draft{Kind: bot.KindAnswer, Text: "meanwhile"})
	if held := r.pacer.held; len(held) != 1 || held[0] != (bot.Request{Account: "1000", Chat: "7"}) {
		t.Errorf("the pacer was told to leave %+v alone, want that chat only", held)
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

func TestPacing(t *testing.T) {
	r := start(t, telegramfake.Options{NoLimits: true})
	ann := r.fake.User(7, "Ann", "en")
	team := r.fake.Group("Team", ann)
	ctx := context.Background()
	var got []string
	asked := func() bot.Request { return r.pacer.asked[len(r.pacer.asked)-1] }
	for _, kind := range []bot.Kind{bot.KindAnswer, bot.KindQuestion, bot.KindNotice} {
		id := r.post(chatOf(team), bot.Draft{Kind: kind, Text: "a"})
		got = append(got, fmt.Sprintf("post %s %d", kind, asked().Urgency))
		for _, partial := range []bool{true, false} {
			if err := r.tg.Edit(ctx, chatOf(team), id, bot.Draft{Kind: kind, Text: "b", Partial: partial}); err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("edit %s partial %t %d", kind, partial, asked().Urgency))
		}
	}
	if r := asked(); r.Account != "1000" || !r.Group || r.Method != "editMessageText" || r.Chat != strconv.FormatInt(team, 10) {
		t.Errorf("the pacer was asked for %+v", r)
	}
	want := "post answer 2, edit answer partial true 0, edit answer partial false 2, " +
		"post question 2, edit question partial true 0, edit question partial false 2, " +
		"post notice 1, edit notice partial true 0, edit notice partial false 1"
	if got := strings.Join(got, ", "); got != want {
		t.Errorf("the urgencies were\n%s\nwant\n%s", got, want)
	}
}
