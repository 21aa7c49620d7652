package inbox

import (
	"strings"

	"legwork/bot"
	"legwork/i18n"
)

// inWords puts into words what a message and the messages that it brings along hold
// beside text. A person who only points at messages asks about them: the text is
// their quotation then.
func inWords(texts *i18n.Texts, lang string, m bot.Message) bot.Message {
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
		if q.Text != "" {
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
// the messages as quotations. It is empty when there are none, and for a bare reply
// to the bot's own message, which asks nothing.
func WithoutWords(m bot.Message) string {
	var quotations []string
	for _, q := range m.Earlier {
		if q.Pointed && (!q.Own || m.ReplyTo == "") {
			quotations = append(quotations, q.Quotation())
		}
	}
	return strings.Join(quotations, "\n\n")
}
