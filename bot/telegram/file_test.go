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

// approval is a draft with a file, as a card to approve is one.
func approval(reply int) bot.Draft {
	return bot.Draft{
		Kind: bot.KindQuestion, Task: "t1", Text: "May **mail.send** run?", ReplyTo: strconv.Itoa(reply),
		Buttons: []bot.Button{{Label: "Allow once", Data: "a", Style: bot.StylePrimary}, {Label: "Deny", Data: "d", Style: bot.StyleDanger}},
		File:    &bot.File{Name: "arguments.json", Type: "application/json", Content: []byte(`{"to": "bob@example.com"}`)},
	}
}

func TestPostWithAFile(t *testing.T) {
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
	if got := fmt.Sprint(all[1].Buttons); got != "[[{Allow once a  primary} {Deny d  danger}]]" {
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
	r := start(t, telegramfake.Options{NoLimits: true})
	dm := r.fake.Private(r.fake.User(7, "Ann", "en"))
	r.fake.Fail(telegramfake.Fault{Kind: telegramfake.FaultBusy, Method: "sendDocument", RetryAfter: 1})
	r.post(chatOf(dm), approval(0)) // a call before the time is a violation of the fake
	if all := r.fake.Chat(dm).Bots(); len(all) != 2 || all[0].File == nil {
		t.Errorf("the chat shows %+v, want the file and the message", all)
	}
}

func TestFileToAChatThatMoved(t *testing.T) {
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
