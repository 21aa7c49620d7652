package markdown

import (
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// definition is a line with the address of links: [label]: https://example.com "title".
var definition = regexp.MustCompile(`(?m)^ {0,3}\[([^\]\[^][^\]\[\n]{0,98})\]:[ \t]+<?(https?://[^\s<>]+)>?(?:[ \t]+["'(]([^"'()\n]*)["')])?[ \t]*$`)

// references are the definitions of a whole document by their labels; the parser sees
// one piece of it.
type references struct {
	parser.Context
	all  map[string]parser.Reference
	used map[string]bool // a link shows it
}

// newReferences collects the definitions of a document.
func newReferences(src string) references {
	if !strings.Contains(src, "]:") {
		return references{}
	}
	r := references{all: map[string]parser.Reference{}, used: map[string]bool{}}
	for _, m := range definition.FindAllStringSubmatch(src, -1) {
		label := util.ToLinkReference([]byte(m[1]))
		if _, known := r.all[label]; !known {
			r.all[label] = parser.NewReference([]byte(label), []byte(m[2]), []byte(m[3]))
		}
	}
	return r
}

// context is the context to parse one piece with.
func (r references) context() parser.Context {
	r.Context = parser.NewContext()
	return r
}

// Reference implements parser.Context.
func (r references) Reference(label string) (parser.Reference, bool) {
	found, ok := r.all[label]
	return found, ok
}

// use notes that a link shows its definition. The text of a mere number, which names a
// source, keeps its brackets: [1].
func (r references) use(n *ast.ReferenceLink) (brackets bool) {
	if n == nil {
		return false
	}
	label := util.ToLinkReference(n.Value)
	r.used[label] = true
	return n.Type == ast.ReferenceLinkShortcut && strings.Trim(label, "0123456789") == ""
}

// shown reports whether links have shown all that a paragraph holds: definitions. It
// counts each of them once.
func (r references) shown(paragraph string) bool {
	found := false
	for line := range strings.Lines(paragraph) {
		m := definition.FindStringSubmatch(line)
		if m == nil {
			return false
		}
		label := util.ToLinkReference([]byte(m[1]))
		if def := r.all[label]; !r.used[label] || def == nil || string(def.Destination()) != m[2] || string(def.Title()) != m[3] {
			return false
		}
		delete(r.used, label)
		found = true
	}
	return found
}

// labelled is a line that begins as a definition does.
var labelled = regexp.MustCompile(`^\[[^\]\[\n]{1,99}\]:`)

// definitions keeps the label of a definition that is shown from becoming a link.
type definitions struct{}

// Trigger implements parser.InlineParser.
func (definitions) Trigger() []byte { return []byte{'['} }

// Parse implements parser.InlineParser.
func (definitions) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	if block.PrecendingCharacter() != '\n' {
		return nil
	}
	line, segment := block.PeekLine()
	n := len(labelled.Find(line))
	if n == 0 {
		return nil
	}
	block.Advance(n)
	return ast.NewTextSegment(segment.WithStop(segment.Start + n))
}
