package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Partial makes a document that is still being written ready to show: it closes
// open markup, and omits text whose meaning is still open, such as the head of a
// table before its ruler, or half the address of a link. Of a finished document,
// only the last line can change.
func Partial(markdown string) string {
	s := splitClosings(dropHalfRune(markdown))
	var open fence
	tail := 0
	for pos := 0; pos < len(s); {
		stop := lineStop(s, pos)
		line := strings.TrimSuffix(s[pos:stop], "\n")
		was := open.mark
		open = open.after(line)
		if open.mark == "" && (was != "" || strings.TrimSpace(line) == "") {
			tail = stop
		}
		pos = stop
	}
	last := strings.LastIndexByte(s, '\n') + 1
	line, _ := unquote(s[last:], open.quotes)
	switch {
	case open.mark != "" && (fenceBegins(line, open.mark) || strings.HasPrefix(strings.TrimSpace(line), open.mark)):
		return s[:last]
	case open.mark != "":
		return s
	}
	return s[:tail] + partialBlock(s[tail:])
}

// dropHalfRune drops the first bytes of an incomplete character.
func dropHalfRune(s string) string {
	for i := 1; i < utf8.UTFMax && i <= len(s); i++ {
		if c := s[len(s)-i]; utf8.RuneStart(c) {
			if !utf8.FullRuneInString(s[len(s)-i:]) {
				return s[:len(s)-i]
			}
			break
		}
	}
	return s
}

// startsBlock reports whether line starts a list item, a quote or a heading.
func startsBlock(line string) bool {
	line = strings.TrimLeft(line, " \t")
	mark := strings.TrimLeft(line, "0123456789")
	switch {
	case len(mark) < len(line):
		return strings.HasPrefix(mark, ". ") || strings.HasPrefix(mark, ") ")
	case line == "":
		return false
	case line[0] == '#':
		return strings.HasPrefix(strings.TrimLeft(line, "#"), " ")
	}
	return strings.ContainsRune("-*+>", rune(line[0])) && strings.HasPrefix(line[1:], " ")
}

// undecided reports whether line holds only marks that may become the start of a
// list item, a ruler or a fence.
func undecided(line string) bool {
	line = strings.TrimLeft(line, " \t>")
	if kind, found := strings.CutPrefix(line, "[!"); found && language(strings.TrimSuffix(kind, "]")) == strings.TrimSuffix(kind, "]") {
		return true
	}
	if strings.Trim(line, "-*+_=#>`~:| \t") == "" {
		return true
	}
	if mark := strings.TrimLeft(line, "0123456789"); len(mark) < len(line) {
		return mark == "" || mark == "." || mark == ")"
	}
	if !startsBlock(line) {
		return false
	}
	switch strings.TrimSpace(line[1:]) {
	case "[", "[ ]", "[x", "[X", "[x]", "[X]":
		return true
	}
	return false
}

// partialBlock closes the last block of a document.
func partialBlock(block string) string {
	last := strings.LastIndexByte(block, '\n') + 1
	if undecided(block[last:]) && !inTable(block) && !inTable(block[:last]) {
		block = strings.TrimRight(block[:last], "\n")
		last = strings.LastIndexByte(block, '\n') + 1
	}
	if strings.HasPrefix(strings.TrimSpace(block), "|") {
		if !inTable(block) {
			return ""
		}
		return block[:last] + closeInline(block[last:])
	}
	start := last
	for start > 0 && !startsBlock(block[start:min(len(block), start+80)]) {
		start = strings.LastIndexByte(block[:start-1], '\n') + 1
	}
	return block[:start] + closeInline(block[start:])
}

// inTable reports whether block is a table whose ruler is written.
func inTable(block string) bool {
	lines := strings.SplitN(strings.TrimSpace(block), "\n", 3)
	return len(lines) > 1 && strings.HasPrefix(lines[0], "|") &&
		strings.Contains(lines[1], "-") && strings.Trim(lines[1], "|-: \t") == "" &&
		(len(lines) > 2 || strings.HasSuffix(block, "\n") || strings.Count(lines[1], "|") >= strings.Count(lines[0], "|"))
}

// closeInline closes the open markup in the text of one block.
func closeInline(s string) string {
	var open []string // marks of emphasis, outermost first
	bracket := -1
	i := 0
	for i < len(s) {
		switch c := s[i]; c {
		case '\\':
			if i+1 == len(s) {
				return closeWith(s[:i], open)
			}
			i += 2
		case '`':
			n := run(s, i)
			end := codeEnd(s, i+n, n)
			if end < 0 {
				return closeWith(s, append(open, s[i:i+n]))
			}
			i = end
		case '*', '_', '~':
			n := run(s, i)
			open = emphasis(open, s, i, n)
			i += n
		case '[':
			bracket = i
			i++
		case ']':
			end := linkEnd(s, i)
			if end < 0 && bracket >= 0 {
				return closeWith(dropBracket(s[:i], bracket), open)
			}
			if end > 0 {
				bracket = -1
			}
			i = max(end, i+1)
		default:
			i++
		}
	}
	if bracket >= 0 && !strings.Contains(s[bracket:], "]") {
		s = dropBracket(s, bracket)
	}
	return closeWith(s, open)
}

// run is how often the character at i is repeated.
func run(s string, i int) int {
	n := 1
	for i+n < len(s) && s[i+n] == s[i] {
		n++
	}
	return n
}

// codeEnd is where the code span ends that a run of n backticks opened before
// from, or -1.
func codeEnd(s string, from, n int) int {
	for i := from; i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		if k := run(s, i); k == n {
			return i + k
		} else {
			i += k
		}
	}
	return -1
}

// linkEnd is the end of the link whose text ends at i; i+1 when it is not a link,
// -1 when that is still open.
func linkEnd(s string, i int) int {
	if i+1 == len(s) {
		return -1
	}
	if s[i+1] != '(' {
		return i + 1
	}
	if n := strings.IndexByte(s[i:], ')'); n >= 0 {
		return i + n + 1
	}
	return -1
}

// dropBracket removes the mark of a link or an image and keeps its text, and the
// box of a task list.
func dropBracket(s string, at int) string {
	if box := s[at+1:]; box == " " || box == "x" || box == "X" {
		return s + "]"
	}
	text := s[at+1:]
	return strings.TrimSuffix(s[:at], "!") + text
}

// emphasis follows the marks of length n at i: they close the innermost equal
// ones, and drop the marks inside of them, or open new ones. A star between digits
// is a product.
func emphasis(open []string, s string, i, n int) []string {
	mark := s[i : i+n]
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[i+n:])
	spaceBefore := i == 0 || unicode.IsSpace(before)
	spaceAfter := i+n == len(s) || unicode.IsSpace(after)
	word := mark[0] == '_' && !spaceBefore && (unicode.IsLetter(before) || unicode.IsDigit(before))
	for k := len(open) - 1; k >= 0 && !spaceBefore; k-- {
		if open[k] == mark {
			return open[:k]
		}
	}
	word = word || isProduct(before, after)
	if i+n == len(s) && !spaceBefore || spaceAfter && i+n < len(s) || word || mark == "~" || len(open) == maxDepth {
		return open
	}
	return append(open, mark)
}

// closeWith ends s with the open marks, innermost first. It drops marks that no
// text follows yet.
func closeWith(s string, open []string) string {
	for i := len(open) - 1; i >= 0; i-- {
		text := strings.TrimRight(s, " ")
		if rest, found := strings.CutSuffix(text, open[i]); found {
			s = rest
			continue
		}
		s = text + open[i]
	}
	return s
}
