package markdown

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Bounds of the name and of the number of a footnote, in bytes.
const (
	maxNote   = 40
	maxDigits = 5
)

// noteStart is a line that begins the text of a footnote.
var noteStart = regexp.MustCompile(`(?m)^ {0,3}\[\^([^\]\s]{1,40})\]:`)

// noteNumbers are the numbers of a document's footnotes by their names: those with a
// name get the numbers after the highest one, in the order of their texts.
func noteNumbers(src string) map[string]string {
	if !strings.Contains(src, "[^") {
		return nil
	}
	numbers, highest := map[string]string{}, 0
	var named []string
	for _, m := range noteStart.FindAllStringSubmatch(src, -1) {
		if n, err := strconv.Atoi(m[1]); err == nil && len(m[1]) <= maxDigits {
			highest = max(highest, n)
		} else if _, known := numbers[m[1]]; !known {
			numbers[m[1]] = ""
			named = append(named, m[1])
		}
	}
	for i, name := range named {
		numbers[name] = strconv.Itoa(highest + 1 + i)
	}
	return numbers
}

// footnotes finds [^1] and [^name], and either with a colon at the start of a line, and
// shows the number raised.
type footnotes struct{ numbers map[string]string }

// Trigger implements parser.InlineParser.
func (footnotes) Trigger() []byte { return []byte{'['} }

// Parse implements parser.InlineParser.
func (f footnotes) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	end := bytes.IndexByte(line[:min(len(line), maxNote+3)], ']')
	if end < 3 || line[1] != '^' {
		return nil
	}
	name := string(line[2:end])
	number, named := f.numbers[name]
	if !named {
		number = name
	}
	if len(number) > maxDigits || strings.Trim(number, "0123456789") != "" {
		return nil
	}
	number, _ = superscripts.of(number)
	start := block.PrecendingCharacter() == '\n'
	block.Advance(end + 1)
	if start && end+1 < len(line) && line[end+1] == ':' {
		block.Advance(1)
	}
	return ast.NewString([]byte(number))
}
