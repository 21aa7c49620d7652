package telegram

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"

	"legwork/bot"
	"legwork/bot/markdown"
)

// Rich messages hold Markdown with headings and tables (core.telegram.org/bots/api#sendrichmessage).
const (
	richMethod      = "sendRichMessage"
	richDraftMethod = "sendRichMessageDraft"
	richLimit       = 32_768 // UTF-16 code units of one message
)

// richText is the Markdown of an answer as a rich message; empty where the answer goes
// out as HTML: the setting is off, Telegram refused rich messages in the chat not long
// ago, or the text is too long.
func (t *Telegram) richText(to bot.Chat, d *bot.Draft) string {
	if !t.cfg.Rich || d.Kind != bot.KindAnswer || d.Part > 0 || strings.TrimSpace(d.Text) == "" || t.chats.refused(richMethod, to.ID) {
		return ""
	}
	text := markdown.TelegramRich(source(d))
	if footer := oneLine(d.Footer, 300); footer != "" {
		text += "\n\n*" + special.ReplaceAllString(footer, `\$0`) + "*"
	}
	if units(text) > richLimit {
		return ""
	}
	return text
}

// special are the characters that Markdown may take for markup.
var special = regexp.MustCompile("[\\\\`*_\\[\\]<>&~|$#]")

// asRich lets a message go out as a rich one, and as HTML if Telegram refuses that.
func (o *outgoing) asRich(text, keyboard string) {
	if o.rich = text; text == "" {
		return
	}
	o.richKeyboard = keyboard
	switch o.method {
	case "sendMessage":
		o.method, o.plainMethod = richMethod, o.method
	case draftMethod:
		o.method, o.plainMethod = richDraftMethod, o.method
	default:
		o.plainMethod = o.method
	}
}

// asHTML undoes asRich.
func (o *outgoing) asHTML() { o.rich, o.method = "", o.plainMethod }

// richMessage is the parameter rich_message.
func richMessage(text string) string {
	data, err := json.Marshal(map[string]string{"markdown": text})
	if err != nil {
		return "" // of a text only
	}
	return string(data)
}

// refusesRich reports whether Telegram may accept as HTML what it refused as a rich
// message.
func (o *outgoing) refusesRich(r refusal) bool {
	return o.rich != "" && (r.code == http.StatusNotFound || r.code == http.StatusBadRequest) &&
		!r.notModified() && r.movedTo == 0 && !r.noThread() && !r.noReply() && !r.missing() && !r.gone()
}
