package write

import (
	"regexp"
	"strings"
)

const (
	// goodChunk is the size from which a document is cut at the next good place,
	// and maxChunk where it is cut at any line. The parser takes time that grows with
	// the square of a text's length, so short chunks bound it.
	goodChunk = 2 << 10
	maxChunk  = 8 << 10
	// maxLevels bounds how deep quotations and lists nest. Word has nine levels.
	maxLevels = 9
	// maxIndent bounds the indent of a line that is not code, in columns.
	maxIndent = 4 * maxLevels
)

// chunk is a part of a document that is parsed by itself.
type chunk struct {
	text string
	// joined tells that the first block continues the last one of the chunk before.
	joined bool
}

var (
	fenceLine = regexp.MustCompile("^[ >]*(?:(?:[-*+]|[0-9]{1,9}[.)]) +)?(`{3,}|~{3,})([^`]*)$")
	listLine  = regexp.MustCompile(`^(?:[-*+]|[0-9]{1,9}[.)])(?: |$)`)
	tableHead = regexp.MustCompile(`^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$`)
)

// chunks cuts a document: before a line that begins a block after a blank line, or
// in the midst of a long block. A code block that is cut is closed and opened again, and
// a table's head is repeated.
func chunks(text string) []chunk {
	var all []chunk
	var now strings.Builder
	joined := false
	flush := func(joinNext bool) {
		if now.Len() > 0 {
			all = append(all, chunk{now.String(), joined})
		}
		now.Reset()
		joined = joinNext
	}
	var (
		fence, opening string // the marks that close the open code block, and its first line
		head           string // of the open table, with its delimiters
		before         string // the line before
		blank          = true // it was blank
	)
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if fence == "" {
			line = flatten(line)
		}
		for len(line) > maxChunk { // no place in it is good
			cut := strings.LastIndexByte(line[:maxChunk], ' ') + 1
			if cut < maxChunk/2 {
				for cut = maxChunk; line[cut]&0xC0 == 0x80; cut-- { // not within a character
				}
			}
			now.WriteString(line[:cut] + "\n")
			if fence != "" {
				now.WriteString(fence + "\n")
			}
			flush(fence != "")
			if fence != "" {
				now.WriteString(opening + "\n")
			}
			line, head = line[cut:], ""
			if fence == "" {
				line = flatten(line)
			}
		}
		isBlank := strings.TrimSpace(line) == ""
		starts := fence == "" && blank && !isBlank && line[0] != ' ' && line[0] != '\t'
		item := starts && listLine.MatchString(line)
		switch {
		case starts && !item && now.Len() >= goodChunk:
			flush(false)
		case now.Len()+len(line) < maxChunk:
		case fence != "":
			now.WriteString(fence + "\n")
			flush(true)
			now.WriteString(opening + "\n")
		case head != "" && !isBlank:
			flush(true)
			now.WriteString(head)
		default:
			flush(item || fence == "" && listLine.MatchString(line))
		}

		now.WriteString(line + "\n")
		if m := fenceLine.FindStringSubmatch(line); m != nil {
			switch {
			case fence == "":
				fence, opening = m[1], line
			case m[1][0] == fence[0] && len(m[1]) >= len(fence) && strings.TrimSpace(m[2]) == "":
				fence = ""
			}
		}
		switch {
		case isBlank || fence != "":
			head = ""
		case head == "" && strings.Contains(line, "-") && strings.Contains(before, "|") && tableHead.MatchString(line) && len(before)+len(line) < maxChunk/4:
			head = before + "\n" + line + "\n"
		}
		before, blank = line, isBlank
	}
	flush(false)
	return all
}

// flatten bounds how deep the marks of quotations and lists at the start of a line
// nest, and its indent: the parser takes time that grows with the square of both.
func flatten(line string) string {
	levels, column := 0, 0
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == ' ':
			column++
		case c == '\t':
			column += 4
		case c == '>':
			levels++
		case strings.IndexByte("-*+.)", c) >= 0 && (i+1 == len(line) || line[i+1] == ' ' || line[i+1] == '\t'):
			levels++
		case c >= '0' && c <= '9':
		default:
			if column > maxIndent+levels*2 {
				return strings.Repeat(" ", maxIndent) + strings.TrimLeft(line, " \t")
			}
			return line
		}
		if levels > maxLevels {
			return line[:i] + `\` + line[i:]
		}
	}
	return line
}
