package markdown

import (
	"regexp"
	"strings"
)

var (
	// detailsStart is a line that begins a folded part: nothing but its title follows.
	detailsStart = regexp.MustCompile(`(?i)^( *)<details(?: open)?>\s*((?:<summary>.*)?)$`)
	detailsEnd   = regexp.MustCompile(`(?i)</details>\s*$`)
	// alert is the line of a quotation with which GitHub's alerts begin.
	alert = regexp.MustCompile(`(?i)^((?: *(?:[-*+]|\d{1,9}[.)]) +)?(?: *> ?)+)\[!(note|tip|important|warning|caution)\](\s|$)`)
)

// prepare rewrites lines outside of code that the parser would misread: a folded part
// (<details>) becomes a quotation that begins with its tag, a list that is indented
// less than the text above it, but by two spaces or more, becomes a list inside that
// item, the mark of an alert becomes a bold word, and a bar in the code of a table's cell
// is escaped.
func prepare(src string) string {
	if !strings.Contains(src, "<") && !strings.Contains(src, "\n  ") && !strings.Contains(src, "[!") && !strings.Contains(src, "`") {
		return src
	}
	var details folded
	var items indents
	var table codeCells
	return rewriteLines(src, func(rest, line string, inCode bool) (string, int) {
		text := line
		if !inCode {
			text = alert.ReplaceAllString(text, "${1}**${2}**${3}")
		}
		text, ok := details.quote(table.escape(rest, text, inCode), inCode)
		switch {
		case !ok:
			text = ""
		case details.quoted, inCode:
			text = items.follow(text)
		default:
			text = items.shift(text)
		}
		return text, len(line)
	})
}

// rewriteLines rewrites a document. rewrite gets the rest of the document from a line on,
// that line, and whether it is code or the fence of code. It returns what to write, and
// how many bytes of the rest, in whole lines, that replaces.
func rewriteLines(src string, rewrite func(rest, line string, inCode bool) (text string, n int)) string {
	var b strings.Builder
	b.Grow(len(src) + len(src)/8)
	var open fence
	for src != "" {
		line := src[:lineStop(src, 0)]
		was := open.mark
		open = open.after(strings.TrimSuffix(line, "\n"))
		text, n := rewrite(src, line, was != "" || open.mark != "")
		b.WriteString(text)
		src = src[n:]
	}
	return b.String()
}

// maxCodeRow is the longest row of a table whose code is searched for bars, in bytes.
const maxCodeRow = 2 << 10

// codeCells follows the tables of a document. A bare bar ends a cell even inside of code.
// Where a row has too many cells by that, and the right number without the bars in its
// code, its writer means code.
type codeCells struct {
	columns, quotes int // of the table; no columns outside of one
}

// escape returns a line with escaped bars in its code if it is such a row. rest is the
// document from that line on.
func (c *codeCells) escape(rest, line string, inCode bool) string {
	text, quotes := unquote(line, maxDepth)
	if quotes != c.quotes || inCode || strings.TrimSpace(text) == "" || startsBlock(text) {
		c.columns, c.quotes = 0, quotes
	}
	if c.columns == 0 && !inCode {
		at := lineStop(rest, 0)
		ruler, within := unquote(rest[at:lineStop(rest, at)], quotes)
		if within == quotes && strings.Contains(ruler, "-") && strings.Contains(ruler, "|") && strings.Trim(ruler, "|-: \t\n") == "" {
			c.columns = countCells(ruler)
		}
	}
	if c.columns == 0 || len(text) > maxCodeRow || !strings.Contains(text, "`") {
		return line
	}
	if m, ok := readListMark(text); ok {
		text = text[m.room:]
	}
	escaped := escapeCode(text)
	if countCells(text) <= c.columns || countCells(escaped) != c.columns {
		return line
	}
	return strings.TrimSuffix(line, text) + escaped
}

// countCells is how many cells a row of a table has.
func countCells(row string) int {
	row = strings.TrimPrefix(strings.TrimSpace(row), "|")
	cells, open := 0, false
	for i := 0; i < len(row); i++ {
		switch row[i] {
		case '|':
			cells++
			open = false
			continue
		case '\\':
			i++
		}
		open = true
	}
	if open {
		cells++
	}
	return cells
}

// escapeCode escapes the bars in the code of a row.
func escapeCode(row string) string {
	var b strings.Builder
	for i := 0; i < len(row); {
		from, n := i, 1
		switch row[i] {
		case '\\':
			n = min(2, len(row)-i)
		case '`':
			n = run(row, i)
			if end := codeEnd(row, i+n, n); end > 0 {
				n = end - i
			}
		}
		i += n
		text := row[from:i]
		if text[0] == '`' {
			text = strings.ReplaceAll(strings.ReplaceAll(text, `\|`, "|"), "|", `\|`)
		}
		b.WriteString(text)
	}
	return b.String()
}

// folded follows the folded parts of a document.
type folded struct {
	depth  int
	margin string // of the outermost one
	titled bool   // a title may follow
	ended  bool   // the line before ended it
	quoted bool   // the latest line is part of it
}

// quote returns a line, as part of a quotation where it is folded; ok is false when
// nothing is left of it.
func (f *folded) quote(line string, inCode bool) (_ string, ok bool) {
	ended := f.ended
	f.ended = false
	if !inCode {
		if m := detailsStart.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			if f.depth++; f.depth == 1 {
				f.margin, f.titled = m[1], true
			}
			line = f.margin + m[2] + "\n"
		}
		if f.depth > 0 && detailsEnd.MatchString(line) {
			f.depth--
			f.ended = f.depth == 0
			line = detailsEnd.ReplaceAllString(line, "\n")
		}
	}
	f.quoted = f.depth > 0 || f.ended
	text := strings.TrimPrefix(line, f.margin)
	blank := strings.TrimSpace(text) == ""
	switch {
	case f.quoted && blank && (f.titled || f.ended):
		return "", false
	case f.quoted:
		if f.titled && strings.HasPrefix(strings.ToLower(text), "<summary>") {
			text = "<details>" + text
		}
		f.titled = false
		return f.margin + "> " + text, true
	case ended && !blank && !startsBlock(line):
		return "\n" + line, true // otherwise it would be part of the quotation
	}
	return line, true
}

// indents follows the lists of a document, to indent lists that are not indented enough.
type indents struct {
	marker, text int // columns of the marker and the text of the item above, as written
	in           bool
	from, by     int // lines that are indented by from or more are shifted by that many
}

// shift returns a line, indented further where it belongs to a list inside an item.
func (n *indents) shift(line string) string {
	m, ok := readListMark(line)
	if !ok {
		if line[0] != ' ' && strings.TrimSpace(line) != "" {
			*n = indents{} // the list is over
		}
		return n.follow(line)
	}
	if m.column < n.from {
		n.from, n.by = 0, 0
	}
	if n.by == 0 && n.in && m.column >= n.marker+2 && m.column < n.text {
		n.from, n.by = m.column, n.text-m.column
	} else if n.by == 0 {
		n.in, n.marker, n.text = true, m.column, m.room
	}
	return n.follow(line)
}

// follow shifts a line that belongs to a shifted list.
func (n *indents) follow(line string) string {
	if n.by > 0 && strings.TrimSpace(line) != "" && len(line)-len(strings.TrimLeft(line, " ")) >= n.from {
		return strings.Repeat(" ", n.by) + line
	}
	return line
}
