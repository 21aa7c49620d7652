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

// page is one message that a draft makes.
type page struct {
	html string
	// plain is the same without markup, for the case that it is refused.
	plain func() string
}

// render returns the messages that a draft makes, at least one. Most make one;
// a long text that nobody split makes several.
func render(d *bot.Draft) []page {
	texts := layOut(d, markdown.Telegram)
	pages := make([]page, len(texts))
	for i, text := range texts {
		pages[i] = page{text, func() string {
			if bare := layOut(d, markdown.TelegramPlain); len(bare) == len(texts) && d.Board == nil {
				return bare[i]
			}
			return cut(plain(text), textLimit)
		}}
	}
	return pages
}

// layOut divides a draft among messages; parts does so with its text.
func layOut(d *bot.Draft, parts func(string) []markdown.Part) []string {
	if d.Kind == bot.KindBoard && d.Board != nil {
		return []string{board(*d.Board)}
	}
	var texts []string
	bare, measure := false, length
	for _, p := range parts(source(d)) {
		texts = append(texts, p.Text)
		if bare = p.ParseMode == ""; bare {
			measure = units
		}
	}
	switch {
	case d.Part > len(texts):
		texts = []string{""} // of the footer alone
	case d.Part > 0:
		texts = texts[d.Part-1 : d.Part]
	case d.Partial && len(texts) > 0:
		texts = texts[len(texts)-1:]
	case len(texts) == 0:
		texts = []string{""}
	}
	last := &texts[len(texts)-1]
	if d.Partial && *last != "" && measure(*last+cursor) <= textLimit {
		*last += cursor
	}
	if footer := foot(d.Footer, bare); footer != "" {
		if with := strings.TrimLeft(*last+"\n\n"+footer, "\n"); measure(with) <= textLimit {
			*last = with
		} else {
			texts = append(texts, footer)
		}
	}
	for i := range texts {
		if strings.TrimSpace(texts[i]) == "" {
			texts[i] = nothing
		}
	}
	return texts
}

// source is the Markdown of a draft.
func source(d *bot.Draft) string {
	text := d.Text
	if d.Partial {
		text = markdown.Partial(text)
	}
	if d.Failed {
		text = warn(text)
	}
	return text
}

// warn marks a text that says what went wrong, unless it begins with markup.
func warn(text string) string {
	trimmed := strings.TrimSpace(text)
	if first, _ := utf8.DecodeRuneInString(trimmed); unicode.IsLetter(first) {
		return "⚠️ " + trimmed
	}
	return text
}

// foot is the last line of an answer.
func foot(footer string, bare bool) string {
	footer = line(footer, 300)
	if footer == "" || bare {
		return footer
	}
	return "<i>" + markdown.TelegramEscape(footer) + "</i>"
}

// Split implements bot.Splitter. A footer that does not fit under the last part
// is a part of its own.
func (t *Telegram) Split(d bot.Draft) []bot.Draft {
	if d.Part > 0 {
		return []bot.Draft{d}
	}
	return d.Parts(len(render(&d)))
}

var tags = regexp.MustCompile(`<[^>]*>`)

// plain is the text of Telegram's HTML as people see it.
func plain(s string) string { return html.UnescapeString(tags.ReplaceAllString(s, "")) }

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

// How many columns the labels of a row may have at most: a phone cuts longer
// ones.
const (
	shortLabel = 18 // of two
	tinyLabel  = 9  // of three
)

// perRow is how many buttons may stand in a row with that label.
func perRow(label string) int {
	switch w := bot.TextWidth(label); {
	case w <= tinyLabel:
		return 3
	case w <= shortLabel:
		return 2
	}
	return 1
}

// keyboard is the reply_markup of buttons; empty when there are none. One
// whose data Telegram would refuse is left out.
func keyboard(buttons []bot.Button) string {
	type key struct {
		Text  string `json:"text"`
		Data  string `json:"callback_data"`
		Style string `json:"style,omitempty"` // older clients and servers pass over it
	}
	var rows [][]key
	room := 0 // how many more buttons the last row takes
	for _, b := range buttons {
		label := line(b.Label, 100)
		if label == "" || b.Data == "" || len(b.Data) > maxData {
			continue
		}
		k := key{label, b.Data, style(b.Style)}
		if last := len(rows) - 1; room > 0 && perRow(label) > len(rows[last]) {
			rows[last] = append(rows[last], k)
			room = min(room-1, perRow(label)-len(rows[last]))
			continue
		}
		rows = append(rows, []key{k})
		room = perRow(label) - 1
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

// style is a button's as Telegram names it: empty for those that it does not
// know.
func style(s string) string {
	if s == bot.StylePrimary || s == bot.StyleDanger {
		return s // the same words
	}
	return ""
}
