package telegram_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"legwork/bot"
	"legwork/internal/test/fakes/telegramfake"
)

// chatOf names a chat of the fake.
func chatOf(id int64) bot.Chat {
	return bot.Chat{Platform: "telegram", ID: strconv.FormatInt(id, 10), Private: id > 0}
}

// shown are the bot's messages in a chat, as people read them.
func (r *env) shown(chat int64) []string {
	var texts []string
	for _, m := range r.fake.Chat(chat).Bots() {
		texts = append(texts, m.Text)
	}
	return texts
}

func (r *env) post(chat bot.Chat, d bot.Draft) string {
	r.t.Helper()
	id, err := r.tg.Post(context.Background(), chat, d)
	if err != nil {
		r.t.Fatalf("posting %+v: %v", d, err)
	}
	return id
}

func TestPost(t *testing.T) {
	t.Parallel()
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
	if got, want := fmt.Sprint(m.Buttons), "[[{Details d:1   } {Retry r:1   }] [{Something that is longer x   }] [{Last "+strings.Repeat("x", 64)+"   }]]"; got != want {
		t.Errorf("the buttons are %s, want %s", got, want)
	}
}

func TestEdit(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	r.post(chatOf(dm), bot.Draft{Kind: bot.KindNotice, Text: long}) // no split is needed
	if got := len(r.shown(dm)); got != 2*posted {
		t.Errorf("there are %d messages after an unsplit post, want %d", got, 2*posted)
	}
}

func TestFooterThatDoesNotFit(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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

func TestAnswerToAPress(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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

// approval is a draft with a file, as a card to approve is one.
func approval(reply int) bot.Draft {
	return bot.Draft{
		Kind: bot.KindQuestion, Task: "t1", Text: "May **mail.send** run?", ReplyTo: strconv.Itoa(reply),
		Buttons: []bot.Button{{Label: "Allow once", Data: "a", Style: bot.StylePrimary}, {Label: "Deny", Data: "d", Style: bot.StyleDanger}},
		File:    &bot.File{Name: "arguments.json", Type: "application/json", Content: []byte(`{"to": "bob@example.com"}`)},
	}
}

func TestPostWithAFile(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true})
	ann := r.fake.User(7, "Ann", "en")
	forum := r.fake.Forum("Team", ann)
	topic := r.fake.Topic(forum, "Trips")
	asked := r.fake.Say(forum, ann, "/task", telegramfake.InTopic(topic))
	to := chatOf(forum)
	to.Thread = strconv.Itoa(topic)
	d := approval(asked)
	if !r.tg.Files(to) {
		t.Error("files cannot be sent, want that they can")
	}
	id := r.post(to, d)
	all := r.fake.Chat(forum).Bots()
	if len(all) != 2 || all[0].File == nil || all[1].File != nil || strconv.Itoa(all[1].ID) != id {
		t.Fatalf("the chat shows %+v, want the file and then the message %s", all, id)
	}
	if f := all[0].File; f.Name != "arguments.json" || f.Type != "application/json" || string(f.Content) != string(d.File.Content) {
		t.Errorf("the file is %+v, want %+v", f, d.File)
	}
	for _, m := range all {
		if m.ReplyTo != asked || m.Topic != topic {
			t.Errorf("message %d replies to %d in topic %d, want %d in %d", m.ID, m.ReplyTo, m.Topic, asked, topic)
		}
	}
	if got := fmt.Sprint(all[1].Buttons); got != "[[{Allow once a  primary } {Deny d  danger }]]" {
		t.Errorf("the buttons are %s, want two in one row with their styles", got)
	}
	if err := r.tg.Edit(t.Context(), to, id, d); err != nil {
		t.Fatal(err)
	}
	if n := r.count("sendDocument"); n != 1 {
		t.Errorf("the file was sent %d times after an edit, want once", n)
	}
	if i := slices.IndexFunc(r.limiter.asked, func(q bot.Request) bool { return q.Method == "sendDocument" }); i < 0 || r.limiter.asked[i].Priority != bot.PriorityHigh {
		t.Errorf("the limiter was asked for %+v, want the file as urgent as its question", r.limiter.asked)
	}
}

// A file comes once, however often its message has to be tried.
func TestFileWhoseMessageFails(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true})
	dm := r.fake.Private(r.fake.User(7, "Ann", "en"))
	r.fake.Fail(telegramfake.Fault{Kind: telegramfake.FaultError, Method: "sendMessage"})
	if _, err := r.tg.Post(context.Background(), chatOf(dm), approval(0)); err == nil || errors.Is(err, bot.ErrNoFiles) {
		t.Fatalf("posting gave %v, want an error that may pass", err)
	}
	r.post(chatOf(dm), approval(0))
	if n := r.count("sendDocument"); n != 1 || len(r.fake.Chat(dm).Bots()) != 2 {
		t.Errorf("the file was sent %d times, want once, before one message: %q", n, r.shown(dm))
	}
}

func TestFileOnABadLine(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{telegramfake.FaultDropBefore, telegramfake.FaultError, telegramfake.FaultGarbage} {
		r := start(t, telegramfake.Options{NoLimits: true})
		dm := r.fake.Private(r.fake.User(7, "Ann", "en"))
		r.fake.Fail(telegramfake.Fault{Kind: kind, Method: "sendDocument"})
		_, err := r.tg.Post(context.Background(), chatOf(dm), approval(0))
		if err == nil || errors.Is(err, bot.ErrNoFiles) || errors.Is(err, bot.ErrGone) || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%s: posting gave %v, want an error that may pass, without the token", kind, err)
		}
		if n := r.count("sendMessage"); n != 0 {
			t.Errorf("%s: %d messages were sent without their file", kind, n)
		}
		r.post(chatOf(dm), approval(0))
	}
}

func TestFileThatHasToWait(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true})
	dm := r.fake.Private(r.fake.User(7, "Ann", "en"))
	r.fake.Fail(telegramfake.Fault{Kind: telegramfake.FaultBusy, Method: "sendDocument", RetryAfter: 1})
	r.post(chatOf(dm), approval(0)) // a call before the time is a violation of the fake
	if all := r.fake.Chat(dm).Bots(); len(all) != 2 || all[0].File == nil {
		t.Errorf("the chat shows %+v, want the file and the message", all)
	}
}

func TestFileToAChatThatMoved(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true})
	group := r.fake.Group("Team", r.fake.User(7, "Ann", "en"))
	moved := r.fake.Migrate(group)
	r.post(chatOf(group), approval(77)) // which is no message any more
	if all := r.fake.Chat(moved).Bots(); len(all) != 2 || all[0].File == nil {
		t.Errorf("the chat shows %+v, want the file and the message", all)
	}
}

// What cannot be sent as a file can be posted without it.
func TestNoFiles(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true, MaxFile: 100})
	group := r.fake.Group("Team", r.fake.User(7, "Ann", "en"))
	for _, c := range []struct {
		name   string
		forbid bool
		size   int
	}{
		{"forbidden", true, 10},
		{"too large for the server", false, 101},
		{"far too large for the server", false, 2 << 20},
		{"too large for any", false, bot.MaxFile + 1},
		{"empty", false, 0},
	} {
		r.fake.ForbidFiles(group, c.forbid)
		d := approval(0)
		d.File.Content = make([]byte, c.size)
		before := len(r.shown(group))
		if _, err := r.tg.Post(context.Background(), chatOf(group), d); !errors.Is(err, bot.ErrNoFiles) || errors.Is(err, bot.ErrGone) {
			t.Errorf("%s: posting gave %v, want ErrNoFiles", c.name, err)
		}
		if len(r.shown(group)) != before {
			t.Errorf("%s: something was posted: %q", c.name, r.shown(group))
		}
		d.File = nil
		r.post(chatOf(group), d)
	}
	ben := r.fake.User(8, "Ben", "en")
	r.fake.Block(ben)
	if _, err := r.tg.Post(context.Background(), chatOf(ben.ID), approval(0)); !errors.Is(err, bot.ErrGone) {
		t.Errorf("posting to somebody who blocked the bot gave %v, want ErrGone", err)
	}
}

func TestRowsOfButtons(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true})
	dm := r.fake.Private(r.fake.User(7, "Ann", "en"))
	for _, c := range []struct{ labels, rows string }{
		{"Yes,No", "Yes No"},
		{"Run,Edit,Cancel", "Run Edit Cancel"},
		{"Allow once,Allow for this task,Deny,Deny with a reason,Always in this chat", "Allow once/Allow for this task/Deny Deny with a reason/Always in this chat"},
		{"Allow once,Allow for the task,Deny,With a reason,Always in this chat,Details", "Allow once Allow for the task/Deny With a reason/Always in this chat/Details"},
		{"Разрешить один раз,Разрешить для задачи,Отклонить,Отклонить с причиной,Всегда в этом чате", "Разрешить один раз/Разрешить для задачи/Отклонить/Отклонить с причиной/Всегда в этом чате"},
		{"允许一次,本任务内允许,拒绝,拒绝并说明,本群始终允许", "允许一次 本任务内允许/拒绝 拒绝并说明/本群始终允许"},
		{"1,2,3,4,5,6,7", "1 2 3/4 5 6/7"},
		{"1,2,three or more words,4", "1 2/three or more words/4"},
		{"one two three,1,2,3", "one two three 1/2 3"},
	} {
		var buttons []bot.Button
		for label := range strings.SplitSeq(c.labels, ",") {
			buttons = append(buttons, bot.Button{Label: label, Data: "d:" + label})
		}
		r.post(chatOf(dm), bot.Draft{Kind: bot.KindQuestion, Text: "Choose.", Buttons: buttons})
		all := r.fake.Chat(dm).Bots()
		var rows []string
		for _, row := range all[len(all)-1].Buttons {
			var labels []string
			for _, b := range row {
				labels = append(labels, b.Text)
			}
			rows = append(rows, strings.Join(labels, " "))
		}
		if got := strings.Join(rows, "/"); got != c.rows {
			t.Errorf("the buttons %q stand in the rows %q, want %q", c.labels, got, c.rows)
		}
	}
}

// TestBoardsAreSilent: a board makes no sound, since the answer will; a message that is
// removed is gone, and removing one that is gone or too old is no failure.
func TestBoardsAreSilent(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true})
	ann := r.fake.User(7, "Ann", "en")
	team := r.fake.Group("Team", ann)
	chat, ctx := chatOf(team), context.Background()
	board := r.post(chat, bot.Draft{Kind: bot.KindBoard, Task: "1", Partial: true, Board: &bot.Board{Status: "Planning"}})
	r.post(chat, bot.Draft{Kind: bot.KindAnswer, Task: "1", Text: "It rains."})
	all := r.fake.Chat(team).Bots()
	if len(all) != 2 || !all[0].Silent || all[1].Silent {
		t.Fatalf("the group got %+v, want a silent board and an answer that sounds", all)
	}
	for range 2 {
		if err := r.tg.Remove(ctx, chat, board); err != nil {
			t.Errorf("removing the board: %v", err)
		}
	}
	if got := r.shown(team); len(got) != 1 || got[0] != "It rains." {
		t.Errorf("the group shows %q, want the answer alone", got)
	}
	ben := r.fake.Say(team, ann, "mine")
	if err := r.tg.Remove(ctx, chat, strconv.Itoa(ben)); err == nil {
		t.Error("Telegram refused to delete a message, and that is no error")
	}
	r.fake.KickBot(team, ann)
	if err := r.tg.Remove(ctx, chat, board); err != nil {
		t.Errorf("removing a message from a group that removed the bot: %v", err)
	}
}
