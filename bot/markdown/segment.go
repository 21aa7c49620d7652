package markdown

import (
	"strings"
	"unicode/utf8"
)

// maxSegment is the most bytes that are parsed at once. The parser takes quadratic
// time on hostile text, so short pieces bound the time.
const maxSegment = 16 << 10

// riskySegment is the bound for text that is mostly markup.
const riskySegment = 512

// segment is a piece of a document that is parsed separately.
type segment struct {
	text    string
	apart   bool // a blank line was between it and the one before
	inCode  bool // it continues the code block in which the one before ended
	inQuote bool // it continues the quotation in which the one before ended
}

// segments splits a document into pieces within the bounds: at a blank line
// before unindented text where there is one, else at a line, else anywhere. A
// code fence that is cut is closed and opened again, inside of the same quotations and
// list items, the head of a table is repeated, and so is the mark of a quotation in
// whose line the cut is.
func segments(src string) []segment {
	src = strings.ToValidUTF8(src, "\uFFFD")
	if strings.Contains(src, "\r") {
		src = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(src)
	}
	src = prepare(htmlToMarkdown(joinFormulas(splitClosings(src))))
	limit := maxSegment
	if risky(src) {
		limit = riskySegment
	}
	var all []segment
	var open cutBlock
	apart := false
	for src != "" {
		n, next, blank := cut(src, open, limit)
		text := src[:n]
		if open.head != "" && strings.HasPrefix(text, "|") {
			text = open.head + text
		}
		if open.inLine && open.fence.mark != "" {
			text = strings.Repeat(" ", open.fence.column) + text
		}
		if open.inLine {
			text = open.fence.quote() + text
		}
		inQuote := open.fence.quotes > 0 && strings.HasPrefix(text, ">")
		if open.fence.mark != "" {
			text = open.fence.opening() + text
		}
		all = append(all, segment{text: text, apart: apart, inCode: open.fence.mark != "", inQuote: inQuote})
		src, open, apart = src[n:], next, blank
	}
	return all
}

// cutBlock is the block that continues after a cut: an open code fence, or a table.
type cutBlock struct {
	fence  fence
	head   string // the head of the table and its ruler
	inLine bool   // the cut is inside a line
}

// cut returns the length of the next piece of src, the block that continues after
// it, and whether a blank line ends it.
func cut(src string, from cutBlock, limit int) (n int, open cutBlock, blank bool) {
	var pos, block, lineEnd, blankEnd int
	current, wasBlank := from.fence, false
	for pos < len(src) {
		end := lineStop(src, pos)
		line := strings.TrimSuffix(src[pos:end], "\n")
		if wasBlank && current.mark == "" && line != "" && line[0] != ' ' && line[0] != '\t' {
			blankEnd = pos
		}
		if end > limit {
			break
		}
		was := current.mark
		if from.inLine && pos == 0 {
			line = from.fence.quote() + line
		}
		current = current.after(line)
		if wasBlank = strings.TrimSpace(line) == ""; wasBlank {
			block = end
		}
		if pos = end; current.mark == "" || was != "" && !wasBlank { // a cut in code comes after a line of it
			lineEnd, open = end, cutBlock{fence: current, head: src[block:end]}
		}
	}
	switch {
	case pos == len(src):
		return pos, cutBlock{}, false
	case blankEnd > 0:
		return blankEnd, cutBlock{}, true
	case lineEnd > 0:
		first := len(open.head) == lineEnd // the block is the first one of the piece
		open.head = tableHead(open.head)
		if first && src[0] == '|' {
			open.head += from.head // the table that this piece continues
		}
		return lineEnd, open, false
	}
	if current.mark == "" && (!from.inLine || pos > 0) {
		_, current.quotes = unquote(src[pos:], maxDepth)
	}
	return pos + cutLine(src[pos:], limit-pos), cutBlock{fence: current, inLine: true}, false
}

// tableHead is the head and the ruler of block, if it is a table and the head is
// not too long.
func tableHead(block string) string {
	if !inTable(block) {
		return ""
	}
	head := lineStop(block, lineStop(block, 0))
	if head > riskySegment/2 {
		return ""
	}
	return block[:head]
}

// lineStop is where the line that starts at pos ends, its newline included.
func lineStop(src string, pos int) int {
	if i := strings.IndexByte(src[pos:], '\n'); i >= 0 {
		return pos + i + 1
	}
	return len(src)
}

// cutLine finds a place inside a line that is too long: after its last space
// before limit, else between two characters, and not behind the backslash that
// escapes one.
func cutLine(src string, limit int) int {
	if i := strings.LastIndexByte(src[:limit], ' '); i > limit/2 {
		return i + 1
	}
	for limit > 1 && !utf8.RuneStart(src[limit]) {
		limit--
	}
	n := clusterEnd(src, limit)
	if before := strings.TrimRight(src[:n], `\`); before != "" && (n-len(before))%2 == 1 {
		n--
	}
	return n
}

// risky reports whether more than a quarter of src is markup. Pipes and single
// dashes do not count: usual tables and lists are full of them.
func risky(src string) bool {
	marks := 0
	for i := range len(src) {
		switch src[i] {
		case '*', '_', '[', ']', '(', '!', '<', '>', '`', '~', '&', '\\', '+', '#', '@', '=', '.', ')':
			marks++
		case '-':
			if i+2 < len(src) && src[i+1] == ' ' && strings.IndexByte("-+*>", src[i+2]) >= 0 {
				marks++
			}
		}
	}
	return marks > riskySegment/2 && marks*4 > len(src)
}

// sparse reports whether a table in src would get far more cells than are written:
// the parser fills up short rows, so that a few bytes can become millions of cells.
func sparse(src string) bool {
	lines := strings.Count(src, "\n") + 1
	widest := 0
	for line := range strings.Lines(src) {
		widest = max(widest, strings.Count(line, "|"))
	}
	cells := widest * lines
	return cells > maxSegment/4 && cells > 4*strings.Count(src, "|")
}
