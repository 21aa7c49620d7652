package telegram

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"legwork/bot"
)

const (
	maxCaption = 1024       // as textLimit (core.telegram.org/bots/api#senddocument)
	maxPhoto   = 10_000_000 // bytes (core.telegram.org/bots/api#sendphoto)
)

// Files implements bot.Filer. Only sending a file shows whether a group forbids
// documents.
func (t *Telegram) Files(bot.Chat) bool { return true }

// postFile sends a draft that is a file. A text that is too long for a caption follows as
// messages.
func (t *Telegram) postFile(ctx context.Context, to bot.Chat, d *bot.Draft) (id string, err error) {
	var caption page
	var rest func() (string, error)
	if d.Text != "" || d.Footer != "" {
		pages := t.render(d)
		if len(pages) == 1 && length(pages[0].html) <= maxCaption {
			caption = pages[0]
		} else {
			text := *d
			text.Buttons = nil // they are below the file
			rest = func() (string, error) { return t.post(ctx, to, &text, pages) }
		}
	}
	return t.uploads.Send(to, d, func(f *bot.File) (string, error) {
		return t.sendFile(ctx, to, d, f, caption, keyboard(nil, d.Buttons))
	}, rest)
}

// sendFile sends a file as a message of its own.
func (t *Telegram) sendFile(ctx context.Context, to bot.Chat, d *bot.Draft, f *bot.File, caption page, keyboard string) (id string, err error) {
	o := &outgoing{to: to, file: f, looks: looksOf(f), page: caption, keyboard: keyboard, replyTo: replyTarget(d), priority: d.Priority(true)}
	o.nextLook()
	if id, err = t.send(ctx, o); err != nil {
		return "", fmt.Errorf("sending the file %s: %w", f.BaseName(), err)
	}
	return id, nil
}

// fileLook is a method that sends a file, and the parameter that holds it.
type fileLook struct{ method, field string }

// looksOf are the ways to show a file, the best one first.
func looksOf(f *bot.File) (looks []fileLook) {
	switch kind := http.DetectContentType(f.Content); {
	case f.As == bot.AsPhoto && (kind == "image/png" || kind == "image/jpeg") && len(f.Content) <= maxPhoto:
		looks = append(looks, fileLook{"sendPhoto", "photo"})
	case f.As == bot.AsVoice && isOpus(f.Content):
		looks = append(looks, fileLook{"sendVoice", "voice"})
	case f.As == bot.AsVoice && isMusic(f.Content):
		looks = append(looks, fileLook{"sendAudio", "audio"})
	}
	return append(looks, fileLook{"sendDocument", "document"})
}

// nextLook takes the next way to show a file; false when there is none.
func (o *outgoing) nextLook() bool {
	if len(o.looks) == 0 {
		return false
	}
	o.method, o.field, o.looks = o.looks[0].method, o.looks[0].field, o.looks[1:]
	return true
}

// isOpus reports whether a content is OGG Opus, which Telegram shows as a voice message.
func isOpus(content []byte) bool {
	return bytes.HasPrefix(content, []byte("OggS")) && bytes.Contains(content[:min(len(content), 64)], []byte("OpusHead"))
}

// isMusic reports whether a content is MP3 or M4A, which Telegram shows in its player.
func isMusic(content []byte) bool {
	mp3 := bytes.HasPrefix(content, []byte("ID3")) || len(content) > 1 && content[0] == 0xff && content[1]&0xe0 == 0xe0
	return mp3 || len(content) > 12 && string(content[4:8]) == "ftyp"
}

// refusesFile reports whether a chat accepts no files of that kind, or not this one. It
// may still accept messages.
func refusesFile(err error) bool {
	refused, ok := asRefusal(err)
	return tooLarge(err) || ok && refused.says(
		"rights to send documents", "rights to send photos", "rights to send voice notes", "rights to send audios", "rights to send media",
		"chat_send_docs_forbidden", "chat_send_photos_forbidden", "chat_send_voices_forbidden", "chat_send_audios_forbidden", "chat_send_media_forbidden",
		"file must be non-empty")
}

// tooLarge reports whether Telegram refuses a file because of its size.
func tooLarge(err error) bool {
	if status, ok := errors.AsType[statusError](err); ok {
		return status == http.StatusRequestEntityTooLarge
	}
	refused, ok := asRefusal(err)
	return ok && (refused.code == http.StatusRequestEntityTooLarge || refused.says("file is too big"))
}
