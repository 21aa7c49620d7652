package telegram

import (
	"encoding/json"
	"html"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"legwork/bot"
	"legwork/bot/markdown"
)

// What is shown where there is nothing to show, and after words that go on.
const (
	nothing = "…"
	cursor  = " ▌"
)

// maxData is the longest callback_data, in bytes.
const maxData = 64

// render returns the messages that a draft makes, at least one, as Telegram's
// HTML. Most make one; a long text that nobody split makes several.
func render(d bot.Draft) []string {
	if d.Kind == bot.KindBoard && d.Board != nil {
		return []string{board(*d.Board)}
	}
	parts := texts(d)
	switch {
	case d.Part > len(parts):
		parts = []string{""} // of the footer alone
	case d.Part > 0:
		parts = parts[d.Part-1 : d.Part]
	case d.Partial && len(parts) > 0:
		parts = parts[len(parts)-1:]
	case len(parts) == 0:
		parts = []string{""}
	}
	last := &parts[len(parts)-1]
	if d.Partial && *last != "" && length(*last+cursor) <= textLimit {
		*last += cursor
	}
	if footer := foot(d.Footer); footer != "" {
		if with := strings.TrimLeft(*last+"\n\n"+footer, "\n"); length(with) <= textLimit {
			*last = with
		} else {
			parts = append(parts, footer)
		}
	}
	for i := range parts {
		if strings.TrimSpace(plain(parts[i])) == "" {
			parts[i] = nothing
		}
	}
	return parts
}

// texts are the parts of a draft's text, none when it is empty.
func texts(d bot.Draft) []string {
	text := d.Text
	if d.Partial {
		text = markdown.Partial(text)
	}
	if d.Failed {
		text = warn(text)
	}
	var parts []string
	for _, p := range markdown.Telegram(text) {
		parts = append(parts, p.Text)
	}
	return parts
}

// warn marks a text that says what went wrong, unless it begins with markup.
func warn(text string) string {
	trimmed := strings.TrimSpace(text)
	if first, _ := utf8.DecodeRuneInString(trimmed); unicode.IsLetter(first) {
		return "⚠️ " + trimmed
	}
	return text
}

func foot(footer string) string {
	if footer = line(footer, 300); footer == "" {
		return ""
	}
	return "<i>" + escape(footer) + "</i>"
}

// Split implements bot.Splitter. A footer that does not fit under the last part
// is a part of its own.
func (t *Telegram) Split(d bot.Draft) []bot.Draft {
	if d.Part > 0 {
		return []bot.Draft{d}
	}
	n := len(render(d))
	parts := make([]bot.Draft, n)
	for i := range parts {
		parts[i] = d
		parts[i].Part = i + 1
		if i < n-1 {
			parts[i].Buttons, parts[i].Footer = nil, ""
		}
	}
	return parts
}

var (
	tags  = regexp.MustCompile(`<[^>]*>`)
	links = regexp.MustCompile(`<a href="([^"]*)">(.*?)</a>`)
)

// plain is the text of Telegram's HTML as people see it.
func plain(s string) string { return html.UnescapeString(tags.ReplaceAllString(s, "")) }

// wayOut is the text of a message whose markup was refused, with the addresses
// of its links where they fit.
func wayOut(s string) string {
	with := plain(links.ReplaceAllStringFunc(s, func(link string) string {
		found := links.FindStringSubmatch(link)
		if plain(found[2]) == html.UnescapeString(found[1]) {
			return found[2]
		}
		return found[2] + " (" + found[1] + ")"
	}))
	if units(with) <= textLimit {
		return with
	}
	return cut(plain(s), textLimit)
}

// length is what Telegram counts of a message in HTML.
func length(s string) int { return units(plain(s)) }

// units counts UTF-16 code units.
func units(s string) int {
	n := 0
	for _, c := range s {
		n += max(1, utf16.RuneLen(c))
	}
	return n
}

// cut shortens a text to at most limit UTF-16 code units; a cut one ends in "…".
func cut(s string, limit int) string {
	if units(s) <= limit {
		return s
	}
	n, fits := 0, 0
	for g := displaywidth.StringGraphemes(s); g.Next(); {
		if n += units(g.Value()); n > limit-1 {
			break
		}
		fits += len(g.Value())
	}
	head := s[:fits]
	if i := strings.LastIndexAny(head, " \n"); i > len(head)*3/4 {
		head = head[:i]
	}
	return strings.TrimRightFunc(head, unicode.IsSpace) + nothing
}

// line makes one line of a text, at most limit code units long.
func line(s string, limit int) string {
	return cut(strings.Join(strings.Fields(bot.Clean(s)), " "), limit)
}

// escape makes a text safe inside HTML.
func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}

// A row of a keyboard holds two labels of at most this many columns, or one.
const shortLabel = 18

// keyboard is the reply_markup of buttons; empty when there are none. One
// whose data Telegram would refuse is left out.
func keyboard(buttons []bot.Button) string {
	type key struct {
		Text string `json:"text"`
		Data string `json:"callback_data"`
	}
	var rows [][]key
	room := false // the last row takes one more
	for _, b := range buttons {
		label := line(b.Label, 100)
		if label == "" || b.Data == "" || len(b.Data) > maxData {
			continue
		}
		short := bot.TextWidth(label) <= shortLabel
		if room && short {
			rows[len(rows)-1] = append(rows[len(rows)-1], key{label, b.Data})
			room = false
			continue
		}
		rows = append(rows, []key{{label, b.Data}})
		room = short
	}
	if len(rows) == 0 {
		return ""
	}
	data, err := json.Marshal(map[string]any{"inline_keyboard": rows})
	if err != nil {
		return "" // of texts only
	}
	return string(data)
}
