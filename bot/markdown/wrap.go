package markdown

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// look is the style of a text: a set of bits and, above them, the number of its
// mark, or 0 for none.
type look uint64

const (
	bold look = 1 << iota
	italic
	underline
	strike
	dim
	code
	link
	tag // of HTML; only until applyTags

	markShift = iota
)

// sgr are the ANSI codes of the bits of a look, in their order.
const sgr = "1 3 4 9 2 36 34"

// span is text in one look.
type span struct {
	text string
	look look
}

// write adds s to b, with its look when color is set.
func (s span) write(b *strings.Builder, color bool) {
	if !color || s.look == 0 {
		b.WriteString(s.text)
		return
	}
	b.WriteString("\x1b[")
	sep := ""
	for i, c := range strings.Fields(sgr) {
		if s.look&(1<<i) != 0 {
			b.WriteString(sep + c)
			sep = ";"
		}
	}
	b.WriteString("m" + s.text + "\x1b[0m")
}

// wrapper breaks spans into lines of at most width columns: at spaces, between
// East Asian characters, and inside a word only when it is longer than a line.
type wrapper struct {
	width int
	lines [][]span
	line  []span
	used  int // columns of line

	space     span // between line and word
	word      []span
	wordWidth int
	end       wordEnd
}

// wordEnd is the kind of a word's last character; it decides whether a line may
// break after it.
type wordEnd uint8

const (
	endNarrow wordEnd = iota
	endWide
	endOpen // an opening bracket: no break after it
)

// wrap breaks spans into lines; newlines in them always break. A width of 0
// means no limit. Spaces at a break are dropped.
func wrap(spans []span, width int) [][]span {
	w := wrapper{width: width}
	for _, s := range spans {
		w.add(s)
	}
	w.flush()
	if len(w.line) > 0 || len(w.lines) == 0 {
		w.lines = append(w.lines, w.line)
	}
	return w.lines
}

func (w *wrapper) add(s span) {
	if w.width == 0 {
		w.addWhole(s)
		return
	}
	text := s.text
	for text != "" {
		switch text[0] {
		case '\n':
			w.flush()
			w.newline()
			text = text[1:]
			continue
		case ' ':
			n := len(text) - len(strings.TrimLeft(text, " "))
			w.flush()
			w.space.text += text[:n]
			w.space.look = s.look
			text = text[n:]
			continue
		}
		n := narrowRun(text)
		if n > 0 {
			w.addNarrow(text[:n], n, s.look)
			text = text[n:]
			continue
		}
		n = strings.IndexAny(text, " \n")
		if n < 0 {
			n = len(text)
		}
		n = max(n, 1)
		w.addClusters(text[:n], s.look)
		text = text[n:]
	}
}

// addWhole adds a span when there is no limit.
func (w *wrapper) addWhole(s span) {
	for i, text := range strings.Split(s.text, "\n") {
		if i > 0 {
			w.newline()
		}
		w.put(span{text, s.look}, 0)
	}
}

// narrowRun is the length of the ASCII word that text starts with. Without
// its last character when a combining mark may follow it.
func narrowRun(text string) int {
	i := 0
	for i < len(text) && text[i] > ' ' && text[i] < 0x7f {
		i++
	}
	if i < len(text) && text[i] >= 0x80 {
		i--
	}
	return max(i, 0)
}

func (w *wrapper) addNarrow(text string, width int, l look) {
	if w.end == endWide && !strings.ContainsAny(text[:1], ".,;:!?)]}%'\"") {
		w.flush()
	}
	w.word = append(w.word, span{text, l})
	w.wordWidth += width
	w.end = endNarrow
	if strings.ContainsAny(text[len(text)-1:], "([{") {
		w.end = endOpen
	}
}

func (w *wrapper) addClusters(text string, l look) {
	pos, start, narrow := 0, 0, 0 // of the clusters before and their columns
	put := func() {
		if start < pos {
			w.addNarrow(text[start:pos], narrow, l)
		}
		narrow = 0
	}
	g := displaywidth.StringGraphemes(text)
	for g.Next() {
		c, width := g.Value(), g.Width()
		if width < 2 {
			pos, narrow = pos+len(c), narrow+width
			continue
		}
		put()
		if !strings.Contains(closers, c) && w.end != endOpen {
			w.flush()
		}
		w.word = append(w.word, span{c, l})
		w.wordWidth += width
		w.end = endWide
		if strings.Contains(openers, c) {
			w.end = endOpen
		}
		pos += len(c)
		start = pos
	}
	put()
}

// Characters that East Asian typesetting keeps off the start and the end of a
// line.
const (
	closers = "，。、！？：；）」』】》〉〕”’ー…"
	openers = "（「『【《〈〔“‘"
)

// flush puts the word on the line, or on the next one.
func (w *wrapper) flush() {
	if len(w.word) == 0 {
		return
	}
	if w.width > 0 && w.used > 0 && w.used+len(w.space.text)+w.wordWidth > w.width {
		w.newline()
	}
	if w.space.text != "" && w.used > 0 {
		w.put(w.space, len(w.space.text))
	}
	w.space = span{}
	if w.width > 0 && w.wordWidth > w.width {
		w.splitWord()
	} else {
		for _, s := range w.word {
			w.put(s, 0)
		}
		w.used += w.wordWidth
	}
	w.word, w.wordWidth, w.end = w.word[:0], 0, endNarrow
}

// splitWord puts a word that is longer than a line, broken where it must be.
func (w *wrapper) splitWord() {
	for _, s := range w.word {
		start, g := 0, displaywidth.StringGraphemes(s.text)
		pos := 0
		for g.Next() {
			if w.used > 0 && w.used+g.Width() > w.width {
				w.put(span{s.text[start:pos], s.look}, 0)
				w.newline()
				start = pos
			}
			pos += len(g.Value())
			w.used += g.Width()
		}
		w.put(span{s.text[start:], s.look}, 0)
	}
}

// put adds s to the line, and joins it to a span of the same look.
func (w *wrapper) put(s span, width int) {
	w.used += width
	if s.text == "" && s.look>>markShift == 0 {
		return
	}
	if n := len(w.line); n > 0 && w.line[n-1].look == s.look {
		w.line[n-1].text += s.text
		return
	}
	w.line = append(w.line, s)
}

func (w *wrapper) newline() {
	w.lines = append(w.lines, w.line)
	w.line, w.used, w.space = nil, 0, span{}
}

// lineWidth is the number of columns that a line takes.
func lineWidth(line []span) int {
	n := 0
	for _, s := range line {
		n += displaywidth.String(s.text)
	}
	return n
}
