package telegram_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"legwork/bot"
	"legwork/bot/telegram"
	"legwork/internal/test/fakes/telegramfake"
)

func TestBoards(t *testing.T) {
	t.Parallel()
	states := []string{"done", "failed", "skipped", "working", "waiting", "todo"}
	var some, many []bot.Item
	for i, state := range states {
		some = append(some, bot.Item{ID: fmt.Sprint("1/", i), Title: "Find <" + state + "> & tell", Group: "web", State: state})
	}
	some[0].Elapsed, some[0].Doing = 12*time.Second, "left.over"
	some[3].Elapsed, some[3].Doing = 3723*time.Second, "clock.time_in, web.fetch"
	for i := range 72 {
		state := "done"
		if i == 30 || i == 31 {
			state = "working"
		} else if i > 31 {
			state = "todo"
		}
		many = append(many, bot.Item{ID: fmt.Sprint("1/", i), Title: fmt.Sprint("Step ", i), Group: "llm_tool", State: state})
	}
	ended := make([]bot.Item, 60)
	for i := range ended {
		ended[i] = bot.Item{Title: strings.Repeat("long title ", 30), Group: strings.Repeat("g", 300), Doing: strings.Repeat("d", 300), State: "done", Elapsed: time.Hour}
	}
	r := start(t, telegramfake.Options{NoLimits: true})
	ann := r.fake.User(7, "Ann", "en")
	dm := r.fake.Private(ann)
	for name, b := range map[string]bot.Board{
		"begin":         {Title: "What is 17*23?", Status: "Thinking"},
		"some":          {Title: "Compare *two* things\nplease", Status: "Working: 3 of 6 done", Items: some},
		"many":          {Title: "A long plan", Status: "Working: 30 of 72 done", Items: many},
		"ended":         {Title: strings.Repeat("goal ", 100), Status: "Answering", Items: ended},
		"folded":        {Status: "Done: 3 sub-tasks, 12 s"},
		"linked":        {Title: "a<b", Status: "Working", Link: "https://bot.example.com/console/tasks/1", Items: some[:1]},
		"folded-linked": {Status: "Done: 3 sub-tasks, 12 s", Link: "https://bot.example.com/console/tasks/1"},
		"title":         {Title: "only a title"},
		"empty":         {},
		"odd":           {Status: "\x1b[31m\u202e<b>", Items: []bot.Item{{Title: "", State: "brand new"}}},
	} {
		t.Run(name, func(t *testing.T) {
			id := r.post(chatOf(dm), bot.Draft{Kind: bot.KindBoard, Text: b.Status, Board: &b, Buttons: []bot.Button{{Label: "Stop", Data: "s:1"}}})
			all := r.fake.Chat(dm).Bots()
			last := all[len(all)-1]
			if strconv.Itoa(last.ID) != id || telegramfake.Length(last.Text) > telegramfake.MaxText || len(last.Entities) > 100 || last.Button("Stop") != "s:1" {
				t.Errorf("the board is %+v", last)
			}
			golden(t, "board."+name, r.last("sendMessage").Params["text"]+"\n")
		})
	}
}

func TestBoardBecomesTheAnswer(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true})
	ann := r.fake.User(7, "Ann", "en")
	team := r.fake.Group("Team", ann)
	chat, ctx := chatOf(team), context.Background()
	asked := r.fake.Say(team, ann, "@legwork_bot what is it?")
	m := r.next()
	id := r.post(chat, bot.Draft{Kind: bot.KindBoard, Task: "1", ReplyTo: m.ID, Board: &bot.Board{Title: "what is it?", Status: "Thinking"}, Buttons: []bot.Button{{Label: "Stop", Data: "s:1"}}})
	for _, d := range []bot.Draft{
		{Kind: bot.KindAnswer, Task: "1", Text: "It is `co", Partial: true},
		{Kind: bot.KindAnswer, Task: "1", Text: "It is `code`.", Footer: "2 s"},
	} {
		if err := r.tg.Edit(ctx, chat, id, d); err != nil {
			t.Fatalf("editing to %q: %v", d.Text, err)
		}
	}
	all := r.fake.Chat(team).Bots()
	if len(all) != 1 || all[0].Text != "It is code.\n\n2 s" || all[0].Buttons != nil || all[0].ReplyTo != asked || all[0].Edits != 2 {
		t.Errorf("the group shows %+v, want one message that became the answer", all)
	}
}

func TestFailuresAreMarked(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true})
	ann := r.fake.User(7, "Ann", "en")
	dm := r.fake.Private(ann)
	for text, want := range map[string]string{"Nothing was found.": "⚠️ Nothing was found.", "- a\n- b": "• a\n• b"} {
		r.post(chatOf(dm), bot.Draft{Kind: bot.KindAnswer, Text: text, Failed: true})
		all := r.shown(dm)
		if got := all[len(all)-1]; got != want {
			t.Errorf("the failure %q reads %q, want %q", text, got, want)
		}
	}
}

// TestCommandsCanBeTapped: in what legwork writes itself, its commands stand outside of
// code with nothing glued to them, and other code stays code.
func TestCommandsCanBeTapped(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true}, func(_ *telegram.Config, o *telegram.Options) {
		o.Commands = func() map[string][]telegram.Command {
			return map[string][]telegram.Command{"en": {{Name: "task", Description: "x"}, {Name: "stop", Description: "x"}, {Name: "forget", Description: "x"}}}
		}
	})
	ann := r.fake.User(7, "Ann", "en")
	dm := r.fake.Private(ann)
	const help = "* `/task TEXT`: ask\n* `/stop`, `/forget yes`: end\n\nNot `/usr/bin` or `/dance`, nor `see /stop`."
	for kind, want := range map[bot.DraftKind]string{
		bot.KindNotice: "• /task <code>TEXT</code>: ask\n• /stop, /forget <code>yes</code>: end\n\nNot <code>/usr/bin</code> or <code>/dance</code>, nor <code>see /stop</code>.",
		bot.KindAnswer: "• <code>/task TEXT</code>: ask\n• <code>/stop</code>, <code>/forget yes</code>: end\n\nNot <code>/usr/bin</code> or <code>/dance</code>, nor <code>see /stop</code>.",
	} {
		r.post(chatOf(dm), bot.Draft{Kind: kind, Text: help})
		if got := r.last("sendMessage").Params["text"]; got != want {
			t.Errorf("the %s reads\n%s\nwant\n%s", kind, got, want)
		}
	}
}

// TestCopyButtons: an answer with few and short blocks of code has a button for each;
// frames, long blocks and answers with many blocks have none.
func TestCopyButtons(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true})
	ann := r.fake.User(7, "Ann", "en")
	dm := r.fake.Private(ann)
	block := func(code string) string { return "```sh\n" + code + "\n```\n\n" }
	for name, c := range map[string]struct {
		draft bot.Draft
		want  []string // label and what it copies
	}{
		"one":        {bot.Draft{Text: "Run:\n\n" + block("go run . <a>\n  --all")}, []string{"Copy -> go run . <a>\n  --all", "Details -> "}},
		"two":        {bot.Draft{Text: block("a && b") + "or\n\n" + block("echo one two three four five six seven")}, []string{"Copy: a && b -> a && b", "Copy: echo one two three… -> echo one two three four five six seven", "Details -> "}},
		"four":       {bot.Draft{Text: block("a") + block("b") + block("c") + block("d")}, []string{"Details -> "}},
		"a long one": {bot.Draft{Text: block(strings.Repeat("c", 257))}, []string{"Details -> "}},
		"256":        {bot.Draft{Text: block(strings.Repeat("c", 256))}, []string{"Copy -> " + strings.Repeat("c", 256), "Details -> "}},
		"a frame":    {bot.Draft{Text: block("a"), Partial: true}, []string{"Details -> "}},
		"no block":   {bot.Draft{Text: "Run `a`."}, []string{"Details -> "}},
	} {
		c.draft.Kind, c.draft.Copy, c.draft.Buttons = bot.KindAnswer, "Copy", []bot.Button{{Label: "Details", Data: "d:1"}}
		id := r.post(chatOf(dm), c.draft)
		shown := func() (got []string) {
			for _, m := range r.fake.Chat(dm).Messages {
				for _, b := range slices.Concat(m.Buttons...) {
					if strconv.Itoa(m.ID) != id {
						continue
					}
					if b.Copy != "" {
						got = append(got, b.Text+" -> "+b.Copy)
					} else {
						got = append(got, b.Text+" -> ")
					}
				}
			}
			return got
		}
		if got := shown(); !slices.Equal(got, c.want) {
			t.Errorf("%s: the buttons are %q, want %q", name, got, c.want)
		}
		c.draft.Text += "x"
		if err := r.tg.Edit(context.Background(), chatOf(dm), id, c.draft); err != nil {
			t.Fatal(err)
		}
		if got := shown(); !slices.Equal(got, c.want) {
			t.Errorf("%s: after an edit the buttons are %q, want %q", name, got, c.want)
		}
	}
}
