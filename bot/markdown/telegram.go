package markdown

import "strings"

// ModeHTML is the parse_mode of Telegram's HTML.
const ModeHTML = "HTML"

// Telegram renders Markdown as Telegram's messages, in order and none of them
// blank: HTML with the tags b, i, s, code, pre, a and blockquote, well-formed
// in each part. A part holds at most 4096 UTF-16 units of text, 100 entities
// and 30,000 bytes; markup that is open at its end is closed, and opened again in
// the next part. Only http, https and tg become links, with the host behind them
// unless their text shows it. No part of the text is lost. An empty text gives no
// parts (core.telegram.org/bots/api#html-style).
func Telegram(markdown string) []Part {
	parts, f := telegramParts(markdown)
	all := make([]Part, len(parts))
	for i, pieces := range parts {
		all[i] = Part{Text: f.html(pieces), ParseMode: ModeHTML}
	}
	return all
}

// TelegramPlain is Telegram without markup, for when Telegram refuses the markup:
// part i holds the text of Telegram's part i, within the same limit, and
// links are written out.
func TelegramPlain(markdown string) []Part {
	parts, f := telegramParts(markdown)
	all := make([]Part, len(parts))
	for i, pieces := range parts {
		all[i] = Part{Text: f.plain(pieces)}
	}
	return all
}

// TelegramEscape makes plain text safe inside Telegram's HTML.
func TelegramEscape(text string) string {
	if !strings.ContainsAny(text, "&<>") {
		return text
	}
	text = strings.ReplaceAll(text, "&", "&amp;")
	text = strings.ReplaceAll(text, "<", "&lt;")
	return strings.ReplaceAll(text, ">", "&gt;")
}

var telegramStyle = flowStyle{
	bullets: []string{"• ", "◦ ", "▪ "},
	indent:  "    ",
	columns: 42, // a phone would break longer lines
}

// telegramParts lays out a document and splits it.
func telegramParts(markdown string) ([][]piece, *flow) {
	f := newFlow(markdown, telegramStyle, &links{telegram: true})
	s := splitter{flow: f, rest: f.pieces()}
	return s.parts(), f
}

// pieces are the lines of a document as one stream of text.
func (f *flow) pieces() []piece {
	n := 0
	for i := range f.lines {
		n += 3 + len(f.lines[i].spans)
	}
	all := make([]piece, 0, n)
	for i := range f.lines {
		l := &f.lines[i]
		if i > 0 {
			all = append(all, separator(&f.lines[i-1], l))
		}
		p := piece{quote: l.quote}
		if l.kind == codeLine {
			if l.above != sameBlock {
				all = f.opening(all, l)
			}
			p.code = l.block
		} else if l.lead != "" {
			all = append(all, piece{text: l.lead, quote: l.quote, end: endNowhere})
		}
		for _, s := range l.spans {
			p.text, p.look = s.text, s.look
			all = append(all, p)
		}
	}
	return all
}

// opening is the text before a code block: the marker of a list, and the info string
// if it is more than the name of a language.
func (f *flow) opening(all []piece, l *line) []piece {
	p := piece{quote: l.quote}
	if strings.TrimSpace(l.lead) != "" {
		p.text = strings.TrimRight(l.lead, " ") + "\n"
		all = append(all, p)
	}
	if info := f.codes[l.block-1]; info != "" && language(info) == "" {
		p.text = "[" + info + "]\n"
		all = append(all, p)
	}
	return all
}

// separator is the line break between two lines.
func separator(above, below *line) piece {
	p := piece{text: "\n", end: endLine}
	if above.quote == below.quote {
		p.quote = above.quote
	}
	switch below.above {
	case blankLine:
		p.text, p.end = "\n\n", endParagraph
	case sameBlock:
		p.code = below.block
	}
	if above.kind != codeLine && (above.level > 0 || strings.HasSuffix(spansText(above.spans), ":")) {
		p.end = endNowhere
	}
	return p
}

// language is the name of a code block's language; empty when info is not a plain
// name.
func language(info string) string {
	if len(info) > 32 {
		return ""
	}
	for i := range len(info) {
		c := info[i] | 0x20
		if (c < 'a' || c > 'z') && (info[i] < '0' || info[i] > '9') && strings.IndexByte("+-#_.", info[i]) < 0 {
			return ""
		}
	}
	return info
}

// html writes the pieces of one part.
func (f *flow) html(pieces []piece) string {
	var b strings.Builder
	var open format
	for _, p := range pieces {
		if p.text == "" {
			continue
		}
		f.change(&b, open, p.format)
		open = p.format
		b.WriteString(TelegramEscape(p.text))
	}
	f.change(&b, open, format{})
	return b.String()
}

// plain writes the pieces of one part without markup. Struck text keeps its
// marks, because without them it would say the opposite.
func (f *flow) plain(pieces []piece) string {
	var b strings.Builder
	struck := look(0)
	for _, p := range pieces {
		struck = f.plainSpan(&b, span{p.text, p.look}, struck)
	}
	if struck != 0 {
		b.WriteString("~~")
	}
	return strings.TrimRight(b.String(), " \n")
}

// plainPiece is the text of a piece where there is no markup.
func (f *flow) plainPiece(p piece) string {
	if m := f.links.of(p.look); m != nil && m.isNote {
		return m.plain
	}
	return p.text
}
