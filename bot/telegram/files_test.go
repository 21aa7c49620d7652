package telegram_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"strconv"
	"strings"
	"testing"

	"legwork/bot"
	"legwork/internal/test/fakes/telegramfake"
)

// picture is a PNG of that size.
func picture(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func jpegPicture(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 9, 9)), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// opus begins as a file of OGG Opus does.
var opus = []byte("OggS\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x13OpusHead\x01\x01")

// made is a draft that is a file.
func made(as bot.FileAs, text string, content []byte) bot.Draft {
	return bot.Draft{Kind: bot.KindAnswer, Task: "t1", Mark: "t1.file.1", Text: text, File: &bot.File{Name: "report.pdf", Type: "application/pdf", As: as, Content: content}}
}

// TestMadeFiles: a draft that is a file becomes one message, whose id Post returns.
func TestMadeFiles(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true})
	ann := r.fake.User(7, "Ann", "en")
	dm := r.fake.Private(ann)
	for _, c := range []struct {
		name    string
		as      bot.FileAs
		content []byte
		want    string
	}{
		{"document", bot.AsDocument, []byte("%PDF"), "document"},
		{"picture as a document", bot.AsDocument, picture(t, 9, 9), "document"},
		{"PNG", bot.AsPhoto, picture(t, 9, 9), "photo"},
		{"JPEG", bot.AsPhoto, jpegPicture(t), "photo"},
		{"SVG", bot.AsPhoto, []byte("<svg/>"), "document"},
		{"picture that is too long", bot.AsPhoto, picture(t, 2000, 9), "document"},
		{"picture that Telegram cannot read", bot.AsPhoto, picture(t, 9, 9)[:12], "document"},
		{"picture with too many bytes", bot.AsPhoto, append(picture(t, 9, 9), make([]byte, 10<<20)...), "document"},
		{"voice", bot.AsVoice, opus, "voice"},
		{"MP3", bot.AsVoice, []byte("ID3\x03 and so on"), "audio"},
		{"M4A", bot.AsVoice, []byte("\x00\x00\x00\x20ftypM4A and so on"), "audio"},
		{"WAV", bot.AsVoice, []byte("RIFF and so on"), "document"},
	} {
		d := made(c.as, "**Here** it is", c.content)
		d.Mark = c.name
		id := r.post(chatOf(dm), d)
		all := r.fake.Chat(dm).Bots()
		m := all[len(all)-1]
		if m.Media != c.want || strconv.Itoa(m.ID) != id || m.Text != "Here it is" || len(m.Entities) != 1 || !bytes.Equal(m.File.Content, c.content) || m.File.Name != "report.pdf" {
			t.Errorf("%s came as %s with the caption %q, id %d, want %s with id %s", c.name, m.Media, m.Text, m.ID, c.want, id)
		}
	}
	r.fake.ForbidVoice(ann, true)
	r.post(chatOf(dm), made(bot.AsVoice, "", opus))
	if all := r.fake.Chat(dm).Bots(); all[len(all)-1].Media != "document" || all[len(all)-1].Text != "" {
		t.Errorf("to a person who takes no voice messages came %+v, want a document without a caption", all[len(all)-1])
	}
}

// TestLongCaption: a text that does not fit below a file follows it.
func TestLongCaption(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true})
	dm := r.fake.Private(r.fake.User(7, "Ann", "en"))
	for n, messages := range map[int]int{1024: 1, 1025: 2, 5000: 3} {
		before := len(r.fake.Chat(dm).Bots())
		d := made(bot.AsDocument, strings.Repeat("a", n), []byte("%PDF"))
		d.Buttons = []bot.Button{{Label: "More", Data: "m"}}
		id := r.post(chatOf(dm), d)
		all := r.fake.Chat(dm).Bots()[before:]
		if len(all) != messages || all[0].File == nil || strconv.Itoa(all[0].ID) != id || all[0].Button("More") != "m" || r.tg.Split(d)[0].File == nil || len(r.tg.Split(d)) != 1 {
			t.Errorf("a text of %d characters gave %d messages, want the file with its button, then the text, %d in all", n, len(all), messages)
		}
	}
	r.fake.Fail(telegramfake.Fault{Kind: telegramfake.FaultMarkup, Method: "sendDocument"})
	r.post(chatOf(dm), made(bot.AsDocument, "**bold**", []byte("%PDF")))
	if all := r.fake.Chat(dm).Bots(); all[len(all)-1].Text != "bold" {
		t.Errorf("after refused markup the caption is %q, want plain words", all[len(all)-1].Text)
	}
}

// TestMadeFileIsSentOnce: when the text behind a file fails, the next try sends the text
// alone and returns the id of the file.
func TestMadeFileIsSentOnce(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true})
	dm := r.fake.Private(r.fake.User(7, "Ann", "en"))
	d := made(bot.AsDocument, strings.Repeat("a", 1025), []byte("%PDF"))
	r.fake.Fail(telegramfake.Fault{Kind: telegramfake.FaultError, Method: "sendMessage"})
	if _, err := r.tg.Post(context.Background(), chatOf(dm), d); err == nil {
		t.Fatal("posting went well, want an error")
	}
	id := r.post(chatOf(dm), d)
	if all := r.fake.Chat(dm).Bots(); len(all) != 2 || strconv.Itoa(all[0].ID) != id {
		t.Errorf("the chat shows %d messages, and Post returned %s, want the file's id and one text", len(all), id)
	}
}

func TestMadeFileThatIsRefused(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true, MaxFile: 1000})
	group := r.fake.Group("Team", r.fake.User(7, "Ann", "en"))
	r.fake.ForbidFiles(group, true)
	for i, d := range []bot.Draft{made(bot.AsDocument, "", []byte("%PDF")), made(bot.AsPhoto, "", picture(t, 9, 9)), made(bot.AsVoice, "", opus), made(bot.AsVoice, "", []byte("ID3 ..."))} {
		if _, err := r.tg.Post(context.Background(), chatOf(group), d); !errors.Is(err, bot.ErrNoFiles) || errors.Is(err, bot.ErrGone) {
			t.Errorf("file %d in a group that forbids it gave %v, want ErrNoFiles", i, err)
		}
	}
	r.fake.ForbidFiles(group, false)
	if _, err := r.tg.Post(context.Background(), chatOf(group), made(bot.AsDocument, "", make([]byte, 1001))); !errors.Is(err, bot.ErrNoFiles) {
		t.Errorf("a file that is too large gave %v, want ErrNoFiles", err)
	}
	for _, kind := range []string{telegramfake.FaultDropBefore, telegramfake.FaultError, telegramfake.FaultGarbage} {
		r.fake.Fail(telegramfake.Fault{Kind: kind, Method: "sendDocument"})
		if _, err := r.tg.Post(context.Background(), chatOf(group), made(bot.AsDocument, "", []byte("%PDF"))); err == nil || errors.Is(err, bot.ErrNoFiles) || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%s gave %v, want an error that may pass", kind, err)
		}
	}
	r.fake.Fail(telegramfake.Fault{Kind: telegramfake.FaultBusy, Method: "sendPhoto", RetryAfter: 1})
	r.post(chatOf(group), made(bot.AsPhoto, "", picture(t, 9, 9)))
	if n := r.count("sendPhoto"); n != 3 { // forbidden, limited, sent
		t.Errorf("the photo was tried %d times, want once after the limit", n)
	}
}

// TestFetchOfMadeFiles: a person can reply to a file of the bot, and it is read.
func TestFetchOfMadeFiles(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true})
	ann := r.fake.User(7, "Ann", "en")
	dm := r.fake.Private(ann)
	id, err := strconv.Atoi(r.post(chatOf(dm), made(bot.AsDocument, "", []byte("%PDF of the bot"))))
	if err != nil {
		t.Fatal(err)
	}
	r.fake.Say(dm, ann, "shorten it", telegramfake.ReplyTo(id))
	m := r.next()
	if len(m.Earlier) != 1 || len(m.Earlier[0].Files) != 1 {
		t.Fatalf("the reply is %+v, want the file in the message replied to", m)
	}
	a := m.Earlier[0].Files[0]
	if got, err := r.fetch(a); err != nil || got != "%PDF of the bot" || fmt.Sprintf("%s %s %s %t", a.Kind, a.Name, a.From, a.Others) != "document report.pdf Legwork true" {
		t.Errorf("fetching %+v gave %q, %v", a, got, err)
	}
}
