package markdown

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// footnotes finds [^1], and [^1]: at the start of a line, and shows the number raised.
type footnotes struct{}

// Trigger implements parser.InlineParser.
func (footnotes) Trigger() []byte { return []byte{'['} }

// Parse implements parser.InlineParser.
func (footnotes) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	end := bytes.IndexByte(line[:min(len(line), 8)], ']')
	if end < 3 || line[1] != '^' {
		return nil
	}
	number, ok := superscripts.of(string(line[2:end]))
	if !ok || strings.Trim(string(line[2:end]), "0123456789") != "" {
		return nil
	}
	start := block.PrecendingCharacter() == '\n'
	block.Advance(end + 1)
	if start && end+1 < len(line) && line[end+1] == ':' {
		block.Advance(1)
	}
	return ast.NewString([]byte(number))
}
