package telegram_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"legwork/bot"
	"legwork/bot/telegram"
)

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
			t.Errorf("%s gave a message of nobody: %+v", raw, m)
		}
	})
}
