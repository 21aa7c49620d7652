package telegram_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"legwork/bot"
	"legwork/bot/telegram"
	"legwork/internal/test/fakes/telegramfake"
)

// TestFilesOfMessages: every kind of file that Telegram delivers becomes an attachment.
func TestFilesOfMessages(t *testing.T) {
	t.Parallel()
	one := func(a bot.Attachment) []bot.Attachment { return []bot.Attachment{a} }
	const bob = `,"forward_origin":{"type":"user","date":1,"sender_user":{"id":8,"first_name":"Bob"}}`
	for _, test := range []struct {
		name, content string
		want          []bot.Attachment
	}{
		{"photo", `"photo":[{"file_id":"s","file_size":900,"width":90,"height":60},{"file_id":"l","file_size":90000,"width":1280,"height":800},{"file_id":"m","file_size":95000,"width":320,"height":200}]`, one(bot.Attachment{Ref: "l", Kind: bot.AttachPhoto, Type: "image/jpeg", Bytes: 90000})},
		{"photo with a size that is too large", `"photo":[{"file_id":"s","file_size":900},{"file_id":"m","file_size":20971520},{"file_id":"l","file_size":20971521}]`, one(bot.Attachment{Ref: "m", Kind: bot.AttachPhoto, Type: "image/jpeg", Bytes: 20971520})},
		{"photo without sizes", `"photo":[{"file_id":"s"},{"file_id":"l"}]`, one(bot.Attachment{Ref: "l", Kind: bot.AttachPhoto, Type: "image/jpeg"})},
		{"photo in an unknown form", `"photo":[{}]`, nil},
		{"document", `"document":{"file_id":"d","file_name":"../a b\u202e.pdf","mime_type":"application/pdf","file_size":12}`, one(bot.Attachment{Ref: "d", Kind: bot.AttachDocument, Name: "../a b\u202e.pdf", Type: "application/pdf", Bytes: 12})},
		{"document that is too large", `"document":{"file_id":"d","file_size":3000000000}`, one(bot.Attachment{Ref: "d", Kind: bot.AttachDocument, Bytes: 3000000000})},
		{"document with a negative size", `"document":{"file_id":"d","file_size":-5}`, one(bot.Attachment{Ref: "d", Kind: bot.AttachDocument})},
		{"voice", `"voice":{"file_id":"v","duration":7,"mime_type":"audio/ogg","file_size":12}`, one(bot.Attachment{Ref: "v", Kind: bot.AttachVoice, Type: "audio/ogg", Bytes: 12, Seconds: 7})},
		{"audio", `"audio":{"file_id":"a","duration":200,"performer":"P","title":"T","file_name":"t.mp3","mime_type":"audio/mpeg","file_size":12}`, one(bot.Attachment{Ref: "a", Kind: bot.AttachAudio, Name: "t.mp3", Type: "audio/mpeg", Bytes: 12, Seconds: 200})},
		{"video", `"video":{"file_id":"v","duration":9,"file_name":"v.mp4","mime_type":"video/mp4","file_size":12}`, one(bot.Attachment{Ref: "v", Kind: bot.AttachVideo, Name: "v.mp4", Type: "video/mp4", Bytes: 12, Seconds: 9})},
		{"video note", `"video_note":{"file_id":"n","duration":9,"length":240,"file_size":12}`, one(bot.Attachment{Ref: "n", Kind: bot.AttachVideo, Bytes: 12, Seconds: 9})},
		{"animation beside its document", `"animation":{"file_id":"a","duration":3,"file_name":"a.mp4","mime_type":"video/mp4"},"document":{"file_id":"a","file_name":"a.mp4"}`, one(bot.Attachment{Ref: "a", Kind: bot.AttachVideo, Name: "a.mp4", Type: "video/mp4", Seconds: 3})},
		{"sticker", `"sticker":{"file_id":"x"}`, nil},
		{"paid media", `"paid_media":{"star_count":5,"paid_media":[{"type":"photo","photo":[{"file_id":"x"}]}]}`, nil},
		{"document of another type", `"document":[1]`, nil},
		{"forwarded", `"document":{"file_id":"d"}` + bob, one(bot.Attachment{Ref: "d", Kind: bot.AttachDocument, From: "Bob", Others: true})},
		{"forwarded voice of a hidden author", `"voice":{"file_id":"v"},"forward_origin":{"type":"hidden_user"}`, one(bot.Attachment{Ref: "v", Kind: bot.AttachVoice, Others: true})},
		{"one's own, forwarded", `"voice":{"file_id":"v"},"forward_origin":{"type":"user","date":1,"sender_user":{"id":7,"first_name":"Ann"}}`, one(bot.Attachment{Ref: "v", Kind: bot.AttachVoice})},
	} {
		m, ok, _ := telegram.Read([]byte(`{"update_id":1,"message":{`+private+`,`+test.content+`}}`), 0)
		if diff := cmp.Diff(test.want, m.Files); !ok || diff != "" {
			t.Errorf("%s gave the files (-want +got), taken: %t:\n%s", test.name, ok, diff)
		}
	}
}

// TestFilesThatAreRepliedTo: the files of the message that a person replies to come along.
func TestFilesThatAreRepliedTo(t *testing.T) {
	t.Parallel()
	const file = `"chat":{"id":7},"voice":{"file_id":"v"}`
	for _, test := range []struct {
		name, to string
		want     bot.Attachment
	}{
		{"one's own", `"reply_to_message":{"message_id":3,` + ann + `,` + file + `}`, bot.Attachment{}},
		{"of somebody else", `"reply_to_message":{"message_id":3,"from":{"id":8,"first_name":"Bob"},` + file + `}`, bot.Attachment{From: "Bob", Others: true}},
		{"of the bot", `"reply_to_message":{"message_id":3,"from":` + me + `,` + file + `}`, bot.Attachment{From: "Legwork", Others: true}},
		{"that somebody passed on", `"reply_to_message":{"message_id":3,` + ann + `,` + file + `,"forward_origin":{"type":"hidden_user","sender_user_name":"Eve"}}`, bot.Attachment{From: "Eve", Others: true}},
		{"of another chat", `"external_reply":{"origin":{"type":"channel","date":1,"chat":{"id":-1007,"title":"News"}},"voice":{"file_id":"v"}}`, bot.Attachment{From: "News", Others: true}},
		{"with selected words", `"quote":{"text":"only this","is_manual":true},"reply_to_message":{"message_id":3,` + ann + `,` + file + `,"caption":"only this, not that"}`, bot.Attachment{}},
	} {
		m, ok, _ := telegram.Read([]byte(`{"update_id":1,"message":{`+private+`,"text":"what does it say?",`+test.to+`}}`), 0)
		test.want.Ref, test.want.Kind = "v", bot.AttachVoice
		if !ok || len(m.Earlier) != 1 || len(m.Files) != 0 || !slices.Equal(m.Earlier[0].Files, []bot.Attachment{test.want}) {
			t.Errorf("a reply to a file %s gave %+v, want %+v in the message replied to", test.name, m, test.want)
		}
	}
}

// pictures are files of an album.
func pictures(n int) []telegramfake.File {
	list := make([]telegramfake.File, n)
	for i := range list {
		list[i] = telegramfake.File{Name: fmt.Sprintf("%d.jpg", i), Content: fmt.Appendf(nil, "picture %d", i)}
	}
	return list
}

// TestAlbumIsOneMessage: the messages of an album that come together are one question.
func TestAlbumIsOneMessage(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{ReadsAll: true})
	ann := r.fake.User(7, "Ann", "en")
	group := r.fake.Group("Team", ann)
	for _, chat := range []int64{7, group} {
		ids := r.fake.SayAlbum(chat, ann, "@legwork_bot what are these?", "photo", pictures(10))
		m := r.next()
		if m.Text != "what are these?" || len(m.Files) != 10 || m.ID != fmt.Sprint(ids[0]) {
			t.Errorf("the album gave %+v, want one message with ten files", m)
		}
		for i, f := range m.Files {
			if f.Kind != bot.AttachPhoto || f.Bytes != int64(len("picture 0")) || strings.HasSuffix(f.Ref, "-small") {
				t.Errorf("file %d is %+v, want the largest size", i, f)
			}
		}
	}
	r.until("everything is confirmed", func() bool { return r.fake.Pending() == 0 })
	r.fake.Redeliver(3)
	r.fake.Say(7, ann, "after")
	if m := r.next(); m.Text != "after" {
		t.Errorf("messages that came again gave %+v, want nothing", m)
	}
}

// part is a message of an album in JSON.
func part(id int, in, more string) string {
	return fmt.Sprintf(`{"message":{"message_id":%d,"date":1700000000,%s,%s,"media_group_id":"g","photo":[{"file_id":"p%d"}]%s}}`, id, in, ann, id, more)
}

const (
	inPrivate = `"chat":{"id":7,"type":"private"}`
	inGroup   = `"chat":{"id":-1001,"type":"supergroup"}`
)

func refs(m bot.Message) string {
	var list []string
	for _, f := range m.Files {
		list = append(list, f.Ref)
	}
	return strings.Join(list, " ")
}

// TestAlbumInPieces: messages of an album that come later are messages of their own, with
// their files; in a group they are for the bot when the album is.
func TestAlbumInPieces(t *testing.T) {
	t.Parallel()
	for _, in := range []string{inPrivate, inGroup} {
		r := start(t, telegramfake.Options{})
		r.fake.Raw(part(20, in, `,"caption":"@legwork_bot read","caption_entities":[{"type":"mention","offset":0,"length":12}]`))
		if m := r.next(); m.Text != "read" || refs(m) != "p20" {
			t.Errorf("the album began with %+v", m)
		}
		r.fake.Raw(part(21, in, ""))
		if m := r.next(); m.Text != "" || refs(m) != "p21" {
			t.Errorf("the album went on with %+v, want the second file", m)
		}
		r.fake.Raw(part(22, in, `,"caption":"and this"`))
		if m := r.next(); m.Text != "and this" || refs(m) != "p22" || m.ID != "22" {
			t.Errorf("the album ended with %+v, want the third file and its words", m)
		}
		r.fake.Raw(fmt.Sprintf(`{"message":{"message_id":30,"date":1700000000,%s,%s,"text":"@legwork_bot more","entities":[{"type":"mention","offset":0,"length":12}],"reply_to_message":{"message_id":21,%s,%s,"media_group_id":"g","photo":[{"file_id":"p21"}]}}}`, in, ann, in, ann))
		if m := r.next(); len(m.Earlier) != 1 || refs(bot.Message{Files: m.Earlier[0].Files}) != "p20 p21 p22" {
			t.Errorf("a reply to a picture of the album gave %+v, want the whole album", m)
		}
		r.stop()
	}
}

// TestAlbumThatGrewAfterAFailure: after the store has refused a part of an album,
// Telegram brings the whole album, and no file of it is lost.
func TestAlbumThatGrewAfterAFailure(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{})
	r.ready()
	r.inbox.refuse(1)
	r.fake.Raw(part(20, inPrivate, ""))
	first := r.fake.Raw(part(21, inPrivate, `,"caption":"one &"`))
	r.until("the store refused", func() bool { n, _ := r.inbox.seen(); return n > 0 })
	last := r.fake.Raw(part(22, inPrivate, `,"caption":"see here","caption_entities":[{"type":"text_link","offset":4,"length":4,"url":"https://a.example"}]`))
	var files, texts, keys []string
	for len(files) < 3 {
		m := r.next()
		for _, f := range m.Files {
			files = append(files, f.Ref)
		}
		texts, keys = append(texts, m.Text), append(keys, m.Key)
	}
	if got := strings.Join(files, " "); got != "p20 p21 p22" || !strings.Contains(strings.Join(texts, "\n"), "one &\nsee here (https://a.example)") {
		t.Errorf("the album came as %q with the words %q", got, texts)
	}
	if !slices.Contains([]string{fmt.Sprintf("telegram:1000:update:%d", first), fmt.Sprintf("telegram:1000:update:%d", last)}, keys[len(keys)-1]) {
		t.Errorf("the keys are %q, want that of the last update of each message", keys)
	}
}
