package telegram_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"legwork/bot"
	"legwork/bot/telegram"
	"legwork/internal/test/fakes/telegramfake"
)

// What most updates of the tables share.
const (
	ann     = `"from":{"id":7,"is_bot":false,"first_name":"Ann","last_name":"Lee","username":"ann","language_code":"de"}`
	me      = `{"id":1000,"is_bot":true,"first_name":"Legwork","username":"legwork_bot"}`
	private = `"message_id":5,"date":1700000000,"chat":{"id":7,"type":"private","first_name":"Ann"},` + ann
	group   = `"message_id":5,"date":1700000000,"chat":{"id":-1001,"type":"supergroup","title":"Team"},` + ann
	forum   = `"message_id":5,"date":1700000000,"chat":{"id":-1001,"type":"supergroup","title":"Team","is_forum":true},` + ann
)

var sentAt = time.Unix(1700000000, 0).UTC()

// said is what the tables expect of a message from Ann.
func said(chat bot.Chat, text string) bot.Message {
	chat.Platform = "telegram"
	return bot.Message{Chat: chat, From: bot.Person{Platform: "telegram", ID: "7", Name: "Ann Lee"}, ID: "5", Text: text, At: sentAt, Language: "de"}
}

func with(m bot.Message, change func(*bot.Message)) bot.Message {
	change(&m)
	return m
}

func TestUpdates(t *testing.T) {
	t.Parallel()
	dm, team := bot.Chat{ID: "7", Private: true}, bot.Chat{ID: "-1001"}
	mention := func(at, length int) string {
		return fmt.Sprintf(`"entities":[{"type":"mention","offset":%d,"length":%d}]`, at, length)
	}
	moved := bot.Chat{Platform: "telegram", ID: "-1002"}
	tests := []struct {
		name, update string
		want         []bot.Message
	}{
		{"private text", `{"message":{` + private + `,"text":"hello"}}`, []bot.Message{said(dm, "hello")}},
		{"caption", `{"message":{` + private + `,"photo":[{"file_id":"x"}],"caption":"what is this?"}}`, []bot.Message{said(dm, "what is this?")}},
		{"sticker", `{"message":{` + private + `,"sticker":{"file_id":"x"}}}`, []bot.Message{with(said(dm, ""), func(m *bot.Message) { m.Media = "sticker" })}},
		{"animation beside its document", `{"message":{` + private + `,"animation":{},"document":{}}}`, []bot.Message{with(said(dm, ""), func(m *bot.Message) { m.Media = "animation" })}},
		{"venue beside its location", `{"message":{` + private + `,"venue":{},"location":{}}}`, []bot.Message{with(said(dm, ""), func(m *bot.Message) { m.Media = "venue" })}},
		{"emoji only", `{"message":{` + private + `,"text":"👩‍👩‍👧 🇩🇪"}}`, []bot.Message{said(dm, "👩‍👩‍👧 🇩🇪")}},
		{"right to left", `{"message":{` + private + `,"text":"ما هذا؟"}}`, []bot.Message{said(dm, "ما هذا؟")}},
		{"edited", `{"edited_message":{` + private + `,"edit_date":1700000060,"text":"hello again"}}`, []bot.Message{with(said(dm, "hello again"), func(m *bot.Message) { m.Kind, m.At = bot.MessageEdit, sentAt.Add(time.Minute) })}},
		{"edited sticker", `{"edited_message":{` + private + `,"sticker":{}}}`, nil},
		{"command in private with the bot's name", `{"message":{` + private + `,"text":"/task@Legwork_Bot find it","entities":[{"type":"bot_command","offset":0,"length":17}]}}`, []bot.Message{said(dm, "/task find it")}},
		{"reply in private", `{"message":{` + private + `,"text":"and Paris?","reply_to_message":{"message_id":3,"from":` + me + `,"chat":{"id":7,"type":"private"}}}}`, []bot.Message{with(said(dm, "and Paris?"), func(m *bot.Message) { m.ReplyTo = "3" })}},
		{"selected words of a reply", `{"message":{` + private + `,"text":"what does it mean?","quote":{"text":"a\nb","is_manual":true},"reply_to_message":{"message_id":3,"from":` + me + `,"chat":{"id":7,"type":"private"},"text":"x a\nb"}}}`, []bot.Message{with(said(dm, "> a\n> b\n\nwhat does it mean?"), func(m *bot.Message) { m.ReplyTo = "3" })}},
		{"private topic", `{"message":{` + private + `,"message_thread_id":9,"is_topic_message":true,"text":"hello"}}`, []bot.Message{said(bot.Chat{ID: "7", Private: true, Thread: "9"}, "hello")}},
		{"link behind words", `{"message":{` + private + `,"text":"see here, please","entities":[{"type":"text_link","offset":4,"length":4,"url":"https://go.dev/x"},{"type":"bold","offset":0,"length":8}]}}`, []bot.Message{said(dm, "see here (https://go.dev/x), please")}},
		{"entities that do not fit", `{"message":{` + private + `,"text":"ab","entities":[{"type":"mention","offset":-1,"length":9},{"type":"mention","offset":1,"length":99},{"type":"text_link","offset":9223372036854775807,"length":9223372036854775807,"url":"x"}]}}`, []bot.Message{said(dm, "ab")}},

		{"forwarded command", `{"message":{` + private + `,"text":"/stop","entities":[{"type":"bot_command","offset":0,"length":5}],"forward_origin":{"type":"user","date":1,"sender_user":{"id":8,"first_name":"Bob"}}}}`, []bot.Message{said(dm, "> /stop")}},
		{"forwarded words", `{"message":{` + private + `,"text":"it rains\nhere","forward_origin":{"type":"channel"}}}`, []bot.Message{said(dm, "> it rains\n> here")}},
		{"forwarded sticker", `{"message":{` + private + `,"sticker":{},"forward_origin":{"type":"hidden_user"}}}`, []bot.Message{with(said(dm, ""), func(m *bot.Message) { m.Media = "sticker" })}},

		{"group talk", `{"message":{` + group + `,"text":"lunch?"}}`, nil},
		{"mention", `{"message":{` + group + `,"text":"@legwork_bot, what time is it?",` + mention(0, 12) + `}}`, []bot.Message{said(team, "what time is it?")}},
		{"mention after emoji", `{"message":{` + group + `,"text":"😀 hey @LEGWORK_BOT what now",` + mention(7, 12) + `}}`, []bot.Message{said(team, "😀 hey what now")}},
		{"mention of another bot", `{"message":{` + group + `,"text":"@other_bot hi",` + mention(0, 10) + `}}`, nil},
		{"mention by id", `{"message":{` + group + `,"text":"Legwork what now","entities":[{"type":"text_mention","offset":0,"length":7,"user":` + me + `}]}}`, []bot.Message{said(team, "what now")}},
		{"mention of somebody by id", `{"message":{` + group + `,"text":"Bob what now","entities":[{"type":"text_mention","offset":0,"length":3,"user":{"id":8,"first_name":"Bob"}}]}}`, nil},
		{"mention in a caption", `{"message":{` + group + `,"photo":[{}],"caption":"@legwork_bot read","caption_entities":[{"type":"mention","offset":0,"length":12}]}}`, []bot.Message{said(team, "read")}},
		{"mention alone", `{"message":{` + group + `,"text":"@legwork_bot",` + mention(0, 12) + `}}`, []bot.Message{said(team, "")}},
		{"mention alone in reply to somebody", `{"message":{` + group + `,"text":"@legwork_bot",` + mention(0, 12) + `,"reply_to_message":{"message_id":3,"from":{"id":8,"first_name":"Bob"},"chat":{"id":-1001},"text":"is it\ntrue?"}}}`, []bot.Message{with(said(team, "> is it\n> true?"), func(m *bot.Message) { m.ReplyTo = "3" })}},
		{"question about somebody's message", `{"message":{` + group + `,"text":"is he right @legwork_bot?",` + mention(12, 12) + `,"reply_to_message":{"message_id":3,"from":{"id":8,"first_name":"Bob"},"chat":{"id":-1001},"caption":"it rains"}}}`, []bot.Message{with(said(team, "> it rains\n\nis he right ?"), func(m *bot.Message) { m.ReplyTo = "3" })}},
		{"reply to the bot", `{"message":{` + group + `,"text":"and then?","reply_to_message":{"message_id":3,"from":` + me + `,"chat":{"id":-1001},"text":"so"}}}`, []bot.Message{with(said(team, "and then?"), func(m *bot.Message) { m.ReplyTo = "3" })}},
		{"reply to somebody else", `{"message":{` + group + `,"text":"yes","reply_to_message":{"message_id":3,"from":{"id":8,"first_name":"Bob"},"chat":{"id":-1001},"text":"so"}}}`, nil},
		{"sticker in reply to the bot", `{"message":{` + group + `,"sticker":{},"reply_to_message":{"message_id":3,"from":` + me + `,"chat":{"id":-1001}}}}`, []bot.Message{with(said(team, ""), func(m *bot.Message) { m.ReplyTo, m.Media = "3", "sticker" })}},
		{"photo in a group", `{"message":{` + group + `,"photo":[{}]}}`, nil},
		{"forwarded mention", `{"message":{` + group + `,"text":"@legwork_bot hi",` + mention(0, 12) + `,"forward_origin":{"type":"user"}}}`, nil},
		{"plain command", `{"message":{` + group + `,"text":"/status"}}`, []bot.Message{said(team, "/status")}},
		{"command for the bot", `{"message":{` + group + `,"text":"/task@legwork_bot\nfind it"}}`, []bot.Message{said(team, "/task\nfind it")}},
		{"command for another bot", `{"message":{` + group + `,"text":"/task@other_bot find it","reply_to_message":{"message_id":3,"from":` + me + `,"chat":{"id":-1001}}}}`, nil},
		{"task about somebody's message", `{"message":{` + group + `,"text":"/task is it true?","reply_to_message":{"message_id":3,"from":{"id":8,"first_name":"Bob"},"chat":{"id":-1001},"text":"it rains"}}}`, []bot.Message{with(said(team, "/task > it rains\n\nis it true?"), func(m *bot.Message) { m.ReplyTo = "3" })}},
		{"other command about somebody's message", `{"message":{` + group + `,"text":"/lang de","reply_to_message":{"message_id":3,"from":{"id":8,"first_name":"Bob"},"chat":{"id":-1001},"text":"it rains"}}}`, []bot.Message{with(said(team, "/lang de"), func(m *bot.Message) { m.ReplyTo = "3" })}},
		{"anonymous admin", `{"message":{"message_id":5,"date":1700000000,"chat":{"id":-1001,"type":"supergroup"},"from":{"id":1087968824,"is_bot":true,"first_name":"Group"},"sender_chat":{"id":-1001,"title":"Team","type":"supergroup"},"text":"/status"}}`, []bot.Message{{Chat: bot.Chat{Platform: "telegram", ID: "-1001"}, From: bot.Person{Platform: "telegram", ID: "-1001", Name: "Team"}, ID: "5", Text: "/status", At: sentAt}}},
		{"another bot", `{"message":{"message_id":5,"date":1700000000,"chat":{"id":-1001,"type":"supergroup"},"from":{"id":9,"is_bot":true,"first_name":"B"},"text":"/status"}}`, nil},
		{"post of a linked channel", `{"message":{"message_id":5,"date":1,"chat":{"id":-1001,"type":"supergroup"},"from":{"id":777000,"first_name":"Telegram"},"sender_chat":{"id":-1009,"type":"channel"},"is_automatic_forward":true,"text":"/status"}}`, nil},
		{"channel", `{"message":{"message_id":5,"date":1,"chat":{"id":-1009,"type":"channel"},"sender_chat":{"id":-1009,"type":"channel"},"text":"/status"}}`, nil},
		{"somebody joined", `{"message":{` + group + `,"new_chat_members":[{"id":8}]}}`, nil},
		{"pinned in private", `{"message":{` + private + `,"pinned_message":{"message_id":3}}}`, nil},

		{"topic", `{"message":{` + forum + `,"message_thread_id":4,"is_topic_message":true,"text":"/status","reply_to_message":{"message_id":4,"from":` + me + `,"chat":{"id":-1001},"forum_topic_created":{"name":"x"}}}}`, []bot.Message{said(bot.Chat{ID: "-1001", Thread: "4"}, "/status")}},
		{"talk in a topic that the bot opened", `{"message":{` + forum + `,"message_thread_id":4,"is_topic_message":true,"text":"lunch?","reply_to_message":{"message_id":4,"from":` + me + `,"chat":{"id":-1001},"forum_topic_created":{"name":"x"}}}}`, nil},
		{"reply in a topic", `{"message":{` + forum + `,"message_thread_id":4,"is_topic_message":true,"text":"go on","reply_to_message":{"message_id":8,"from":` + me + `,"chat":{"id":-1001},"text":"x"}}}`, []bot.Message{with(said(bot.Chat{ID: "-1001", Thread: "4"}, "go on"), func(m *bot.Message) { m.ReplyTo = "8" })}},
		{"General by number", `{"message":{` + forum + `,"message_thread_id":1,"is_topic_message":true,"text":"/status"}}`, []bot.Message{said(team, "/status")}},
		{"replies in a group without topics", `{"message":{` + group + `,"message_thread_id":3,"text":"/status"}}`, []bot.Message{said(team, "/status")}},

		{"press", `{"callback_query":{"id":"77",` + ann + `,"chat_instance":"x","data":"s:1","message":{"message_id":5,"date":1,"from":` + me + `,"chat":{"id":-1001,"type":"supergroup"},"message_thread_id":4,"is_topic_message":true,"text":"x"}}}`, []bot.Message{{Chat: bot.Chat{Platform: "telegram", ID: "-1001", Thread: "4"}, From: said(dm, "").From, ID: "5", Kind: bot.MessagePress, Data: "s:1", Token: "77", Language: "de"}}},
		{"press below a message that is out of reach", `{"callback_query":{"id":"77",` + ann + `,"data":"s:1","message":{"message_id":5,"date":0,"chat":{"id":7,"type":"private"}}}}`, []bot.Message{{Chat: said(dm, "").Chat, From: said(dm, "").From, ID: "5", Kind: bot.MessagePress, Data: "s:1", Token: "77", Language: "de"}}},
		{"press of a game", `{"callback_query":{"id":"77",` + ann + `,"game_short_name":"x","message":{"message_id":5,"chat":{"id":7,"type":"private"}}}}`, nil},
		{"press without a message", `{"callback_query":{"id":"77",` + ann + `,"data":"s:1","inline_message_id":"x"}}`, nil},

		{"group becomes a supergroup", `{"message":{` + group + `,"migrate_to_chat_id":-1002}}`, []bot.Message{{Chat: bot.Chat{Platform: "telegram", ID: "-1001"}, At: sentAt, Kind: bot.MessageMove, MovedTo: moved}}},
		{"blocked", `{"my_chat_member":{"chat":{"id":7,"type":"private"},` + ann + `,"date":1,"new_chat_member":{"status":"kicked"}}}`, nil},
		{"unknown kind", `{"brand_new_kind":{"x":1}}`, nil},
		{"wrong type", `{"message":{"message_id":"five","text":7}}`, nil},
		{"empty", `{}`, nil},
		{"nulls", `{"message":null,"callback_query":null}`, nil},
		{"message without a sender", `{"message":{}}`, nil},
	}
	r := start(t, telegramfake.Options{})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			id := r.fake.Raw(test.update)
			mark := fmt.Sprintf("mark %d", id)
			r.fake.Raw(`{"message":{` + private + `,"text":"` + mark + `"}}`)
			var got []bot.Message
			for {
				m := r.next()
				if m.Text == mark {
					break
				}
				if want := fmt.Sprintf("telegram:1000:update:%d", id); m.Key != want {
					t.Errorf("the key is %q, want %q", m.Key, want)
				}
				if m.Kind == bot.MessagePress {
					if m.At.IsZero() {
						t.Error("a press has no time")
					}
					m.At = time.Time{}
				}
				m.Key = ""
				got = append(got, m)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s\ngave (-want +got):\n%s", test.update, diff)
			}
		})
	}
}

func TestAlbumSpeaksOnce(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{})
	for id := range 3 {
		r.fake.Raw(fmt.Sprintf(`{"message":{"message_id":%d,"date":1,"chat":{"id":7,"type":"private"},%s,"media_group_id":"g","photo":[{}]}}`, id+20, ann))
	}
	r.fake.Raw(`{"message":{` + private + `,"text":"after"}}`)
	if m := r.next(); m.Media != "photo" || m.ID != "20" {
		t.Errorf("the album began with %+v, want its first photo", m)
	}
	if m := r.next(); m.Text != "after" {
		t.Errorf("the album went on with %+v, want one message of it", m)
	}
}

// TestAlbumWithWords: the caption of an album is at its first photo.
func TestAlbumWithWords(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{})
	for id, words := range []string{`"caption":"what are these?",`, "", ""} {
		r.fake.Raw(fmt.Sprintf(`{"message":{"message_id":%d,"date":1,"chat":{"id":7,"type":"private"},%s,"media_group_id":"g",%s"photo":[{}]}}`, id+20, ann, words))
	}
	r.fake.Raw(`{"message":{` + private + `,"text":"after"}}`)
	if m := r.next(); m.Text != "what are these?" {
		t.Errorf("the album began with %+v, want its words", m)
	}
	if m := r.next(); m.Text != "after" {
		t.Errorf("the album went on with %+v, want one message of it", m)
	}
}

// TestCommandsOfOtherBots: a group may have many bots, and a slash alone speaks
// to none of them.
func TestCommandsOfOtherBots(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{}, func(_ *telegram.Config, o *telegram.Options) {
		o.Commands = func() map[string][]telegram.Command {
			return map[string][]telegram.Command{"en": {{Name: "status", Description: "x"}, {Name: "task", Description: "x"}}}
		}
	})
	replied := `,"reply_to_message":{"message_id":3,"from":` + me + `,"chat":{"id":-1001},"text":"so"}`
	for _, test := range []struct {
		in, text, rest string
		heard          bool
	}{
		{group, "/status", "", true},
		{group, "/TASK find it", "", true},
		{group, "/play a song", "", false},
		{group, "/play@legwork_bot", "", true},
		{group, "/play", replied, true},
		{group, "/usr/bin is full", "", false},
		{private, "/play", "", true},
	} {
		r.fake.Raw(fmt.Sprintf(`{"message":{%s,"text":%q%s}}`, test.in, test.text, test.rest))
		r.fake.Raw(`{"message":{` + private + `,"text":"mark"}}`)
		heard := false
		for m := r.next(); m.Text != "mark"; m = r.next() {
			heard = true
		}
		if heard != test.heard {
			t.Errorf("%q in %s was heard: %t, want %t", test.text, test.in, heard, test.heard)
		}
	}
}

func TestUpdatesThatAreNoUpdates(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{})
	for _, raw := range []string{`7`, `"text"`, `null`, `[]`, `{"update_id":"x"}`, `{"update_id":1e400}`, `{"update_id":-5}`, `{"update_id":null,"message":{}}`} {
		r.fake.Raw(raw)
		r.fake.Raw(`{"message":{` + private + `,"text":"still here"}}`)
		if m := r.next(); m.Text != "still here" {
			t.Errorf("after the update %s came %+v, want the next message", raw, m)
		}
	}
	r.until("everything is confirmed", func() bool { return r.fake.Pending() == 0 })
}

// FuzzUpdate reads whatever somebody in the place of Telegram could send.
func FuzzUpdate(f *testing.F) {
	for _, seed := range []string{
		`{"update_id":1,"message":{` + private + `,"text":"hello"}}`,
		`{"update_id":1,"message":{` + group + `,"text":"@legwork_bot 😀 hi","entities":[{"type":"mention","offset":0,"length":12},{"type":"text_link","offset":12,"length":3,"url":"https://x.y"}]}}`,
		`{"update_id":1,"message":{` + forum + `,"message_thread_id":4,"is_topic_message":true,"text":"/task@legwork_bot x","quote":{"text":"q","is_manual":true},"reply_to_message":{"message_id":3,"from":` + me + `,"chat":{"id":1}}}}`,
		`{"update_id":1,"edited_message":{` + private + `,"caption":"x","photo":[{}],"edit_date":5}}`,
		`{"update_id":1,"callback_query":{"id":"7",` + ann + `,"data":"s:1","message":{"message_id":5,"chat":{"id":7,"type":"private"}}}}`,
		`{"update_id":1,"message":{` + group + `,"migrate_to_chat_id":-5}}`,
		`{"update_id":1,"my_chat_member":{"chat":{"id":7},"new_chat_member":{"status":"kicked"}}}`,
		`{"update_id":1}`, `{"update_id":9223372036854775807,"message":null}`, `[]`, `null`, `{"update_id":"x","message":7}`,
	} {
		f.Add([]byte(seed), int64(5))
	}
	f.Fuzz(func(t *testing.T, raw []byte, offset int64) {
		m, ok, next := telegram.Read(raw, offset)
		if next < min(offset, 1) {
			t.Errorf("after %s the offset went from %d to %d", raw, offset, next)
		}
		if !ok {
			return
		}
		if m.Key == "" || m.Chat.ID == "" || m.Chat.ID == "0" || m.Chat.Platform != "telegram" {
			t.Errorf("%s gave a message of nowhere: %+v", raw, m)
		}
		if m.Text != strings.TrimSpace(m.Text) || !utf8.ValidString(m.Text) || !utf8.ValidString(m.From.Name) {
			t.Errorf("%s gave the text %q of %q", raw, m.Text, m.From.Name)
		}
		if m.Kind != bot.MessageMove && m.From.ID == "" {
			t.Errorf("%s gave a message without a sender: %+v", raw, m)
		}
	})
}
