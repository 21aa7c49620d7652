package telegram_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"legwork/bot"
	"legwork/internal/test/fakes/telegramfake"
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
	if got, want := fmt.Sprint(m.Buttons), "[[{Details d:1  } {Retry r:1  }] [{Something that is longer x  }] [{Last "+strings.Repeat("x", 64)+"  }]]"; got != want {
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
		moved, ok := errors.AsType[*bot.MovedError](err)
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

func TestPacing(t *testing.T) {
	r := start(t, telegramfake.Options{NoLimits: true})
	ann := r.fake.User(7, "Ann", "en")
	team := r.fake.Group("Team", ann)
	ctx := context.Background()
	var got []string
	asked := func() bot.Request {
		r.limiter.mu.Lock()
		defer r.limiter.mu.Unlock()
		for _, request := range slices.Backward(r.limiter.asked) {
			if request.Method != "sendChatAction" { // which goes its own way
				return request
			}
		}
		return bot.Request{}
	}
	names := map[bot.Priority]string{bot.PriorityFrame: "frame", bot.PriorityFirstFrame: "fresh", bot.PriorityNormal: "plain", bot.PriorityHigh: "first"}
	for _, kind := range []bot.DraftKind{bot.KindAnswer, bot.KindQuestion, bot.KindNotice, bot.KindBoard} {
		id := r.post(chatOf(team), bot.Draft{Kind: kind, Text: "a"})
		got = append(got, fmt.Sprintf("post %s %s", kind, names[asked().Priority]))
		for _, partial := range []bool{true, false} {
			if err := r.tg.Edit(ctx, chatOf(team), id, bot.Draft{Kind: kind, Text: "b", Partial: partial}); err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("edit %s partial %t %s", kind, partial, names[asked().Priority]))
		}
	}
	if r := asked(); r.Account != "1000" || !r.Group || r.Method != "editMessageText" || r.Chat != strconv.FormatInt(team, 10) {
		t.Errorf("the limiter was asked for %+v", r)
	}
	want := "post answer first, edit answer partial true frame, edit answer partial false first, " +
		"post question first, edit question partial true frame, edit question partial false first, " +
		"post notice plain, edit notice partial true frame, edit notice partial false plain, " +
		"post board plain, edit board partial true frame, edit board partial false plain" // the last one folds it
	if got := strings.Join(got, ", "); got != want {
		t.Errorf("the urgencies were\n%s\nwant\n%s", got, want)
	}
}
