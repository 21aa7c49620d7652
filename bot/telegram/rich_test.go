package telegram_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"legwork/bot"
	"legwork/bot/telegram"
	"legwork/internal/test/fakes/telegramfake"
)

func rich(c *telegram.Config, _ *telegram.Options) { c.Rich = true }

const report = "# Weather\n\n| day | rain |\n| --- | --- |\n| Mon | yes |\n"

// TestRichMessages: with the setting, an answer goes out as a rich message with its
// buttons, grows as one, and is changed as one; other messages stay HTML.
func TestRichMessages(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true}, rich)
	ann := r.fake.User(7, "Ann", "en")
	dm := r.fake.Private(ann)
	chat, ctx := chatOf(dm), context.Background()
	if err := r.tg.Stream(ctx, chat, bot.Draft{Kind: bot.KindAnswer, Task: "1", Text: "# Weather", Partial: true}); err != nil {
		t.Fatal(err)
	}
	if shown := r.fake.Chat(dm).Drafts; len(shown) != 1 || shown[0].Text != "# Weather" {
		t.Errorf("the drafts are %+v, want the growing answer", shown)
	}
	long := report + "\n" + strings.Repeat("Much more to say. ", 500) + "The end."
	d := bot.Draft{Kind: bot.KindAnswer, Task: "1", Text: long, Footer: "3 sub-tasks · <2 s_", Buttons: []bot.Button{{Label: "Details", Data: "d:1"}}}
	parts := r.tg.Split(d)
	if len(parts) != 1 {
		t.Fatalf("the answer was divided into %d parts, want one", len(parts))
	}
	id := r.post(chat, parts[0])
	all := r.fake.Chat(dm).Bots()
	if want := long + "\n\n*3 sub-tasks · \\<2 s\\_*"; len(all) != 1 || !all[0].Rich || all[0].Text != strings.TrimSpace(want) || all[0].Button("Details") != "d:1" {
		t.Errorf("the chat got %+v, want one rich message", all)
	}
	d.Text = "# Weather\n\nAll dry."
	if err := r.tg.Edit(ctx, chat, id, d); err != nil {
		t.Fatal(err)
	}
	if all = r.fake.Chat(dm).Bots(); len(all) != 1 || !all[0].Rich || !strings.HasPrefix(all[0].Text, d.Text) || all[0].Edits != 1 {
		t.Errorf("after an edit the chat shows %+v", all)
	}
	r.post(chat, bot.Draft{Kind: bot.KindNotice, Text: "**Hello**"})
	if all = r.fake.Chat(dm).Bots(); all[1].Rich || all[1].Text != "Hello" {
		t.Errorf("the notice is %+v, want no rich message", all[1])
	}
}

// TestRichMessagesAreOff: by default there are none.
func TestRichMessagesAreOff(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true})
	ann := r.fake.User(7, "Ann", "en")
	dm := r.fake.Private(ann)
	r.post(chatOf(dm), bot.Draft{Kind: bot.KindAnswer, Task: "1", Text: report})
	if all := r.fake.Chat(dm).Bots(); len(all) != 1 || all[0].Rich {
		t.Errorf("the chat got %+v, want no rich message", all)
	}
}

// TestRefusedRichMessages: what Telegram refuses as a rich message goes out as HTML, in
// as many messages as it needs, and the next ones at once.
func TestRefusedRichMessages(t *testing.T) {
	t.Parallel()
	for name, older := range map[string]bool{"an older server": true, "a wrong block": false} {
		t.Run(name, func(t *testing.T) {
			r := start(t, telegramfake.Options{NoLimits: true, NoRich: older}, rich)
			ann := r.fake.User(7, "Ann", "en")
			dm := r.fake.Private(ann)
			if !older {
				r.fake.Fail(telegramfake.Fault{Kind: telegramfake.FaultMarkup})
			}
			d := bot.Draft{Kind: bot.KindAnswer, Task: "1", Text: strings.Repeat("Much to say. ", 500), Buttons: []bot.Button{{Label: "Details", Data: "d:1"}}}
			id := r.post(chatOf(dm), r.tg.Split(d)[0])
			all := r.fake.Chat(dm).Bots()
			if len(all) != 2 || all[0].Rich || all[0].Buttons != nil || all[1].Button("Details") != "d:1" || strconv.Itoa(all[1].ID) != id {
				t.Errorf("the chat got %+v, want two messages in HTML", all)
			}
			r.post(chatOf(dm), bot.Draft{Kind: bot.KindAnswer, Task: "2", Text: "It rains."})
			if n := r.count("sendRichMessage"); n != 1 {
				t.Errorf("Telegram was asked %d times, want once", n)
			}
		})
	}
}

// TestRichMessagesHoldNoMedia: what a model writes can embed nothing that Telegram
// would fetch, and no link hides where it leads; code stays as it is.
func TestRichMessagesHoldNoMedia(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true}, rich)
	ann := r.fake.User(7, "Ann", "en")
	dm := r.fake.Private(ann)
	for text, want := range map[string]string{
		"![x](https://a.example/?q=1)":                      "[x](https://a.example/?q=1) (a.example)",
		"[bank.example](https://a.example)":                 "[bank.example](https://a.example) (a.example)",
		"[Ann](tg://user?id=7)":                             "Ann (tg://user?id=7)",
		"<IMG src=\"https://a.example\">":                   "&lt;IMG src=\"https://a.example\">",
		"<tg-map>":                                          "&lt;tg-map>",
		"Use `![x](y)` or `<img src=z>`, `$x$ ==y== <@U1>`": "Use `![x](y)` or `<img src=z>`, `$x$ ==y== <@U1>`",
		"```md\n![x](y) <img>\n```\n![x](y)":                "```md\n![x](y) <img>\n```\n\nx (y)",
		"- ```\n  ![x](y)\n  ```\n- ![x](y)":                "- ```\n  ![x](y)\n  ```\n- x (y)",
		"$5 ==a== ||b|| [^c]":                               "\\$5 \\=\\=a\\=\\= \\|\\|b\\|\\| \\[^c\\]",
		"x < y and <u>more</u>":                             "x &lt; y and <u>more</u>",
	} {
		r.post(chatOf(dm), bot.Draft{Kind: bot.KindAnswer, Task: "1", Text: text})
		all := r.fake.Chat(dm).Bots()
		if got := all[len(all)-1].Text; got != want {
			t.Errorf("%q went out as %q, want %q", text, got, want)
		}
	}
}
