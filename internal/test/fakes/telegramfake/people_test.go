package telegramfake_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"legwork/internal/test/fakes/telegramfake"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestPrivacy(t *testing.T) {
	tests := []struct {
		text  string
		reply bool // to the bot
		heard bool
	}{
		{"hello all", false, false},
		{"hello @legwork_bot", false, true},
		{"hello @LegWork_Bot!", false, true},
		{"hello @other_bot", false, false},
		{"mail@legwork_bot", false, false},
		{"/task find it", false, true},
		{"/task@legwork_bot find it", false, true},
		{"/task@other_bot find it", false, false},
		{"and then?", true, true},
	}
	for _, test := range tests {
		for _, everything := range []string{"", "reads all", "administrator"} {
			s := start(t, telegramfake.Options{ReadsAll: everything == "reads all"})
			ann := s.User(7, "Ann", "en")
			group := s.Group("Trip", ann)
			if everything == "administrator" {
				s.Promote(group)
			}
			do(t, s, "sendMessage", fmt.Sprintf(`{"chat_id":%d,"text":"here I am"}`, group))
			var opts []telegramfake.Opt
			if test.reply {
				opts = append(opts, telegramfake.ReplyTo(1))
			}
			s.Say(group, ann, test.text, opts...)
			if got, want := s.Pending() == 1, test.heard || everything != ""; got != want {
				t.Errorf("%q (%s): heard %v, want %v", test.text, everything, got, want)
			}
		}
	}
}

// told returns the one update that is pending.
func told(t *testing.T, s *telegramfake.Server) string {
	t.Helper()
	r := do(t, s, "getUpdates", `{}`)
	var list []json.RawMessage
	if err := json.Unmarshal(r.Result, &list); err != nil || len(list) == 0 {
		t.Fatalf("got %s, %v; want updates", r.Result, err)
	}
	do(t, s, "getUpdates", `{"offset":-1}`)
	last := string(list[len(list)-1])
	var id struct {
		ID int `json:"update_id"`
	}
	if err := json.Unmarshal(list[len(list)-1], &id); err != nil {
		t.Fatal(err)
	}
	do(t, s, "getUpdates", fmt.Sprintf(`{"offset":%d}`, id.ID+1))
	return last
}

func TestWhatTheBotIsTold(t *testing.T) {
	s := start(t, telegramfake.Options{ReadsAll: true})
	ann := s.User(7, "Ann", "en")
	forum, group, super := s.Forum("Work", ann), s.Group("Trip", ann), s.Supergroup("Town", ann)
	topic := s.Topic(forum, "Travel")
	said := s.Say(super, ann, "first")
	tests := []struct {
		name string
		act  func()
		want []string // parts of the update
	}{
		{"text", func() { s.Say(7, ann, "/start 🚀") }, []string{`"type":"private"`, `"language_code":"en"`, `"entities":[{"type":"bot_command","offset":0,"length":6}]`}},
		{"sticker", func() { s.Say(7, ann, "", telegramfake.Media("sticker")) }, []string{`"sticker":{`, `"emoji"`}},
		{"photo", func() { s.Say(7, ann, "see @legwork_bot", telegramfake.Media("photo")) }, []string{`"photo":[{`, `"caption":"see @legwork_bot"`, `"caption_entities":[`}},
		{"topic", func() { s.Say(forum, ann, "hi", telegramfake.InTopic(topic)) }, []string{fmt.Sprintf(`"message_thread_id":%d`, topic), `"is_topic_message":true`, `"forum_topic_created":{`, `"is_forum":true`}},
		{"chain of replies", func() { s.Say(super, ann, "second", telegramfake.ReplyTo(said)) }, []string{fmt.Sprintf(`"message_thread_id":%d`, said), `"reply_to_message":{`}},
		{"kicked", func() { s.KickBot(group, ann) }, []string{`"my_chat_member":{`, `"old_chat_member":{"status":"member"`, `"new_chat_member":{"status":"kicked"`}},
		{"added", func() { s.AddBot(group, ann) }, []string{`"new_chat_members":[{`, `"type":"group"`}},
		{"upgraded", func() { s.Migrate(group) }, []string{fmt.Sprintf(`"migrate_from_chat_id":%d`, group), `"type":"supergroup"`}},
		{"blocked", func() { s.Block(ann) }, []string{`"new_chat_member":{"status":"kicked"`}},
		{"press", func() { s.Press(super, said, "x", ann) }, []string{`"callback_query":{`, `"data":"x"`, `"chat_instance":`}},
		{"press of nothing", func() { s.Press(super, 99, "x", ann) }, []string{`"message":{"chat":{`, `"date":0`, `"message_id":99`}},
	}
	for _, test := range tests {
		test.act()
		got := told(t, s)
		for _, want := range test.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: got %s, want %s in it", test.name, got, want)
			}
		}
	}
}

func TestPressIsAnsweredOnceAndInTime(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := start(t, telegramfake.Options{Now: func() time.Time { return now }})
	ann := s.User(7, "Ann", "en")
	chat := s.Private(ann)
	do(t, s, "sendMessage", `{"chat_id":7,"text":"x","reply_markup":{"inline_keyboard":[[{"text":"Stop","callback_data":"stop:1"}]]}}`)
	if got := s.Pressed(s.Press(chat, 1, "stop:1", ann)); got.Label != "Stop" || got.Data != "stop:1" {
		t.Errorf("got %+v", got)
	}
	press := s.Press(chat, 1, "Stop", ann)
	answer := fmt.Sprintf(`{"callback_query_id":%q,"text":"Stopped","show_alert":true}`, press)
	if r := do(t, s, "answerCallbackQuery", strings.Replace(answer, "Stopped", strings.Repeat("a", 201), 1)); r.Description != "Bad Request: MESSAGE_TOO_LONG" {
		t.Errorf("a long answer: got %+v", r)
	}
	if r := do(t, s, "answerCallbackQuery", answer); !r.OK {
		t.Errorf("got %+v", r)
	}
	if got := s.Pressed(press); !got.Answered || got.Text != "Stopped" || !got.Alert || got.Data != "stop:1" {
		t.Errorf("got %+v", got)
	}
	const old = "Bad Request: query is too old and response timeout expired or query ID is invalid"
	if r := do(t, s, "answerCallbackQuery", answer); r.Description != old {
		t.Errorf("twice: got %+v", r)
	}
	if all := s.Presses(); len(all) != 2 || all[0].Answered || !all[1].Answered {
		t.Errorf("got %+v, want the second of two answered", all)
	}
	late := s.Press(chat, 1, "Stop", ann)
	now = now.Add(31 * time.Second)
	if r := do(t, s, "answerCallbackQuery", fmt.Sprintf(`{"callback_query_id":%q}`, late)); r.Description != old {
		t.Errorf("late: got %+v", r)
	}
}

func TestDrafts(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := start(t, telegramfake.Options{Now: func() time.Time { return now }})
	s.Private(s.User(7, "Ann", "en"))
	draft := func(text string) {
		t.Helper()
		if r := do(t, s, "sendMessageDraft", fmt.Sprintf(`{"chat_id":7,"draft_id":5,"text":%q,"parse_mode":"HTML"}`, text)); !r.OK {
			t.Fatalf("got %+v", r)
		}
	}
	draft("")
	draft("<b>It</b> is")
	now = now.Add(29 * time.Second)
	if got := s.Chat(7).Drafts; len(got) != 1 || got[0].Text != "It is" || len(got[0].Entities) != 1 {
		t.Errorf("after 29 s: got %+v", got)
	}
	now = now.Add(time.Second)
	if got := s.Chat(7).Drafts; len(got) != 0 {
		t.Errorf("after 30 s: got %+v, want none", got)
	}
	draft("It is no")
	do(t, s, "sendMessage", `{"chat_id":7,"text":"It is noon"}`)
	if got := s.Chat(7); len(got.Drafts) != 0 || len(got.Messages) != 1 {
		t.Errorf("got %+v, want the message in place of the draft", got)
	}
	do(t, s, "sendChatAction", `{"chat_id":7,"action":"typing"}`)
	if !s.Chat(7).Typing {
		t.Error("it is not shown as typing")
	}
	now = now.Add(5 * time.Second)
	if s.Chat(7).Typing {
		t.Error("it is typing for ever")
	}
}

func TestMoreThan100Entities(t *testing.T) {
	s := start(t, telegramfake.Options{})
	s.Private(s.User(7, "Ann", "en"))
	r := do(t, s, "sendMessage", fmt.Sprintf(`{"chat_id":7,"text":"%s","parse_mode":"HTML"}`, strings.Repeat("<b>x</b> ", 101)))
	log := s.Log()
	if m := s.Chat(7).Messages[0]; !r.OK || len(m.Entities) != 100 || len(log[len(log)-1].Notes) != 1 {
		t.Errorf("got %d entities and %+v, want 100 and a note", len(m.Entities), log[len(log)-1].Notes)
	}
}

func TestPreview(t *testing.T) {
	tests := map[string]bool{
		`"text":"see https://x.example"`:                                             true,
		`"text":"<a href=\"https://x.example\">x</a>","parse_mode":"HTML"`:           true,
		`"text":"see https://x.example","link_preview_options":{"is_disabled":true}`: false,
		`"text":"see https://x.example","disable_web_page_preview":true`:             false,
		`"text":"nothing to see"`:                                                    false,
	}
	for fields, want := range tests {
		s := start(t, telegramfake.Options{})
		s.Private(s.User(7, "Ann", "en"))
		if r := do(t, s, "sendMessage", `{"chat_id":7,`+fields+`}`); !r.OK || s.Chat(7).Messages[0].Preview != want {
			t.Errorf("%s: got %+v and preview %v, want %v", fields, r, !want, want)
		}
	}
}

func TestCommands(t *testing.T) {
	s := start(t, telegramfake.Options{})
	do(t, s, "setMyCommands", `{"commands":[{"command":"task","description":"erledigt etwas"}],"language_code":"de"}`)
	do(t, s, "setMyDescription", `{"description":"Fragt mich","language_code":"de"}`)
	if diff := cmp.Diff([]telegramfake.Command{{Command: "task", Description: "erledigt etwas"}}, s.Commands("default", "de")); diff != "" || s.Description("description", "de") != "Fragt mich" {
		t.Errorf("(-want +got):\n%s; description %q", diff, s.Description("description", "de"))
	}
	if r := do(t, s, "getMyCommands", `{}`); string(r.Result) != "[]" {
		t.Errorf("got %s for all others", r.Result)
	}
	do(t, s, "deleteMyCommands", `{"language_code":"de"}`)
	if got := s.Commands("default", "de"); len(got) != 0 {
		t.Errorf("got %+v after deleting", got)
	}
}

func TestInfo(t *testing.T) {
	w := build(t)
	for body, want := range map[string]string{
		`{"chat_id":FORUM,"user_id":7}`:    `"status":"member"`,
		`{"chat_id":FORUM,"user_id":8}`:    `"status":"left"`,
		`{"chat_id":FORUM,"user_id":1000}`: `"status":"member"`,
	} {
		if r := do(t, w.Server, "getChatMember", w.fill(body)); !strings.Contains(string(r.Result), want) {
			t.Errorf("%s: got %+v, want %s", body, r, want)
		}
	}
	if r := do(t, w.Server, "getChat", w.fill(`{"chat_id":FORUM}`)); !strings.Contains(string(r.Result), `"title":"Work"`) {
		t.Errorf("got %+v", r)
	}
	if r := do(t, w.Server, "getMe", `{}`); !strings.Contains(string(r.Result), `"can_read_all_group_messages":false`) || !strings.Contains(string(r.Result), `"username":"legwork_bot"`) {
		t.Errorf("got %s", r.Result)
	}
}

// scene is a conversation with everything that is drawn.
func scene(t *testing.T) (*telegramfake.Server, int64) {
	t.Helper()
	s := start(t, telegramfake.Options{NoLimits: true})
	ann := s.User(7, "Ann", "en")
	chat := s.Private(ann)
	asked := s.Say(chat, ann, "/task Compare the ferries to Oslo and to Gothenburg")
	keyboard := `"reply_markup":{"inline_keyboard":[[{"text":"Stop","callback_data":"s"},{"text":"Details","callback_data":"d"}]]}`
	for _, call := range []struct{ method, body string }{
		{"sendMessageDraft", `{"chat_id":7,"draft_id":1,"text":""}`},
		{"sendMessageDraft", `{"chat_id":7,"draft_id":1,"text":"Let me"}`},
		{"sendMessage", fmt.Sprintf(`{"chat_id":7,"text":"<b>Working</b>: 0 of 2","parse_mode":"HTML","reply_parameters":{"message_id":%d},%s}`, asked, keyboard)},
		{"editMessageText", `{"chat_id":7,"message_id":2,"text":"<b>Working</b>: 1 of 2","parse_mode":"HTML",` + keyboard + `}`},
		{"sendMessage", `{"chat_id":7,"text":"about to go"}`},
		{"deleteMessage", `{"chat_id":7,"message_id":3}`},
		{"sendMessage", `{"chat_id":7,"parse_mode":"HTML","text":"<b>Oslo</b> wins, <i>by far</i>: <a href=\"https://ferry.example/\">timetable</a> 🚢\n<blockquote>two\nlines</blockquote>\n<pre><code class=\"language-go\">x := 1\ny := 2</code></pre>\n<code>z</code> <s>old</s> <u>new</u> <tg-spoiler>end</tg-spoiler>"}`},
	} {
		if r := do(t, s, call.method, call.body); !r.OK {
			t.Fatalf("%s: got %+v", call.body, r)
		}
	}
	press := s.Press(chat, 2, "Stop", ann)
	do(t, s, "answerCallbackQuery", fmt.Sprintf(`{"callback_query_id":%q,"text":"It is over"}`, press))
	s.Say(chat, ann, "nice", telegramfake.Media("sticker"), telegramfake.ReplyTo(4))
	return s, chat
}

func TestTranscript(t *testing.T) {
	s, chat := scene(t)
	for name, got := range map[string]string{"transcript": s.Transcript(chat), "frames": s.Frames(chat)} {
		path := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
