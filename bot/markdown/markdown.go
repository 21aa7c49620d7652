// Package markdown renders Markdown for each platform: lines of a terminal,
// messages of Telegram and of Slack.
package markdown

import (
	"strings"

	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/util"
)

// Style is the style of Markdown on a terminal. The zero value uses no
// escape sequences at all.
type Style struct {
	Color bool // bold, italic, underline and a few colours as ANSI sequences
}

// Modes of a Part for a terminal.
const (
	ModeANSI  = "ansi"  // the text contains ANSI sequences of legwork
	ModePlain = "plain" // the text contains none
)

// Part is one message for a platform.
type Part struct {
	// Text is the message for a terminal or Telegram, in ParseMode. For Slack it is
	// the message without markup, not escaped: for notifications, and for when
	// Slack refuses MarkdownText.
	Text string `json:"text"`
	// ParseMode is ModeANSI or ModePlain for a terminal, ModeHTML or, for text
	// without markup, empty for Telegram, and empty for Slack.
	ParseMode string `json:"parse_mode,omitempty"`
	// MarkdownText is Slack's own Markdown. In code it breaks what Slack might read
	// as a mention.
	MarkdownText string `json:"markdown_text,omitempty"`
	// Blocks, unless empty, show the same for Slack, with code and a table as they
	// are.
	Blocks []Block `json:"blocks,omitempty"`
}

// Terminal shows Markdown (CommonMark with tables, strikethrough, task
// lists and bare links) as lines of at most width columns, joined by newlines
// and without one at the end. A width of 0 or less means no wrapping. Each
// line carries and ends its own styles. Control characters of the text are
// made visible, so that no text can steer the terminal. HTML is shown as
// source text, except for the tags of tags.go and blocks of html.go. No text is lost.
func Terminal(markdown string, width int, style Style) string {
	if width < 0 {
		width = 0
	}
	r := &renderer{width: width, color: style.Color, notes: noteNumbers(markdown), refs: newReferences(markdown)}
	for _, s := range segments(markdown) {
		if s.apart {
			r.gap()
		}
		r.resumed = s.inCode
		r.blocks(r.parse(s.text), false)
	}
	return r.out.String()
}

// Plain is the text of Markdown without markup or wrapping.
func Plain(markdown string) string {
	return Terminal(markdown, 0, Style{})
}

// TerminalParts is Terminal as the messages of one answer: one part, or
// none when there is nothing to show. A terminal has no limit of length.
func TerminalParts(markdown string, width int, style Style) []Part {
	text := Terminal(markdown, width, style)
	if text == "" {
		return []Part{}
	}
	mode := ModePlain
	if style.Color {
		mode = ModeANSI
	}
	return []Part{{Text: text, ParseMode: mode}}
}

// newParser reads CommonMark with the GitHub extensions, tables on request. It
// does not parse blocks of HTML and link reference definitions: html.go and reference.go
// read them.
func newParser(tables bool, notes map[string]string) parser.Parser {
	options := []parser.Option{
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(parser.NewListParser(), 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(parser.NewBlockquoteParser(), 800),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
			util.Prioritized(formulas{}, 50),
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(footnotes{notes}, 150),
			util.Prioritized(definitions{}, 160),
			util.Prioritized(parser.NewLinkParser(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewRawHTMLParser(), 400),
			util.Prioritized(emphasisParser{parser.NewEmphasisParser()}, 500),
			util.Prioritized(emphasisParser{extension.NewStrikethroughParser()}, 500),
			util.Prioritized(extension.NewLinkifyParser(), 999),
		),
	}
	if tables {
		options = append(options,
			parser.WithParagraphTransformers(
				util.Prioritized(extension.NewTableParagraphTransformer(), 200),
			),
			parser.WithASTTransformers(
				util.Prioritized(extension.NewTableASTTransformer(), 0),
			),
		)
	}
	return parser.NewParser(options...)
}

// format is the elements around a piece in Telegram's HTML, outermost first; 0 for
// none. Where two formats differ, tags are closed and opened from there on.
type format [8]uint32

// The places of a format.
const (
	inQuote = iota // 2: folded
	inCode         // number of the code block
	inLink         // number of the mark
	inStrike
	inBold
	inItalic
	inUnderline
	inSpan // of code
)

// formatOf is the format of a piece. Telegram allows code inside of a quote only
// (core.telegram.org/bots/api#html-style).
func (f *flow) formatOf(p piece) format {
	var w format
	w[inQuote] = uint32(p.quote)
	if p.code > 0 {
		w[inCode] = uint32(p.code)
		return w
	}
	if m := f.links.of(p.look); m != nil && m.to != "" {
		w[inLink] = uint32(p.look >> markShift)
	}
	if p.look&strike != 0 {
		w[inStrike] = 1
	}
	if p.look&code != 0 && w[inLink] == 0 && w[inStrike] == 0 {
		w[inSpan] = 1
		return w
	}
	if p.look&bold != 0 {
		w[inBold] = 1
	}
	if p.look&italic != 0 {
		w[inItalic] = 1
	}
	if p.look&underline != 0 {
		w[inUnderline] = 1
	}
	return w
}

// common is the number of places in which two formats agree.
func (w format) common(other format) int {
	for i := range w {
		if w[i] != other[i] {
			return i
		}
	}
	return len(w)
}

// entities is the number of entities that a format opens from place on.
func (w format) entities(place int) int {
	n := 0
	for _, v := range w[place:] {
		if v != 0 {
			n++
		}
	}
	return n
}

// within is the format up to a place.
func (w format) within(place int) format {
	clear(w[place:])
	return w
}

// change closes tags that are not wanted, and opens the others.
func (f *flow) change(b *strings.Builder, open, want format) {
	same := open.common(want)
	for i := len(open) - 1; i >= same; i-- {
		if open[i] != 0 {
			b.WriteString(f.tag(i, open[i], true))
		}
	}
	for i := same; i < len(want); i++ {
		if want[i] != 0 {
			b.WriteString(f.tag(i, want[i], false))
		}
	}
}

// tag opens or closes one place of a format.
func (f *flow) tag(place int, value uint32, closing bool) string {
	switch place {
	case inCode:
		lang := language(f.codes[value-1])
		switch {
		case lang == "" && closing:
			return "</pre>"
		case lang == "":
			return "<pre>"
		case closing:
			return "</code></pre>"
		}
		return `<pre><code class="language-` + lang + `">`
	case inLink:
		if closing {
			return "</a>"
		}
		return `<a href="` + TelegramEscape(f.links.marks[value-1].to) + `">`
	}
	name := [...]string{inQuote: "blockquote", inStrike: "s", inBold: "b", inItalic: "i", inUnderline: "u", inSpan: "code"}[place]
	if closing {
		return "</" + name + ">"
	}
	if place == inQuote && value == uint32(quoteFolded) {
		return "<blockquote expandable>"
	}
	return "<" + name + ">"
}

// tagBytes is at least as long as the tags that open a format from place on
// and close it again.
func (f *flow) tagBytes(w format, place int) int {
	n := 0
	for i := place; i < len(w); i++ {
		switch {
		case w[i] == 0:
		case i == inLink:
			n += 2*len(f.links.marks[w[i]-1].to) + len(`<a href=""></a>`)
		case i == inCode:
			n += len(f.codes[w[i]-1]) + len(`<pre><code class="language-"></code></pre>`)
		default:
			n += len("<blockquote expandable></blockquote>")
		}
	}
	return n
}
