// Package input reads what people send: the words of a message and of its media, a
// command, the arguments of a prompt, and the values of a form. It decides nothing.
package input

import (
	"strings"

	"legwork/bot"
	"legwork/i18n"
	"legwork/tasks/cards"
)

// Clean returns a text without invalid bytes, NUL characters and surrounding
// space. The inbox cleans the texts of people and of programs alike.
func Clean(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", ""))
}

// InWords puts into words what a message and the messages that it brings along hold
// beside text. A person who only points at messages asks about them: the text is
// their quotation then.
func InWords(texts *i18n.Texts, lang string, m bot.Message) bot.Message {
	if m.Facts != (bot.Facts{}) {
		m.Text = paragraphs(m.Text, Clean(mediaText(texts, lang, m.Media, m.Facts)))
		m.Media, m.Facts = "", bot.Facts{}
	}
	var quoted []bot.Quoted
	for _, q := range m.Earlier {
		words := ""
		switch {
		case q.Facts != (bot.Facts{}):
			words = mediaText(texts, lang, q.Media, q.Facts)
			if q.Media == m.Media {
				m.Media = "" // m forwards this
			}
		case q.Media != "":
			words = texts.Text(lang, "media.unseen", map[string]any{"Name": q.Media})
		}
		q.From, q.Text = Clean(q.From), paragraphs(Clean(q.Text), Clean(words))
		q.Media, q.Facts = "", bot.Facts{}
		if !q.Empty() {
			quoted = append(quoted, q)
		}
	}
	m.Earlier = quoted
	if m.Text == "" && m.Kind == bot.MessageText && !m.Overheard {
		m.Text = WithoutWords(m)
	}
	return m
}

func mediaText(texts *i18n.Texts, lang, media string, f bot.Facts) string {
	return texts.Text(lang, "media."+media, map[string]any{"Name": f.Name, "Text": f.Text})
}

// paragraphs joins texts that are not empty.
func paragraphs(a, b string) string { return strings.TrimSpace(a + "\n\n" + b) }

// WithoutWords is the question of a person who points at messages and writes nothing:
// the messages as quotations. It is empty when there are none with words, and for a bare reply
// to the bot's own message, which asks nothing.
func WithoutWords(m bot.Message) string {
	var quotations []string
	for _, q := range m.Earlier {
		if q.Pointed && q.Text != "" && (!q.Own || m.ReplyTo == "") {
			quotations = append(quotations, q.Quotation())
		}
	}
	return strings.Join(quotations, "\n\n")
}

// mediaKeys are the keys of the texts that name media. Other media are files.
var mediaKeys = map[string]string{
	"photo": "unread.photo", "sticker": "unread.sticker",
	"video": "unread.video", "animation": "unread.video", "video_note": "unread.video",
	"audio": "unread.audio", "voice": "unread.audio", "story": "unread.story",
	"album": "unread.album",
}

// UnreadData names the media of a message in a language, for the texts which say that
// legwork does not read them.
func UnreadData(texts *i18n.Texts, lang string, m bot.Message) map[string]any {
	key, ok := mediaKeys[m.Media]
	if !ok {
		key = "unread.file"
	}
	data := map[string]any{"Media": texts.Text(lang, key, nil)}
	if m.MediaName != "" {
		data["Name"] = cards.InCode(cards.Line(m.MediaName))
	}
	return data
}

// WithUnread adds a line about a message's media to the text of the message, so that
// models know that they do not see the media. The line is a quotation: titles leave
// it out.
func WithUnread(texts *i18n.Texts, lang string, m bot.Message, text string) string {
	if m.Media == "" || text == "" {
		return text
	}
	return text + "\n\n> " + texts.Text(lang, "prompt.unread", UnreadData(texts, lang, m))
}
