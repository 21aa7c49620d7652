package slack

import (
	"cmp"
	"encoding/json"
	"strings"

	"legwork/bot"
)

// attachment is what stands below the words of a message: a message that its author
// shares, or the preview of a link
// (docs.slack.dev/legacy/legacy-messaging/legacy-secondary-message-attachments).
type attachment struct {
	IsShare       bool       `json:"is_share"`
	IsUnfurl      bool       `json:"is_msg_unfurl"`
	Author        string     `json:"author_id"`
	AuthorName    string     `json:"author_name"`
	Subname       string     `json:"author_subname"`
	Pretext       string     `json:"pretext"`
	Title         string     `json:"title"`
	Text          string     `json:"text"`
	Fallback      string     `json:"fallback"`
	TS            jsonText   `json:"ts"`
	Files         []fileInfo `json:"files"`
	MessageBlocks []struct {
		Message struct {
			Blocks json.RawMessage `json:"blocks"`
		} `json:"message"`
	} `json:"message_blocks"`
	Blocks json.RawMessage `json:"blocks"`
}

// jsonText is a string that Slack writes as a number in some attachments.
type jsonText string

// UnmarshalJSON implements json.Unmarshaler.
func (t *jsonText) UnmarshalJSON(raw []byte) error {
	*t = jsonText(strings.Trim(string(raw), `"`))
	return nil
}

// shared are the messages that e shares, in Slack's markup.
func shared(me identity, e event) []bot.Quoted {
	var list []bot.Quoted
	for _, a := range e.Attachments {
		if !a.IsShare && !a.IsUnfurl {
			continue
		}
		q := bot.Quoted{
			From: cmp.Or(a.Subname, a.AuthorName), Text: a.words(), Media: unread(a.Files), At: timeOf(string(a.TS)), Pointed: true,
			Files: attachments(a.Files, e.User, a.Author),
			Bot:   a.Author != "" && (a.Author == me.user || a.Author == me.bot),
		}
		q.Own = q.Bot || a.Author != "" && a.Author == e.User
		if q.From == "" && a.Author != "" {
			q.From = "<@" + a.Author + ">"
		}
		nameOwners(q.Files, func(id string) string {
			if id != a.Author {
				return ""
			}
			return cmp.Or(a.Subname, a.AuthorName)
		})
		if !q.Empty() {
			list = append(list, q)
		}
	}
	return list
}

// words is the text of a shared message. A message of an app may have blocks alone.
func (a attachment) words() string {
	var lines []string
	for _, line := range []string{a.Pretext, a.Title, a.Text} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) > 0 {
		return strings.Join(lines, "\n")
	}
	for _, m := range a.MessageBlocks {
		lines = append(lines, blockText(m.Message.Blocks))
	}
	text := strings.TrimSpace(strings.Join(append(lines, blockText(a.Blocks)), "\n"))
	if text == "" && len(a.Files) == 0 {
		return a.Fallback
	}
	return text
}

// maxBlockDepth bounds how deep the blocks of a message are read.
const maxBlockDepth = 20

// blockText is the text of blocks, in Slack's markup.
func blockText(blocks json.RawMessage) string {
	var all []any
	if json.Unmarshal(blocks, &all) != nil {
		return "" // there are none
	}
	var lines []string
	for _, b := range all {
		if line := strings.TrimSpace(elementText(b, 0)); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// elementText is the text of a block, or of an element in it.
func elementText(v any, depth int) string {
	if list, ok := v.([]any); ok && depth < maxBlockDepth {
		var texts []string
		for _, e := range list {
			texts = append(texts, elementText(e, depth+1))
		}
		return strings.Join(texts, "")
	}
	e, ok := v.(map[string]any)
	if !ok || depth >= maxBlockDepth {
		return ""
	}
	str := func(name string) string { s, _ := e[name].(string); return s }
	switch kind := str("type"); kind {
	case "user":
		return "<@" + str("user_id") + ">"
	case "channel":
		return "<#" + str("channel_id") + ">"
	case "broadcast":
		return "<!" + str("range") + ">"
	case "emoji":
		return ":" + str("name") + ":"
	case "link":
		return "<" + str("url") + "|" + cmp.Or(str("text"), str("url")) + ">"
	case "image":
		return str("alt_text")
	default:
		text := str("text")
		if text == "" {
			for _, name := range []string{"text", "elements", "fields", "rows"} {
				text += elementText(e[name], depth+1)
			}
		}
		if strings.HasPrefix(kind, "rich_text_") {
			text += "\n"
		}
		return text
	}
}
