package telegram

import (
	"cmp"
	"encoding/json"
	"fmt"
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

// The text in place of an empty text, and after a text that is still growing.
const (
	emptyText = "…"
	cursor    = " ▌"
)

// maxData is the longest callback_data, in bytes.
const maxData = 64

// page is one message of a draft.
type page struct {
	html string
	// plain is the same without markup, for when Telegram refuses the markup.
	plain func() string
}

// render returns the messages of a draft: one, or several for a long text that
// was not split.
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

// layOut divides a draft into messages; parts divides its text.
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
	if footer := footerHTML(d.Footer, bare); footer != "" {
		if with := strings.TrimLeft(*last+"\n\n"+footer, "\n"); measure(with) <= textLimit {
			*last = with
		} else {
			texts = append(texts, footer)
		}
	}
	for i := range texts {
		if strings.TrimSpace(texts[i]) == "" {
			texts[i] = emptyText
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

// footerHTML is the last line of an answer.
func footerHTML(footer string, bare bool) string {
	footer = oneLine(footer, 300)
	if footer == "" || bare {
		return footer
	}
	return "<i>" + markdown.TelegramEscape(footer) + "</i>"
}

// commandCode is a command as legwork's texts show it, with its arguments.
var commandCode = regexp.MustCompile("`/([a-z0-9_]+)(?: ([^`\n]+))?`")

// render returns the messages of a draft. In notices, which legwork writes itself, the
// bot's commands stand outside of code: people can tap them there.
func (t *Telegram) render(d *bot.Draft) []page {
	if d.Kind != bot.KindNotice {
		return render(d)
	}
	tappable := *d
	tappable.Text = commandCode.ReplaceAllStringFunc(d.Text, func(code string) string {
		found := commandCode.FindStringSubmatch(code)
		switch {
		case !t.knows(found[1]):
			return code
		case found[2] == "":
			return "/" + found[1]
		}
		return "/" + found[1] + " `" + found[2] + "`"
	})
	return render(&tappable)
}

// Split implements bot.Splitter. A footer that does not fit under the last part
// is a part of its own.
func (t *Telegram) Split(d bot.Draft) []bot.Draft {
	if d.Part > 0 || d.IsFile() {
		return []bot.Draft{d}
	}
	if t.richText(bot.Chat{}, &d) != "" { // where Telegram refuses it, Post divides it
		return []bot.Draft{d}
	}
	return d.Parts(len(t.render(&d)))
}

var tags = regexp.MustCompile(`<[^>]*>`)

// plain is the visible text of Telegram's HTML.
func plain(s string) string { return html.UnescapeString(tags.ReplaceAllString(s, "")) }

// length is the length of a message in HTML as Telegram counts it.
func length(s string) int { return units(plain(s)) }

// units counts UTF-16 code units.
func units(s string) int { return len(utf16.Encode([]rune(s))) }

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
	return strings.TrimRightFunc(head, unicode.IsSpace) + emptyText
}

// oneLine makes one line of a text, at most limit code units long.
func oneLine(s string, limit int) string {
	return cut(strings.Join(strings.Fields(bot.Clean(s)), " "), limit)
}

// How many columns the labels of a row may have: a phone cuts longer ones.
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

// The most blocks of code that get a button, and the most characters that a button
// copies (core.telegram.org/bots/api#copytextbutton).
const (
	maxCopies   = 3
	maxCopyText = 256
)

var codeBlock = regexp.MustCompile(`(?s)<pre>(.*?)</pre>`)

// copies are the buttons that copy the blocks of code of a page, when these are few and
// short.
func copies(d *bot.Draft, p page) []key {
	blocks := codeBlock.FindAllStringSubmatch(p.html, maxCopies+1)
	if d.Copy == "" || d.Partial || len(blocks) > maxCopies {
		return nil
	}
	var keys []key
	for _, block := range blocks {
		code := strings.TrimRight(plain(block[1]), "\n")
		if strings.TrimSpace(code) == "" || units(code) > maxCopyText {
			continue
		}
		label := d.Copy
		if len(blocks) > 1 {
			label += ": " + oneLine(code, maxCopyLabel)
		}
		keys = append(keys, key{Text: label, Copy: &copyText{code}})
	}
	return keys
}

// maxCopyLabel is how much of its text a button names.
const maxCopyLabel = 24

// key is a button as Telegram has it.
type key struct {
	Text  string    `json:"text"`
	Data  string    `json:"callback_data,omitempty"`
	Copy  *copyText `json:"copy_text,omitempty"`
	Style string    `json:"style,omitempty"` // ignored by older clients and servers
}

type copyText struct {
	Text string `json:"text"`
}

// keyboard is the reply_markup of buttons below those that copy code; empty when there
// are none. Buttons whose data Telegram would refuse are left out.
func keyboard(copies []key, buttons []bot.Button) string {
	var rows [][]key
	for _, k := range copies {
		rows = append(rows, []key{k})
	}
	room := 0 // how many more buttons the last row takes
	for _, b := range buttons {
		label := oneLine(b.Label, 100)
		if label == "" || b.Data == "" || len(b.Data) > maxData {
			continue
		}
		k := key{Text: label, Data: b.Data, Style: style(b.Style)}
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

// style is a button's style as Telegram names it; empty for those it does not
// know.
func style(s string) string {
	if s == bot.StylePrimary || s == bot.StyleDanger {
		return s // the same words
	}
	return ""
}

// How much of a board is shown. A message may hold 100 entities, and each row
// takes up to two.
const (
	maxRows   = 24
	maxTitle  = 120
	maxStatus = 240
	maxRow    = 100
	maxDoing  = 60
)

// The icons of a sub-task's states, in the order in which counts are shown.
var icons = []struct{ state, icon string }{
	{"done", "✅"},
	{"failed", "❌"},
	{"skipped", "⏭"},
	{"working", "⏳"},
	{"waiting", "❓"},
	{"todo", "▫️"},
}

// board draws the live picture of a task; without sub-tasks it is one line.
func board(b bot.Board) string {
	title, status := oneLine(b.Title, maxTitle), oneLine(b.Status, maxStatus)
	if len(b.Items) == 0 {
		return linked(b.Link, cmp.Or(status, title, emptyText))
	}
	var head []string
	if title != "" {
		head = append(head, "<b>"+linked(b.Link, title)+"</b>")
	}
	if status != "" {
		head = append(head, markdown.TelegramEscape(status))
	}
	if len(head) > 0 {
		head = append(head, "")
	}
	for n := maxRows; ; n /= 2 {
		if text := strings.Join(append(head, list(b.Items, n)...), "\n"); n < 2 || length(text) <= textLimit {
			return text
		}
	}
}

// linked is a text as a link to the task, where there is one.
func linked(address, text string) string {
	if address == "" {
		return markdown.TelegramEscape(text)
	}
	return `<a href="` + html.EscapeString(address) + `">` + markdown.TelegramEscape(text) + "</a>"
}

// list is the rows of at most n sub-tasks, with counts of those before and after.
func list(items []bot.Item, n int) []string {
	var rows []string
	from, to := window(items, n)
	if from > 0 {
		rows = append(rows, counts(items[:from]))
	}
	for _, it := range items[from:to] {
		rows = append(rows, row(it))
	}
	if to < len(items) {
		rows = append(rows, counts(items[to:]))
	}
	return rows
}

// window is the part of a long list that is shown: around the active items.
func window(items []bot.Item, n int) (from, to int) {
	if len(items) <= n {
		return 0, len(items)
	}
	for from < len(items) && !active(items[from]) {
		from++
	}
	if from == len(items) { // no active item: start before the first item to do
		for from = 0; from < len(items) && items[from].State != "todo"; {
			from++
		}
	}
	from = max(0, min(from-2, len(items)-n))
	return from, from + n
}

func active(it bot.Item) bool { return it.State == "working" || it.State == "waiting" }

// counts is the row of items that are not shown: how many are in each state.
func counts(items []bot.Item) string {
	var words []string
	for _, i := range icons {
		n := 0
		for _, it := range items {
			if it.State == i.state {
				n++
			}
		}
		if n > 0 {
			words = append(words, fmt.Sprintf("%s × %d", i.icon, n))
		}
	}
	return strings.Join(words, "  ")
}

// row is the line of a sub-task.
func row(it bot.Item) string {
	words := []string{markdown.TelegramEscape(cmp.Or(oneLine(it.Title, maxRow), it.ID))}
	if group := oneLine(it.Group, maxDoing); group != "" {
		words = append(words, "<i>"+markdown.TelegramEscape(group)+"</i>")
	}
	if doing := oneLine(it.Doing, maxDoing); doing != "" && active(it) {
		words = append(words, "<code>"+markdown.TelegramEscape(doing)+"</code>")
	}
	if it.Elapsed > 0 {
		words = append(words, bot.Clock(it.Elapsed))
	}
	return icon(it.State) + " " + strings.Join(words, " · ")
}

func icon(state string) string {
	for _, i := range icons {
		if i.state == state {
			return i.icon
		}
	}
	return "▫️"
}
