package telegramfake_test

import (
	"fmt"
	"strings"
	"testing"

	"legwork/internal/test/fakes/telegramfake"
)

// env is what the strictness tests act on: the private chat 7 of Ann with her
// message 1 and the bot's message 2, Bob (8) who never wrote, a group, a forum
// and chats that refuse.
type env struct {
	*telegramfake.Server
	group, forum, kicked, moved, movedTo, deleted int64
	topic                                         int
}

func build(t *testing.T) env {
	t.Helper()
	return buildWith(t, telegramfake.Options{NoLimits: true})
}

func buildWith(t *testing.T, o telegramfake.Options) env {
	t.Helper()
	s := start(t, o)
	ann := s.User(7, "Ann", "en")
	s.User(8, "Bob", "de")
	s.Say(7, ann, "hello")
	if r := do(t, s, "sendMessage", `{"chat_id":7,"text":"hi <b>Ann</b>","parse_mode":"HTML","reply_markup":{"inline_keyboard":[[{"text":"A","callback_data":"a"}]]}}`); !r.OK {
		t.Fatalf("got %+v", r)
	}
	w := env{
		Server: s, group: s.Group("Trip", ann), forum: s.Forum("Work", ann),
		kicked: s.Supergroup("Old", ann), moved: s.Group("Growing", ann), deleted: s.Group("Gone", ann),
	}
	w.topic = s.Topic(w.forum, "Travel")
	s.KickBot(w.kicked, ann)
	w.movedTo = s.Migrate(w.moved)
	s.DeleteChat(w.deleted)
	s.Say(w.group, ann, "anyone?")
	s.Block(s.User(9, "Cem", "tr"))
	s.Deactivate(s.User(10, "Dee", "en"))
	return w
}

// fill puts the ids of the env into a body.
func (w env) fill(body string) string {
	return strings.NewReplacer(
		"GROUP", fmt.Sprint(w.group), "FORUM", fmt.Sprint(w.forum), "KICKED", fmt.Sprint(w.kicked), "MOVED", fmt.Sprint(w.moved),
		"DELETED", fmt.Sprint(w.deleted), "TOPIC", fmt.Sprint(w.topic),
		"4096", strings.Repeat("a", 4096), "4097", strings.Repeat("a", 4097), "ROCKETS", strings.Repeat("🚀", 2048),
		"DATA64", strings.Repeat("d", 64), "DATA65", strings.Repeat("d", 65),
	).Replace(body)
}

func TestStrict(t *testing.T) {
	const keyboard = `"reply_markup":{"inline_keyboard":[[%s]]}`
	button := func(fields string) string { return `{"chat_id":7,"text":"x",` + fmt.Sprintf(keyboard, fields) + `}` }
	tests := []struct {
		name, method, body string
		want               string // code and a part of the description; empty: accepted
		violation          string // a part of the only one; empty: none
	}{
		{"longest", "sendMessage", `{"chat_id":7,"text":"4096"}`, "", ""},
		{"longest with markup", "sendMessage", `{"chat_id":7,"text":"<b>4096</b>","parse_mode":"HTML"}`, "", ""},
		{"longest in two units each", "sendMessage", `{"chat_id":7,"text":"ROCKETS"}`, "", ""},
		{"blanks do not count", "sendMessage", `{"chat_id":7,"text":"  4096  "}`, "", ""},
		{"too long", "sendMessage", `{"chat_id":7,"text":"4097"}`, "400 Bad Request: message is too long", ""},
		{"too long in units", "sendMessage", `{"chat_id":7,"text":"ROCKETS!"}`, "400 Bad Request: message is too long", ""},
		{"edit too long", "editMessageText", `{"chat_id":7,"message_id":2,"text":"4097"}`, "400 Bad Request: MESSAGE_TOO_LONG", ""},
		{"no text", "sendMessage", `{"chat_id":7}`, "400 Bad Request: message text is empty", ""},
		{"blank", "sendMessage", `{"chat_id":7,"text":" \n\u00a0"}`, "400 Bad Request: message text is empty", ""},
		{"only tags", "sendMessage", `{"chat_id":7,"text":"<b><i> </i></b>","parse_mode":"HTML"}`, "400 Bad Request: message text is empty", ""},
		{"broken markup", "sendMessage", `{"chat_id":7,"text":"<b>x","parse_mode":"HTML"}`, `400 Bad Request: can't parse entities: Can't find end tag corresponding to start tag "b"`, ""},
		{"unknown parse mode", "sendMessage", `{"chat_id":7,"text":"x","parse_mode":"TeX"}`, "400 Bad Request: unsupported parse_mode", ""},
		{"unescaped", "sendMessage", `{"chat_id":7,"text":"a & b","parse_mode":"HTML"}`, "", "an ampersand that is no character reference"},
		{"unknown parameter", "sendMessage", `{"chat_id":7,"text":"x","markdown":true}`, "", `no parameter "markdown"`},
		{"null parameter", "sendMessage", `{"chat_id":7,"text":"x","reply_markup":null}`, "", ""},
		{"no UTF-8", "sendMessage", "{\"chat_id\":7,\"text\":\"\xff\"}", "400 Bad Request: strings must be encoded in UTF-8", ""},
		{"no JSON", "sendMessage", `{"chat_id":`, "400 Bad Request: can't parse request JSON object", ""},

		{"unchanged", "editMessageText", `{"chat_id":7,"message_id":2,"text":"hi <b>Ann</b>","parse_mode":"HTML","reply_markup":{"inline_keyboard":[[{"text":"A","callback_data":"a"}]]}}`, "400 Bad Request: message is not modified: specified new message content", ""},
		{"unchanged in other words", "editMessageText", `{"chat_id":7,"message_id":2,"text":" hi <strong>Ann</strong> ","parse_mode":"HTML","reply_markup":{"inline_keyboard":[[{"text":"A","callback_data":"a"}]]}}`, "400 Bad Request: message is not modified", ""},
		{"other formatting", "editMessageText", `{"chat_id":7,"message_id":2,"text":"hi <i>Ann</i>","parse_mode":"HTML","reply_markup":{"inline_keyboard":[[{"text":"A","callback_data":"a"}]]}}`, "", ""},
		{"other buttons", "editMessageText", `{"chat_id":7,"message_id":2,"text":"hi <b>Ann</b>","parse_mode":"HTML"}`, "", ""},
		{"unchanged buttons", "editMessageReplyMarkup", `{"chat_id":7,"message_id":2,"reply_markup":{"inline_keyboard":[[{"text":"A","callback_data":"a"}]]}}`, "400 Bad Request: message is not modified", ""},
		{"no buttons", "editMessageReplyMarkup", `{"chat_id":7,"message_id":2}`, "", ""},
		{"edit of nothing", "editMessageText", `{"chat_id":7,"message_id":99,"text":"x"}`, "400 Bad Request: message to edit not found", ""},
		{"edit without id", "editMessageText", `{"chat_id":7,"text":"x"}`, "400 Bad Request: message identifier is not specified", ""},
		{"edit of another's", "editMessageText", `{"chat_id":7,"message_id":1,"text":"x"}`, "400 Bad Request: message can't be edited", ""},
		{"delete", "deleteMessage", `{"chat_id":7,"message_id":2}`, "", ""},
		{"delete in a private chat", "deleteMessage", `{"chat_id":7,"message_id":1}`, "", ""},
		{"delete another's", "deleteMessage", `{"chat_id":GROUP,"message_id":1}`, "400 Bad Request: message can't be deleted", ""},
		{"delete nothing", "deleteMessage", `{"chat_id":7,"message_id":99}`, "400 Bad Request: message to delete not found", ""},

		{"data of 64", "sendMessage", button(`{"text":"B","callback_data":"DATA64"}`), "", ""},
		{"data of 65", "sendMessage", button(`{"text":"B","callback_data":"DATA65"}`), "400 Bad Request: BUTTON_DATA_INVALID", ""},
		{"empty data", "sendMessage", button(`{"text":"B","callback_data":""}`), "400 Bad Request: BUTTON_DATA_INVALID", ""},
		{"button for nothing", "sendMessage", button(`{"text":"B"}`), "400 Bad Request: text buttons are unallowed", ""},
		{"button without label", "sendMessage", button(`{"text":"","callback_data":"b"}`), "400 Bad Request: can't parse inline keyboard button", ""},
		{"button to nowhere", "sendMessage", button(`{"text":"B","url":"nowhere"}`), "400 Bad Request: inline keyboard button URL", ""},
		{"unknown field of a button", "sendMessage", button(`{"text":"B","callback_data":"b","color":"red"}`), "", `no field "color"`},
		{"copy", "sendMessage", button(`{"text":"B","copy_text":{"text":"go run ."}}`), "", ""},
		{"copy of nothing", "sendMessage", button(`{"text":"B","copy_text":{"text":""}}`), "400 Bad Request: BUTTON_COPY_TEXT_INVALID", ""},
		{"copy of too much", "sendMessage", button(`{"text":"B","copy_text":{"text":"` + strings.Repeat("c", 257) + `"}}`), "400 Bad Request: BUTTON_COPY_TEXT_INVALID", ""},
		{"style", "sendMessage", button(`{"text":"B","callback_data":"b","style":"danger"}`), "", ""},
		{"unknown style", "sendMessage", button(`{"text":"B","callback_data":"b","style":"loud"}`), "", `no button style "loud"`},
		{"101 buttons", "sendMessage", button(strings.TrimSuffix(strings.Repeat(`{"text":"B","callback_data":"b"},`, 101), ",")), "400 Bad Request: reply markup is too long", ""},
		{"markup of another type", "sendMessage", `{"chat_id":7,"text":"x","reply_markup":[1]}`, "400 Bad Request: can't parse reply_markup", ""},

		{"reply", "sendMessage", `{"chat_id":7,"text":"x","reply_parameters":{"message_id":1}}`, "", ""},
		{"reply to nothing", "sendMessage", `{"chat_id":7,"text":"x","reply_parameters":{"message_id":99}}`, "400 Bad Request: message to be replied not found", ""},
		{"reply anyway", "sendMessage", `{"chat_id":7,"text":"x","reply_parameters":{"message_id":99,"allow_sending_without_reply":true}}`, "", ""},
		{"reply as of old", "sendMessage", `{"chat_id":7,"text":"x","reply_to_message_id":99}`, "400 Bad Request: message to be replied not found", ""},

		{"topic", "sendMessage", `{"chat_id":FORUM,"message_thread_id":TOPIC,"text":"x"}`, "", ""},
		{"no such topic", "sendMessage", `{"chat_id":FORUM,"message_thread_id":99,"text":"x"}`, "400 Bad Request: message thread not found", ""},
		{"General", "sendMessage", `{"chat_id":FORUM,"message_thread_id":1,"text":"x"}`, "400 Bad Request: message thread not found", ""},
		{"typing in General", "sendChatAction", `{"chat_id":FORUM,"message_thread_id":1,"action":"typing"}`, "", ""},
		{"topic of no forum", "sendMessage", `{"chat_id":GROUP,"message_thread_id":5,"text":"x"}`, "400 Bad Request: message thread not found", ""},
		{"rich message", "sendRichMessage", `{"chat_id":7,"rich_message":{"markdown":"# Title"}}`, "", ""},
		{"rich message of nothing", "sendRichMessage", `{"chat_id":7,"rich_message":{"markdown":""}}`, "400 Bad Request: rich message must be non-empty", ""},
		{"rich message that is too long", "sendRichMessage", `{"chat_id":7,"rich_message":{"markdown":"` + strings.Repeat("r", 32769) + `"}}`, "400 Bad Request: rich message is too long", ""},
		{"rich draft", "sendRichMessageDraft", `{"chat_id":7,"draft_id":5,"rich_message":{"markdown":"# Ti"}}`, "", ""},
		{"rich draft in a group", "sendRichMessageDraft", `{"chat_id":GROUP,"draft_id":5,"rich_message":{"markdown":"# Ti"}}`, "400 Bad Request: drafts can be sent only to private chats", ""},
		{"rich edit", "editMessageText", `{"chat_id":7,"message_id":2,"rich_message":{"markdown":"# Title"}}`, "", ""},
		{"reaction", "setMessageReaction", `{"chat_id":7,"message_id":1,"reaction":[{"type":"emoji","emoji":"👀"}]}`, "", ""},
		{"no reaction", "setMessageReaction", `{"chat_id":7,"message_id":1,"reaction":[]}`, "", ""},
		{"reaction to nothing", "setMessageReaction", `{"chat_id":7,"message_id":99,"reaction":[]}`, "400 Bad Request: message to react not found", ""},
		{"reaction of another emoji", "setMessageReaction", `{"chat_id":7,"message_id":1,"reaction":[{"type":"emoji","emoji":"⏳"}]}`, "400 Bad Request: REACTION_INVALID", ""},
		{"two reactions", "setMessageReaction", `{"chat_id":7,"message_id":1,"reaction":[{"type":"emoji","emoji":"👀"},{"type":"emoji","emoji":"🔥"}]}`, "400 Bad Request: REACTIONS_TOO_MANY", ""},
		{"unknown action", "sendChatAction", `{"chat_id":7,"action":"thinking"}`, "400 Bad Request: wrong parameter action", ""},

		{"no chat", "sendMessage", `{"text":"x"}`, "400 Bad Request: chat_id is empty", ""},
		{"unknown chat", "sendMessage", `{"chat_id":12345,"text":"x"}`, "400 Bad Request: chat not found", ""},
		{"deleted chat", "sendMessage", `{"chat_id":DELETED,"text":"x"}`, "400 Bad Request: chat not found", ""},
		{"never wrote", "sendMessage", `{"chat_id":8,"text":"x"}`, "403 Forbidden: bot can't initiate conversation with a user", ""},
		{"blocked", "sendMessage", `{"chat_id":9,"text":"x"}`, "403 Forbidden: bot was blocked by the user", ""},
		{"deactivated", "sendMessage", `{"chat_id":10,"text":"x"}`, "403 Forbidden: user is deactivated", ""},
		{"kicked", "sendMessage", `{"chat_id":KICKED,"text":"x"}`, "403 Forbidden: bot was kicked from the supergroup chat", ""},
		{"upgraded", "sendMessage", `{"chat_id":MOVED,"text":"x"}`, "400 Bad Request: group chat was upgraded to a supergroup chat", ""},

		{"draft", "sendMessageDraft", `{"chat_id":7,"draft_id":5,"text":"x"}`, "", ""},
		{"thinking", "sendMessageDraft", `{"chat_id":7,"draft_id":5,"text":""}`, "", ""},
		{"draft without id", "sendMessageDraft", `{"chat_id":7,"draft_id":0,"text":"x"}`, "400 Bad Request: draft_id must be non-zero", ""},
		{"draft in a group", "sendMessageDraft", `{"chat_id":GROUP,"draft_id":5,"text":"x"}`, "400 Bad Request: drafts can be sent only to private chats", ""},
		{"draft too long", "sendMessageDraft", `{"chat_id":7,"draft_id":5,"text":"4097"}`, "400 Bad Request: message is too long", ""},

		{"press of nothing", "answerCallbackQuery", `{"callback_query_id":"1"}`, "400 Bad Request: query is too old and response timeout expired or query ID is invalid", ""},
		{"commands", "setMyCommands", `{"commands":[{"command":"task","description":"do"}],"scope":{"type":"all_private_chats"},"language_code":"de"}`, "", ""},
		{"command in capitals", "setMyCommands", `{"commands":[{"command":"Task","description":"do"}]}`, "400 Bad Request: BOT_COMMAND_INVALID", ""},
		{"command without words", "setMyCommands", `{"commands":[{"command":"task","description":""}]}`, "400 Bad Request: BOT_COMMAND_DESCRIPTION_INVALID", ""},
		{"commands in no language", "setMyCommands", `{"commands":[],"language_code":"de-AT"}`, "400 Bad Request: invalid language code", ""},
		{"commands in no scope", "setMyCommands", `{"commands":[],"scope":{"type":"everywhere"}}`, "400 Bad Request: can't parse BotCommandScope", ""},
		{"webhook without TLS", "setWebhook", `{"url":"http://bot.example.com/hook"}`, "400 Bad Request: bad webhook: An HTTPS URL must be provided", ""},
		{"webhook's port", "setWebhook", `{"url":"https://bot.example.com:9000/hook"}`, "400 Bad Request: bad webhook: Webhook can be set up only on ports", ""},
		{"webhook's secret", "setWebhook", `{"url":"https://bot.example.com/hook","secret_token":"a b"}`, "400 Bad Request: secret token contains unallowed characters", ""},
		{"unknown member", "getChatMember", `{"chat_id":GROUP,"user_id":12345}`, "400 Bad Request: invalid user_id", ""},
		{"leave a person", "leaveChat", `{"chat_id":7}`, "400 Bad Request: chat member status can't be changed in private chats", ""},
		{"leave", "leaveChat", `{"chat_id":GROUP}`, "", ""},
		{"number", "getUpdates", `{"timeout":"soon"}`, `400 Bad Request: parameter "timeout" must be an integer`, ""},
		{"unknown method", "sendTelegram", `{}`, "404 Not Found: method not found", ""},
		{"other case", "GETME", `{}`, "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := build(t)
			body := w.fill(test.body)
			r := do(t, w.Server, test.method, body)
			got := ""
			if !r.OK {
				got = fmt.Sprintf("%d %s", r.Code, r.Description)
			}
			if (test.want == "") != r.OK || !strings.HasPrefix(got, test.want) {
				t.Errorf("got %q for %s %.300s, want %q", got, test.method, body, test.want)
			}
			if v := w.Violations(); (test.violation == "") != (len(v) == 0) || !strings.Contains(strings.Join(v, ""), test.violation) {
				t.Errorf("got violations %q for %s %.300s, want %q", v, test.method, body, test.violation)
			}
			log := w.Log()
			if last := log[len(log)-1]; (last.Outcome == telegramfake.OutcomeOK) != r.OK || !r.OK && last.Error != r.Description {
				t.Errorf("logged %+v for %+v", last, r)
			}
		})
	}
}

func TestUpgradedGroupTellsWhere(t *testing.T) {
	w := build(t)
	r := do(t, w.Server, "sendMessage", w.fill(`{"chat_id":MOVED,"text":"x"}`))
	if r.Parameters.MigrateTo != w.movedTo {
		t.Errorf("got %d, want %d", r.Parameters.MigrateTo, w.movedTo)
	}
}

func TestPatienceOfRefusingChats(t *testing.T) {
	w := build(t)
	for range 3 {
		do(t, w.Server, "sendMessage", `{"chat_id":9,"text":"x"}`)
	}
	if v := w.Violations(); len(v) != 0 {
		t.Errorf("got %q after three tries, want none", v)
	}
	do(t, w.Server, "sendMessage", `{"chat_id":9,"text":"x"}`)
	if v := w.Violations(); len(v) != 1 || !strings.Contains(v[0], "refused 3 times before") {
		t.Errorf("got %q after the fourth, want one", v)
	}
	w.Unblock(telegramfake.User{ID: 9, Name: "Cem"})
	if r := do(t, w.Server, "sendMessage", `{"chat_id":9,"text":"x"}`); !r.OK {
		t.Errorf("got %+v after unblocking", r)
	}
}

func TestForms(t *testing.T) {
	multipart := "--B\r\nContent-Disposition: form-data; name=\"chat_id\"\r\n\r\n7\r\n--B\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\nfrom a form\r\n--B--\r\n"
	tests := []struct{ kind, body string }{
		{"application/json", `{"chat_id":"7","text":"from a form"}`},
		{"application/x-www-form-urlencoded", "chat_id=7&text=from+a+form"},
		{"multipart/form-data; boundary=B", multipart},
	}
	for _, test := range tests {
		w := build(t)
		r, err := try(t.Context(), w.Server, "sendMessage", test.kind, test.body)
		if messages := w.Chat(7).Messages; err != nil || !r.OK || messages[len(messages)-1].Text != "from a form" {
			t.Errorf("%s: got %+v, %v", test.kind, r, err)
		}
	}
}

func TestTokens(t *testing.T) {
	w := build(t)
	token := w.Token
	for wrong, want := range map[string]int{"1000:OTHER": 401, "nonsense": 404} {
		w.Token = wrong
		if r := do(t, w.Server, "getMe", `{}`); r.Code != want {
			t.Errorf("token %q: got %+v, want %d", wrong, r, want)
		}
	}
	w.Token = token
	w.Fail(telegramfake.Fault{Kind: telegramfake.FaultRevoked, Count: telegramfake.Forever})
	if r := do(t, w.Server, "getMe", `{}`); r.Code != 401 || r.Description != "Unauthorized" {
		t.Errorf("revoked: got %+v", r)
	}
	w.Heal()
	if r := do(t, w.Server, "getMe", `{}`); !r.OK {
		t.Errorf("healed: got %+v", r)
	}
}
