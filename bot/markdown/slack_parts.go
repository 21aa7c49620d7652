package markdown

import (
	"strings"
)

// slackWriter cuts the lines of a document into parts and writes them.
type slackWriter struct {
	*flow
	all    []slackText
	fences []int // lengths of the fences of the code blocks, from 3
}

// end is where the part ends that starts at from: before a paragraph or a line
// when the part is at least half full, else where it is full.
func (s *slackWriter) end(from int) int {
	used, rows, cells := slackReserve, 0, 0
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
		size := s.size(t)
		if i > from && (used+size > slackUnits || rows >= maxTableRows || cells > slackTableText) {
			switch {
			case paragraph > 0:
				return paragraph
			case middle > 0 && t.cut:
				return middle
			}
			return i
		}
		if used > slackUnits/2 && !t.cut && i > from && !s.leads(i-1) {
			middle = i
			if t.above == blankLine {
				paragraph = i
			}
		}
		used += size
	}
	return len(s.all)
}

// size is at least what a line takes in a part.
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

// leads reports whether a line speaks of the one below, as a heading does.
func (s *slackWriter) leads(i int) bool {
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
		b.WriteString(strings.TrimLeft(t.lead, dropIf(i == 0)))
		b.WriteString(t.plain)
	}
	return strings.TrimRight(b.String(), " \n")
}

// dropIf is the cutset for the indentation of a part's first line.
func dropIf(first bool) string {
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

// open writes what comes before a line of a code block or table that starts
// here or goes on from the part before.
func (s *slackWriter) open(b *strings.Builder, i int, again bool, rest string) {
	t := &s.all[i]
	switch {
	case t.kind == codeLine && (t.first || again):
		b.WriteString(s.fence(t.block) + strings.ReplaceAll(harmless(s.codes[t.block-1]), "`", "'") + "\n" + rest)
	case t.kind == rowLine && again && !t.first:
		for j := i; j >= 0; j-- {
			if head := &s.all[j]; head.first && head.block == t.block && head.kind == rowLine {
				b.WriteString(head.text + "\n" + rest + delimiter(t.align) + "\n" + rest)
				break
			}
		}
	}
}

// close writes what comes after a line: the end of a code block that ends here
// or with the part, the line below the head of a table, or a line break inside
// a paragraph.
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

// maxFence is the longest fence; a line of code that would close even that one
// is told apart by an invisible mark.
const maxFence = 12

// measureFences chooses the length of each code block's fence: longer than any
// that its lines start with.
func (s *slackWriter) measureFences() {
	s.fences = make([]int, len(s.codes))
	for i := range s.all {
		if t := &s.all[i]; t.kind == codeLine {
			n := &s.fences[t.block-1]
			*n = max(*n, 3, min(ticks(t.text)+1, maxFence))
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
