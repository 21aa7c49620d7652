package markdown

import (
	"strings"

	extast "github.com/yuin/goldmark/extension/ast"
)

// slackText is one line of a message for Slack, or a piece of a very long one.
type slackText struct {
	*line
	text  string // as Markdown, without its lead
	plain string
	glue  string // what stands between it and the one before, when no line break
	cut   bool   // it goes on with the line before
	first bool   // the first line of its code block or table
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
		for j, piece := range f.chunks(l) {
			if j > 0 {
				t.cut, t.glue, t.first = true, piece.glue, false
			}
			t.plain = f.plainSpans(piece.spans)
			if l.kind == codeLine {
				if t.text = harmless(t.plain); ticks(t.text) >= maxFence {
					t.text = "\u2060" + t.text
				}
			} else {
				t.text = f.inlineText(piece.spans, false)
			}
			if l.kind == codeLine && t.first && f.codes[l.block-1] != "" {
				t.plain = "[" + f.codes[l.block-1] + "]\n" + t.plain
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
	for _, a := range align {
		switch a {
		case extast.AlignLeft:
			b.WriteString(" :-- |")
		case extast.AlignRight:
			b.WriteString(" --: |")
		case extast.AlignCenter:
			b.WriteString(" :-: |")
		default:
			b.WriteString(" --- |")
		}
	}
	return b.String()
}

// chunk is a piece of a line.
type chunk struct {
	spans []span
	glue  string
}

// chunks cuts a line whose Markdown may be too long for one part, after words
// where it can.
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
		if m := f.links.of(s.look); m == nil || !m.aside && !m.self {
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

// cost is at least what a span takes as Markdown.
func (f *flow) cost(s span) int {
	n := 5*units(s.text) + 16
	if m := f.links.of(s.look); m != nil {
		n += 2 * len(m.to)
		if m.aside {
			n += len(m.plain)
		}
	}
	return n
}

// cutSpan says where a span of which room units fit is cut, and what then
// joins its halves: marks that meet would be read as others.
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
