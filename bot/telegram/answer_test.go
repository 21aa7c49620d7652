package telegram_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"legwork/bot"
	"legwork/internal/test/fakes/telegramfake"
)

func TestAnswerToAPress(t *testing.T) {
	r := start(t, telegramfake.Options{})
	ann := r.fake.User(7, "Ann", "en")
	dm := r.fake.Private(ann)
	id := r.post(chatOf(dm), bot.Draft{Kind: bot.KindQuestion, Text: "Sure?", Buttons: []bot.Button{{Label: "Yes", Data: "a:1"}}})
	message := r.fake.Chat(dm).Bots()[0].ID
	for _, test := range []struct {
		text, want string
		alert      bool
	}{
		{"", "", false},
		{"**Stopped.**", "Stopped.", false},
		{"one line\n\nand another", "one line\n\nand another", true},
		{strings.Repeat("many words ", 30), strings.TrimSpace(strings.Repeat("many words ", 18)) + "…", true},
		{strings.Repeat("😀", 150), strings.Repeat("😀", 99) + "…", true},
	} {
		press := r.fake.Press(dm, message, "Yes", ann)
		m := r.next()
		if m.Data != "a:1" || m.ID != id || m.Token != press || m.From.ID != "7" {
			t.Fatalf("the press came as %+v", m)
		}
		for range 2 { // the second is too late, which is no error
			if err := r.tg.Answer(context.Background(), m, test.text); err != nil {
				t.Fatalf("answering %q: %v", test.text, err)
			}
		}
		got := r.fake.Pressed(press)
		if !got.Answered || got.Text != test.want || got.Alert != test.alert {
			t.Errorf("the press was answered (%t) with %q (%d characters) as a dialog %t, want %q, %t", got.Answered, got.Text, utf8.RuneCountInString(got.Text), got.Alert, test.want, test.alert)
		}
	}
	for _, token := range []string{"", "4711"} {
		if err := r.tg.Answer(context.Background(), bot.Message{Token: token}, "x"); err != nil {
			t.Errorf("answering the press %q: %v", token, err)
		}
	}
}

func TestDirect(t *testing.T) {
	r := start(t, telegramfake.Options{})
	ann := r.fake.User(7, "Ann", "en")
	r.fake.Private(ann)
	chat, err := r.tg.Direct(context.Background(), "7")
	if err != nil || chat != (bot.Chat{Platform: "telegram", ID: "7", Private: true}) {
		t.Fatalf("the private chat is %+v, %v", chat, err)
	}
	r.post(chat, bot.Draft{Kind: bot.KindNotice, Text: "hello"})
	for _, person := range []string{"", "@ann", "-100", "ann"} {
		if _, err := r.tg.Direct(context.Background(), person); !errors.Is(err, bot.ErrGone) {
			t.Errorf("Direct(%q) gave %v, want ErrGone", person, err)
		}
	}
}
