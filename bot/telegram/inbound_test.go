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

// pointing is a message that points at one which it replies to; replyTo is empty when
// that is in another chat.
func pointing(m bot.Message, replyTo string, q bot.Quoted) bot.Message {
	q.Pointed = true
	m.ReplyTo, m.Earlier = replyTo, []bot.Quoted{q}
	return m
}

// media is a message that holds something in place of text.
func media(m bot.Message, kind, name, text string) bot.Message {
	m.Media, m.Facts = kind, bot.Facts{Name: name, Text: text}
	return m
}

// earlier is when messages that are replied to were written.
var earlier = time.Unix(1699999000, 0).UTC()

func TestUpdates(t *testing.T) {
	t.Parallel()
	dm, team := bot.Chat{ID: "7", Private: true}, bot.Chat{ID: "-1001"}
	mention := func(at, length int) string {
		return fmt.Sprintf(`"entities":[{"type":"mention","offset":%d,"length":%d}]`, at, length)
	}
	photoX := []bot.Attachment{{Ref: "x", Kind: bot.AttachPhoto, Type: "image/jpeg"}}
	moved := bot.Chat{Platform: "telegram", ID: "-1002"}
	tests := []struct {
		name, update string
		want         []bot.Message
	}{
		{"private text", `{"message":{` + private + `,"text":"hello"}}`, []bot.Message{said(dm, "hello")}},
		{"caption", `{"message":{` + private + `,"photo":[{"file_id":"x"}],"caption":"what is this?"}}`, []bot.Message{with(said(dm, "what is this?"), func(m *bot.Message) { m.Files = photoX })}},
		{"file with a caption", `{"message":{` + private + `,"document":{"file_name":"a.pdf"},"caption":"what is this?"}}`, []bot.Message{with(said(dm, "what is this?"), func(m *bot.Message) { m.Media, m.MediaName = "document", "a.pdf" })}},
		{"sticker", `{"message":{` + private + `,"sticker":{"file_id":"x"}}}`, []bot.Message{with(said(dm, ""), func(m *bot.Message) { m.Media = "sticker" })}},
		{"animation beside its document", `{"message":{` + private + `,"animation":{},"document":{}}}`, []bot.Message{with(said(dm, ""), func(m *bot.Message) { m.Media = "animation" })}},
		{"venue beside its location", `{"message":{` + private + `,"venue":{},"location":{}}}`, []bot.Message{with(said(dm, ""), func(m *bot.Message) { m.Media = "venue" })}},
		{"emoji only", `{"message":{` + private + `,"text":"👩‍👩‍👧 🇩🇪"}}`, []bot.Message{said(dm, "👩‍👩‍👧 🇩🇪")}},
		{"right to left", `{"message":{` + private + `,"text":"ما هذا؟"}}`, []bot.Message{said(dm, "ما هذا؟")}},
		{"edited", `{"edited_message":{` + private + `,"edit_date":1700000060,"text":"hello again"}}`, []bot.Message{with(said(dm, "hello again"), func(m *bot.Message) { m.Kind, m.At = bot.MessageEdit, sentAt.Add(time.Minute) })}},
		{"reply to a story", `{"message":{` + private + `,"text":"who is this?","reply_to_story":{"chat":{"id":9},"id":1}}}`, []bot.Message{with(said(dm, "who is this?"), func(m *bot.Message) { m.Media = "story" })}},
		{"wordless reply to a story", `{"message":{` + private + `,"reply_to_story":{"chat":{"id":9},"id":1}}}`, []bot.Message{with(said(dm, ""), func(m *bot.Message) { m.Media = "story" })}},
		{"rich message", `{"message":{` + private + `,"rich_message":{"blocks":[{"type":"paragraph","text":"hello"}]}}}`, []bot.Message{with(said(dm, ""), func(m *bot.Message) { m.Media = "rich_message" })}},
		{"edited sticker", `{"edited_message":{` + private + `,"sticker":{}}}`, nil},
		{"command in private with the bot's name", `{"message":{` + private + `,"text":"/task@Legwork_Bot find it","entities":[{"type":"bot_command","offset":0,"length":17}]}}`, []bot.Message{said(dm, "/task find it")}},
		{"reply in private", `{"message":{` + private + `,"text":"and Paris?","reply_to_message":{"message_id":3,"from":` + me + `,"chat":{"id":7,"type":"private"},"text":"x"}}}`, []bot.Message{pointing(said(dm, "and Paris?"), "3", bot.Quoted{From: "Legwork", Text: "x", Own: true, Bot: true, ID: "3"})}},
		{"selected words of a reply", `{"message":{` + private + `,"text":"what does it mean?","quote":{"text":"a\nb","is_manual":true},"reply_to_message":{"message_id":3,"from":` + me + `,"chat":{"id":7,"type":"private"},"text":"x a\nb"}}}`, []bot.Message{pointing(said(dm, "what does it mean?"), "3", bot.Quoted{From: "Legwork", Text: "a\nb", Own: true, Bot: true, ID: "3"})}},
		{"reply to the bot in private", `{"message":{` + private + `,"text":"why?","reply_to_message":{"message_id":3,"date":1699999000,"from":` + me + `,"chat":{"id":7,"type":"private"},"text":"It rains."}}}`, []bot.Message{pointing(said(dm, "why?"), "3", bot.Quoted{From: "Legwork", Text: "It rains.", At: earlier, Own: true, Bot: true, ID: "3"})}},
		{"reply to one's own photo", `{"message":{` + private + `,"text":"where is it?","reply_to_message":{"message_id":3,"date":1699999000,` + ann + `,"chat":{"id":7,"type":"private"},"photo":[{"file_id":"x"}],"caption":"our house","caption_entities":[{"type":"text_link","offset":4,"length":5,"url":"https://house.example"}]}}}`, []bot.Message{pointing(said(dm, "where is it?"), "3", bot.Quoted{From: "Ann Lee", Text: "our house (https://house.example)", At: earlier, Own: true, Files: photoX})}},
		{"reply to what somebody else wrote first", `{"message":{` + private + `,"text":"who is that?","reply_to_message":{"message_id":3,"date":1699999500,` + ann + `,"chat":{"id":7,"type":"private"},"contact":{"phone_number":"+4712","first_name":"Eve"},"forward_origin":{"type":"user","date":1699999000,"sender_user":{"id":8,"first_name":"Bob"}}}}}`, []bot.Message{pointing(said(dm, "who is that?"), "3", bot.Quoted{From: "Bob", At: earlier, Media: "contact", Facts: bot.Facts{Name: "Eve", Text: "+4712"}})}},
		{"reply to a message of another chat", `{"message":{` + private + `,"text":"is that so?","quote":{"text":"It rains.","position":0},"external_reply":{"origin":{"type":"user","date":1699999000,"sender_user":{"id":8,"first_name":"Bob"}},"chat":{"id":-1007,"type":"supergroup","title":"Far"},"message_id":9}}}`, []bot.Message{pointing(said(dm, "is that so?"), "", bot.Quoted{From: "Bob", Text: "It rains.", At: earlier})}},
		{"reply to a photo of a channel", `{"message":{` + private + `,"text":"what is it?","external_reply":{"origin":{"type":"channel","date":1699999000,"chat":{"id":-1007,"type":"channel","title":"News"},"message_id":9},"photo":[{"file_id":"x"}]}}}`, []bot.Message{pointing(said(dm, "what is it?"), "", bot.Quoted{From: "News", At: earlier, Files: []bot.Attachment{{Ref: "x", Kind: bot.AttachPhoto, Type: "image/jpeg", From: "News", Others: true}}})}},
		{"reply to a hidden author", `{"message":{` + private + `,"text":"really?","quote":{"text":"yes"},"external_reply":{"origin":{"type":"hidden_user","date":1699999000,"sender_user_name":"Nobody"}}}}`, []bot.Message{pointing(said(dm, "really?"), "", bot.Quoted{From: "Nobody", Text: "yes", At: earlier})}},

		{"location", `{"message":{` + private + `,"location":{"latitude":59.9127,"longitude":10.7461}}}`, []bot.Message{media(said(dm, ""), "location", "", "59.9127, 10.7461")}},
		{"venue", `{"message":{` + private + `,"venue":{"location":{"latitude":59.9,"longitude":10.7},"title":"Opera","address":"Kirsten Flagstads plass 1"},"location":{"latitude":59.9,"longitude":10.7}}}`, []bot.Message{media(said(dm, ""), "venue", "Opera, Kirsten Flagstads plass 1", "59.9, 10.7")}},
		{"contact", `{"message":{` + private + `,"contact":{"phone_number":"+4712345","first_name":"Eve","last_name":"Berg"}}}`, []bot.Message{media(said(dm, ""), "contact", "Eve Berg", "+4712345")}},
		{"poll", `{"message":{` + private + `,"poll":{"id":"1","question":"Where to?","options":[{"text":"Rome","voter_count":2},{"text":"Oslo","voter_count":0}],"total_voter_count":2}}}`, []bot.Message{media(said(dm, ""), "poll", "Where to?", "- Rome (2)\n- Oslo (0)")}},
		{"poll without votes", `{"message":{` + private + `,"poll":{"id":"1","question":"Where to?","options":[{"text":"Rome","voter_count":0}],"total_voter_count":0}}}`, []bot.Message{media(said(dm, ""), "poll", "Where to?", "- Rome")}},
		{"checklist", `{"message":{` + private + `,"checklist":{"title":"Trip","tasks":[{"id":1,"text":"Tickets","completion_date":1699999000},{"id":2,"text":"Hotel"}]}}}`, []bot.Message{media(said(dm, ""), "checklist", "Trip", "- [x] Tickets\n- [ ] Hotel")}},
		{"dice", `{"message":{` + private + `,"dice":{"emoji":"🎲","value":5}}}`, []bot.Message{media(said(dm, ""), "dice", "🎲", "5")}},
		{"sticker with an emoji", `{"message":{` + private + `,"sticker":{"file_id":"x","emoji":"👍"}}}`, []bot.Message{media(said(dm, ""), "sticker", "", "👍")}},
		{"location in an unknown form", `{"message":{` + private + `,"location":{"latitude":"north"}}}`, []bot.Message{with(said(dm, ""), func(m *bot.Message) { m.Media = "location" })}},
		{"location that moved", `{"edited_message":{` + private + `,"edit_date":1700000060,"location":{"latitude":59.9,"longitude":10.7,"live_period":900}}}`, nil},
		{"forwarded location", `{"message":{` + private + `,"location":{"latitude":59.9,"longitude":10.7},"forward_origin":{"type":"user","date":1699999000,"sender_user":{"id":8,"first_name":"Bob"}}}}`, []bot.Message{with(pointing(said(dm, ""), "", bot.Quoted{From: "Bob", At: earlier, Media: "location", Facts: bot.Facts{Text: "59.9, 10.7"}}), func(m *bot.Message) { m.Media = "location" })}},
		{"location in reply to the bot", `{"message":{` + group + `,"location":{"latitude":59.9,"longitude":10.7},"reply_to_message":{"message_id":3,"from":` + me + `,"chat":{"id":-1001},"text":"Where?"}}}`, []bot.Message{media(pointing(said(team, ""), "3", bot.Quoted{From: "Legwork", Text: "Where?", Own: true, Bot: true, ID: "3"}), "location", "", "59.9, 10.7")}},
		{"private topic", `{"message":{` + private + `,"message_thread_id":9,"is_topic_message":true,"text":"hello"}}`, []bot.Message{said(bot.Chat{ID: "7", Private: true, Thread: "9"}, "hello")}},
		{"link behind words", `{"message":{` + private + `,"text":"see here, please","entities":[{"type":"text_link","offset":4,"length":4,"url":"https://go.dev/x"},{"type":"bold","offset":0,"length":8}]}}`, []bot.Message{said(dm, "see here (https://go.dev/x), please")}},
		{"entities that do not fit", `{"message":{` + private + `,"text":"ab","entities":[{"type":"mention","offset":-1,"length":9},{"type":"mention","offset":1,"length":99},{"type":"text_link","offset":9223372036854775807,"length":9223372036854775807,"url":"x"}]}}`, []bot.Message{said(dm, "ab")}},

		{"forwarded command", `{"message":{` + private + `,"text":"/stop","entities":[{"type":"bot_command","offset":0,"length":5}],"forward_origin":{"type":"user","date":1,"sender_user":{"id":8,"first_name":"Bob"}}}}`, []bot.Message{pointing(said(dm, ""), "", bot.Quoted{From: "Bob", Text: "/stop", At: time.Unix(1, 0).UTC()})}},
		{"forwarded words", `{"message":{` + private + `,"text":"it rains\nhere","forward_origin":{"type":"channel"}}}`, []bot.Message{pointing(said(dm, ""), "", bot.Quoted{Text: "it rains\nhere"})}},
		{"forwarded sticker", `{"message":{` + private + `,"sticker":{},"forward_origin":{"type":"hidden_user"}}}`, []bot.Message{with(said(dm, ""), func(m *bot.Message) { m.Media = "sticker" })}},

		{"group talk", `{"message":{` + group + `,"text":"lunch?"}}`, nil},
		{"mention", `{"message":{` + group + `,"text":"@legwork_bot, what time is it?",` + mention(0, 12) + `}}`, []bot.Message{said(team, "what time is it?")}},
		{"mention after emoji", `{"message":{` + group + `,"text":"😀 hey @LEGWORK_BOT what now",` + mention(7, 12) + `}}`, []bot.Message{said(team, "😀 hey what now")}},
		{"mention of another bot", `{"message":{` + group + `,"text":"@other_bot hi",` + mention(0, 10) + `}}`, nil},
		{"mention by id", `{"message":{` + group + `,"text":"Legwork what now","entities":[{"type":"text_mention","offset":0,"length":7,"user":` + me + `}]}}`, []bot.Message{said(team, "what now")}},
		{"mention of somebody by id", `{"message":{` + group + `,"text":"Bob what now","entities":[{"type":"text_mention","offset":0,"length":3,"user":{"id":8,"first_name":"Bob"}}]}}`, nil},
		{"mention in a caption", `{"message":{` + group + `,"photo":[{}],"caption":"@legwork_bot read","caption_entities":[{"type":"mention","offset":0,"length":12}]}}`, []bot.Message{with(said(team, "read"), func(m *bot.Message) { m.Media = "photo" })}},
		{"mention alone", `{"message":{` + group + `,"text":"@legwork_bot",` + mention(0, 12) + `}}`, []bot.Message{said(team, "")}},
		{"mention alone in reply to somebody", `{"message":{` + group + `,"text":"@legwork_bot",` + mention(0, 12) + `,"reply_to_message":{"message_id":3,"from":{"id":8,"first_name":"Bob"},"chat":{"id":-1001},"text":"is it\ntrue?"}}}`, []bot.Message{pointing(said(team, ""), "3", bot.Quoted{From: "Bob", Text: "is it\ntrue?"})}},
		{"question about somebody's message", `{"message":{` + group + `,"text":"is he right @legwork_bot?",` + mention(12, 12) + `,"reply_to_message":{"message_id":3,"from":{"id":8,"first_name":"Bob"},"chat":{"id":-1001},"caption":"it rains"}}}`, []bot.Message{pointing(said(team, "is he right ?"), "3", bot.Quoted{From: "Bob", Text: "it rains"})}},
		{"reply to the bot", `{"message":{` + group + `,"text":"and then?","reply_to_message":{"message_id":3,"from":` + me + `,"chat":{"id":-1001},"text":"so"}}}`, []bot.Message{pointing(said(team, "and then?"), "3", bot.Quoted{From: "Legwork", Text: "so", Own: true, Bot: true, ID: "3"})}},
		{"reply to somebody else", `{"message":{` + group + `,"text":"yes","reply_to_message":{"message_id":3,"from":{"id":8,"first_name":"Bob"},"chat":{"id":-1001},"text":"so"}}}`, nil},
		{"sticker in reply to the bot", `{"message":{` + group + `,"sticker":{},"reply_to_message":{"message_id":3,"from":` + me + `,"chat":{"id":-1001}}}}`, []bot.Message{with(said(team, ""), func(m *bot.Message) { m.ReplyTo, m.Media = "3", "sticker" })}},
		{"photo in a group", `{"message":{` + group + `,"photo":[{}]}}`, nil},
		{"forwarded mention", `{"message":{` + group + `,"text":"@legwork_bot hi",` + mention(0, 12) + `,"forward_origin":{"type":"user"}}}`, nil},
		{"plain command", `{"message":{` + group + `,"text":"/status"}}`, []bot.Message{said(team, "/status")}},
		{"command for the bot", `{"message":{` + group + `,"text":"/task@legwork_bot\nfind it"}}`, []bot.Message{said(team, "/task\nfind it")}},
		{"command for another bot", `{"message":{` + group + `,"text":"/task@other_bot find it","reply_to_message":{"message_id":3,"from":` + me + `,"chat":{"id":-1001}}}}`, nil},
		{"task about somebody's message", `{"message":{` + group + `,"text":"/task is it true?","reply_to_message":{"message_id":3,"from":{"id":8,"first_name":"Bob"},"chat":{"id":-1001},"text":"it rains"}}}`, []bot.Message{pointing(said(team, "/task is it true?"), "3", bot.Quoted{From: "Bob", Text: "it rains"})}},
		{"other command about somebody's message", `{"message":{` + group + `,"text":"/lang de","reply_to_message":{"message_id":3,"from":{"id":8,"first_name":"Bob"},"chat":{"id":-1001},"text":"it rains"}}}`, []bot.Message{pointing(said(team, "/lang de"), "3", bot.Quoted{From: "Bob", Text: "it rains"})}},
		{"anonymous admin", `{"message":{"message_id":5,"date":1700000000,"chat":{"id":-1001,"type":"supergroup"},"from":{"id":1087968824,"is_bot":true,"first_name":"Group"},"sender_chat":{"id":-1001,"title":"Team","type":"supergroup"},"text":"/status"}}`, []bot.Message{{Chat: bot.Chat{Platform: "telegram", ID: "-1001"}, From: bot.Person{Platform: "telegram", ID: "-1001", Name: "Team"}, ID: "5", Text: "/status", At: sentAt}}},
		{"another bot", `{"message":{"message_id":5,"date":1700000000,"chat":{"id":-1001,"type":"supergroup"},"from":{"id":9,"is_bot":true,"first_name":"B"},"text":"/status"}}`, nil},
		{"post of a linked channel", `{"message":{"message_id":5,"date":1,"chat":{"id":-1001,"type":"supergroup"},"from":{"id":777000,"first_name":"Telegram"},"sender_chat":{"id":-1009,"type":"channel"},"is_automatic_forward":true,"text":"/status"}}`, nil},
		{"channel", `{"message":{"message_id":5,"date":1,"chat":{"id":-1009,"type":"channel"},"sender_chat":{"id":-1009,"type":"channel"},"text":"/status"}}`, nil},
		{"somebody joined", `{"message":{` + group + `,"new_chat_members":[{"id":8}]}}`, nil},
		{"pinned in private", `{"message":{` + private + `,"pinned_message":{"message_id":3}}}`, nil},

		{"topic", `{"message":{` + forum + `,"message_thread_id":4,"is_topic_message":true,"text":"/status","reply_to_message":{"message_id":4,"from":` + me + `,"chat":{"id":-1001},"forum_topic_created":{"name":"x"}}}}`, []bot.Message{said(bot.Chat{ID: "-1001", Thread: "4"}, "/status")}},
		{"talk in a topic that the bot opened", `{"message":{` + forum + `,"message_thread_id":4,"is_topic_message":true,"text":"lunch?","reply_to_message":{"message_id":4,"from":` + me + `,"chat":{"id":-1001},"forum_topic_created":{"name":"x"}}}}`, nil},
		{"reply in a topic", `{"message":{` + forum + `,"message_thread_id":4,"is_topic_message":true,"text":"go on","reply_to_message":{"message_id":8,"from":` + me + `,"chat":{"id":-1001},"text":"x"}}}`, []bot.Message{pointing(said(bot.Chat{ID: "-1001", Thread: "4"}, "go on"), "8", bot.Quoted{From: "Legwork", Text: "x", Own: true, Bot: true, ID: "8"})}},
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
	if m := r.next(); m.Media != "album" || m.ID != "20" {
		t.Errorf("the album began with %+v, want one message of it", m)
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
	if m := r.next(); m.Text != "what are these?" || m.Media != "album" {
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
		`{"update_id":1,"message":{` + private + `,"text":"x","quote":{"text":"q"},"external_reply":{"origin":{"type":"hidden_user","sender_user_name":"N"},"poll":{"question":"q","options":[{"text":"a"}]}}}}`,
		`{"update_id":1,"message":{` + private + `,"venue":{"location":{"latitude":1.5,"longitude":-2},"title":"t","address":"a"},"location":{},"forward_origin":{"type":"channel","chat":{"id":5,"title":"C"}}}}`,
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
