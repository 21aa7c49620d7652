package markdown

import (
	"strings"

	extast "github.com/yuin/goldmark/extension/ast"
)

// Limits of a part for Slack (docs.slack.dev/reference/block-kit/blocks): Slack
// refuses markdown_text of more than 12,000 characters, tables of more than 100
// rows or 20 columns, and tables of more than 10,000 characters in a message.
const (
	slackUnits      = 12_000
	slackReserve    = 1_800 // of it for marks that are closed and opened again
	slackLine       = 6_000
	slackHead       = 1_200 // of it for the head of a table
	slackTableText  = 9_000
	maxTableRows    = 100
	maxTableColumns = 20
)

var slackStyle = flowStyle{
	bullets:  []string{"- "},
	task:     "- ",
	quote:    "> ",
	headings: true,
	cells:    true,
	columns:  100,
}

// Slack shows Markdown as Slack's messages, in order and none of them blank.
// MarkdownText is Markdown of at most 12,000 UTF-16 units: a code block that
// is cut is closed and opened again, the head of a cut table is repeated. Blocks
// shows code and one table in Slack's own form, where it needs no marks. Markdown
// mentions no one and loads no image; unknown HTML and links other than http and https
// are shown as text. The host follows a link unless its text shows it. Text is
// the same without markup; SlackEscape makes it fit for Slack's text. No part
// of the text is lost. No text gives no parts.
func Slack(markdown string) []Part {
	f := newFlow(markdown, slackStyle, &links{})
	s := slackWriter{flow: f, all: f.slackLines()}
	s.measureFences()
	parts := []Part{}
	for from := 0; from < len(s.all); {
		to := s.end(from)
		text := s.plain(from, to)
		if !blank(text) {
			parts = append(parts, Part{Text: text, MarkdownText: s.markdown(from, to), Blocks: s.blocks(from, to)})
		}
		from = to
	}
	return parts
}

// SlackEscape makes plain text safe in a text field of Slack, which knows the
// same three escapes as Telegram.
func SlackEscape(text string) string { return TelegramEscape(text) }

// slackText is one line of a message for Slack, or a piece of a very long one.
type slackText struct {
	*line
	text   string // as Markdown, without its lead
	pieces []span // of a text or code line
	plain  string
	glue   string // between it and the one before, if not a line break
	cut    bool   // it continues the line before
	first  bool   // the first line of its code block or table
}

// slackLines writes the lines of a document.
func (f *flow) slackLines() []slackText {
	all := make([]slackText, 0, len(f.lines))
	for i := range f.lines {
		l := &f.lines[i]
		t := slackText{line: l, first: l.above != sameBlock}
		switch l.kind {
		case rowLine:
			t.text, t.plain = f.row(l.cells)
			all = append(all, t)
			continue
		case ruleLine:
			t.text, t.plain = "---", "---"
			all = append(all, t)
			continue
		}
		pieces := []chunk{{spans: l.spans}}
		if !f.style.rich {
			pieces = f.chunks(l)
		}
		for j, piece := range pieces {
			if j > 0 {
				t.cut, t.glue, t.first = true, piece.glue, false
			}
			t.pieces, t.plain = piece.spans, f.plainSpans(piece.spans)
			if l.kind == codeLine {
				if t.text = f.breakMentions(t.plain); ticks(t.text) >= maxFence && !f.style.rich {
					t.text = "\u2060" + t.text
				}
			} else {
				t.text = f.inlineText(piece.spans, false)
			}
			if l.kind == codeLine && t.first {
				if info := f.codes[l.block-1]; info != "" && language(info) == "" {
					t.plain = "[" + info + "]\n" + t.plain
				}
			}
			all = append(all, t)
		}
	}
	return all
}

// row writes one row of a table.
func (f *flow) row(cells [][]span) (text, plain string) {
	var b, p strings.Builder
	b.WriteString("|")
	for i, cell := range cells {
		cell = oneLineSpans(cell)
		b.WriteString(" " + f.inlineText(cell, true) + " |")
		if i > 0 {
			p.WriteString(" | ")
		}
		p.WriteString(f.plainSpans(cell))
	}
	return b.String(), p.String()
}

// oneLineSpans turns line breaks into spaces.
func oneLineSpans(spans []span) []span {
	out := make([]span, len(spans))
	for i, s := range spans {
		out[i] = span{strings.ReplaceAll(s.text, "\n", " "), s.look}
	}
	return out
}

// delimiter is the line below the head of a table.
func delimiter(align []extast.Alignment) string {
	var b strings.Builder
	b.WriteString("|")
	rulers := map[extast.Alignment]string{extast.AlignLeft: ":--", extast.AlignRight: "--:", extast.AlignCenter: ":-:", extast.AlignNone: "---"}
	for _, a := range align {
		b.WriteString(" " + rulers[a] + " |")
	}
	return b.String()
}

// chunk is a piece of a line.
type chunk struct {
	spans []span
	glue  string
}

// chunks cuts a line whose Markdown may be too long for one part, after words
// where possible.
func (f *flow) chunks(l *line) []chunk {
	spans := l.spans
	all := []chunk{{spans: spans}}
	budget := slackLine
	for i := 0; i < len(spans); i++ {
		s := spans[i]
		if budget -= f.cost(s); budget >= 0 {
			continue
		}
		last := &all[len(all)-1]
		n, glue := len(s.text), ""
		if m := f.links.of(s.look); m == nil || !m.isNote && !m.isAddress {
			n, glue = cutSpan(s, (budget+5*units(s.text))/5, l.kind == codeLine)
		}
		done := len(last.spans) - (len(spans) - i)
		rest := append([]span{{s.text[n:], s.look}}, spans[i+1:]...)
		last.spans = append(last.spans[:done:done], span{s.text[:n], s.look})
		all = append(all, chunk{rest, glue})
		spans, i, budget = rest, -1, slackLine
	}
	return all
}

// cost is an upper bound of a span's length as Markdown.
func (f *flow) cost(s span) int {
	n := 5*units(s.text) + 16
	if m := f.links.of(s.look); m != nil {
		n += 2 * len(m.to)
		if m.isNote {
			n += len(m.plain)
		}
	}
	return n
}

// cutSpan returns where to cut a span of which room units fit, and the text that
// joins its halves: adjacent marks would be read as other marks.
func cutSpan(s span, room int, inCode bool) (n int, glue string) {
	fits := prefixUnits(s.text, max(room, 2))
	if n = afterWord(s.text[:fits]); n > 0 && s.text[n-1] == ' ' && s.look&code == 0 {
		return n, " "
	}
	if n = clusterEnd(s.text, fits); s.look != 0 && !inCode {
		return n, "\n"
	}
	return n, ""
}

// slackWriter cuts the lines of a document into parts and writes them.
type slackWriter struct {
	*flow
	all    []slackText
	fences []int // lengths of the fences of the code blocks, from 3
}

// end is where the part ends that starts at from: before a paragraph or a line
// when the part is at least half full, else where it is full.
func (s *slackWriter) end(from int) int {
	used, rows, cells, groups := slackReserve, 0, 0, 0
	paragraph, middle := 0, 0
	for i := from; i < len(s.all); i++ {
		t := &s.all[i]
		rows++
		if t.kind == rowLine {
			if t.first {
				rows = 1
			}
			cells += units(t.plain)
		} else {
			rows = 0
		}
		if i == from || groupOf(t, 0) != groupOf(&s.all[i-1], 0) {
			groups++
		}
		size := s.size(t)
		if i > from && (groups > maxGroups || used+size > slackUnits || rows >= maxTableRows || cells > slackTableText) {
			switch {
			case paragraph > 0:
				return paragraph
			case middle > 0 && t.cut:
				return middle
			}
			return i
		}
		if used > slackUnits/2 && !t.cut && i > from && !s.introduces(i-1) {
			middle = i
			if t.above == blankLine {
				paragraph = i
			}
		}
		used += size
	}
	return len(s.all)
}

// size is an upper bound of a line's length in a part.
func (s *slackWriter) size(t *slackText) int {
	n := units(t.text) + len(t.lead) + len(t.blank) + len(t.rest) + 3 + t.level
	switch {
	case !t.first:
	case t.kind == codeLine:
		n += 2*(maxFence+len(t.rest)+1) + len(s.codes[t.block-1])
	case t.kind == rowLine:
		n += 2*len(delimiter(t.align)) + len(t.rest)
	}
	return n
}

// introduces reports whether a line belongs to the one below, as a heading does.
func (s *slackWriter) introduces(i int) bool {
	t := &s.all[i]
	return t.kind == textLine && (t.level > 0 || strings.HasSuffix(t.plain, ":"))
}

// plain writes a part without markup.
func (s *slackWriter) plain(from, to int) string {
	var b strings.Builder
	for i, t := range s.all[from:to] {
		switch {
		case i == 0:
		case t.cut:
			b.WriteString(t.glue + t.plain)
			continue
		case t.above == blankLine:
			b.WriteString("\n\n")
		default:
			b.WriteString("\n")
		}
		b.WriteString(strings.TrimLeft(t.lead, leadCutset(i == 0)))
		b.WriteString(t.plain)
	}
	return strings.TrimRight(b.String(), " \n")
}

// leadCutset is the cutset for the indentation of a part's first line.
func leadCutset(first bool) string {
	if first {
		return " "
	}
	return ""
}

// markdown writes a part as Markdown.
func (s *slackWriter) markdown(from, to int) string {
	var b strings.Builder
	less := indentOf(s.all[from].lead) // a part starts at the margin
	for i := from; i < to; i++ {
		t := &s.all[i]
		lead, rest := dedent(t.lead, less), dedent(t.rest, less)
		if t.lead == lead {
			less = 0
		}
		if i > from {
			if t.cut {
				b.WriteString(t.glue)
				if t.glue == "\n" {
					b.WriteString(rest)
				}
				b.WriteString(t.text)
				s.close(&b, i, to, rest)
				continue
			}
			b.WriteByte('\n')
			if t.above == blankLine {
				b.WriteString(t.blank + "\n")
			}
		}
		b.WriteString(lead)
		s.open(&b, i, i == from, rest)
		b.WriteString(strings.Repeat("#", t.level))
		if t.level > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(t.text)
		s.close(&b, i, to, rest)
	}
	return strings.TrimRight(b.String(), " \n")
}

// open writes the opening of a code block or table that starts here, or continues
// from the part before.
func (s *slackWriter) open(b *strings.Builder, i int, again bool, rest string) {
	t := &s.all[i]
	switch {
	case t.kind == codeLine && (t.first || again):
		b.WriteString(s.fence(t.block) + strings.ReplaceAll(s.breakMentions(s.codes[t.block-1]), "`", "'") + "\n" + rest)
	case t.kind == rowLine && again && !t.first:
		for j := i; j >= 0; j-- {
			if head := &s.all[j]; head.first && head.block == t.block && head.kind == rowLine {
				b.WriteString(head.text + "\n" + rest + delimiter(t.align) + "\n" + rest)
				break
			}
		}
	}
}

// close writes the text after a line: the end of a code block that ends here or
// with the part, the line below the head of a table, or a line break inside a
// paragraph.
func (s *slackWriter) close(b *strings.Builder, i, to int, rest string) {
	t := &s.all[i]
	more := i+1 < to
	switch t.kind {
	case codeLine:
		if next := i + 1; !more || s.all[next].block != t.block || s.all[next].kind != codeLine {
			b.WriteString("\n" + rest + s.fence(t.block))
		}
	case rowLine:
		if t.first {
			b.WriteString("\n" + rest + delimiter(t.align))
		}
	case textLine:
		if t.more && more && !s.all[i+1].cut {
			b.WriteString("  ")
		}
	}
}

// maxFence is the longest fence. A line of code that would close even that one
// gets an invisible mark.
const maxFence = 12

// measureFences chooses the length of each code block's fence: longer than any
// that its lines start with.
func (s *slackWriter) measureFences() {
	s.fences = make([]int, len(s.codes))
	for i := range s.all {
		if t := &s.all[i]; t.kind == codeLine {
			n := &s.fences[t.block-1]
			*n = max(*n, 3, ticks(t.text)+1)
			if !s.style.rich {
				*n = min(*n, maxFence)
			}
		}
	}
}

// fence is the mark around a code block.
func (s *slackWriter) fence(block int) string { return strings.Repeat("`", s.fences[block-1]) }

// ticks is how many backticks a line starts with, after its indentation.
func ticks(text string) int {
	text = strings.TrimLeft(text, " \t")
	return len(text) - len(strings.TrimLeft(text, "`"))
}

// indentOf is how many spaces a lead starts with.
func indentOf(lead string) int { return len(lead) - len(strings.TrimLeft(lead, " ")) }

// dedent drops up to n spaces at the start of a lead.
func dedent(lead string, n int) string { return lead[min(n, indentOf(lead)):] }
