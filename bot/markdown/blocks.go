package markdown

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"legwork/bot"
)

// Bounds of nesting: deeper lists and quotes are shown without further
// indentation, so that every line keeps room for text.
const (
	maxDepth = 24
	minRoom  = 12
)

// renderer writes a document line by line.
type renderer struct {
	parser parser.Parser // made when first needed
	src    []byte
	width  int // columns; 0 for no limit
	color  bool
	links  *links            // how chats show links; nil for a terminal
	notes  map[string]string // numbers of footnotes by their names
	refs   references

	out      strings.Builder
	prefixes []prefix
	blank    bool // a blank line comes before the next one
	blankAt  int  // how many prefixes that line has
	lists    int  // lists around the current block
	resumed  bool // the next code block, and the list items around it, continue from the piece before
}

// prefix is the text that a list or quote puts before each line of its content.
type prefix struct {
	first, rest span
	width       int
	used        bool // first is written already
}

// parse reads one piece of a document.
func (r *renderer) parse(src string) ast.Node {
	if r.src = []byte(src); !strings.HasSuffix(src, "\n") {
		r.src = append(r.src, '\n') // otherwise the parser loses the language of a fence at the end
	}
	p := r.parser
	if sparse(src) {
		p = newParser(false, r.notes)
	} else if p == nil {
		p = newParser(true, r.notes)
		r.parser = p
	}
	return p.Parse(text.NewReader(r.src), parser.WithContext(r.refs.context()))
}

// blocks renders the children of a block; between those of a tight list no
// blank lines are shown.
func (r *renderer) blocks(parent ast.Node, tight bool) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if r.isShown(n) {
			continue
		}
		if n.PreviousSibling() != nil && !tight {
			r.gap()
		}
		r.block(n, tight)
	}
}

// isShown reports whether a block holds only definitions that links have shown.
func (r *renderer) isShown(n ast.Node) bool {
	return len(r.refs.used) > 0 && n.Kind() == ast.KindParagraph && r.refs.shown(string(n.Lines().Value(r.src)))
}

func (r *renderer) block(n ast.Node, tight bool) {
	switch n := n.(type) {
	case *ast.Heading:
		l := bold
		if n.Level == 1 {
			l |= underline
		}
		r.paragraph(n, l)
	case *ast.Paragraph, *ast.TextBlock:
		r.paragraph(n, 0)
	case *ast.ThematicBreak:
		r.emit([]span{{strings.Repeat("─", r.rule()), dim}})
	case *ast.FencedCodeBlock:
		if n.Info != nil {
			r.label(string(n.Info.Value(r.src)))
		}
		r.code(n)
	case *ast.CodeBlock:
		r.code(n)
	case *ast.Blockquote:
		bar := span{"│ ", dim}
		r.nest(prefix{first: bar, rest: bar, width: 2}, func() { r.blocks(n, false) })
	case *ast.List:
		r.list(n)
	case *extast.Table:
		r.table(n)
	default:
		r.blocks(n, tight)
	}
}

// rule is the length of a horizontal line.
func (r *renderer) rule() int {
	if room := r.room(); room > 0 {
		return min(room, 40)
	}
	return 3
}

// paragraph renders the inline content of a block.
func (r *renderer) paragraph(n ast.Node, l look) { r.emitText(r.inlines(n, l)) }

// emitText writes text, broken into lines.
func (r *renderer) emitText(text []span) {
	for _, line := range wrap(text, r.room()) {
		r.emit(line)
	}
}

// label shows the info string of a code block, unless it only names a language:
// readers see that.
func (r *renderer) label(info string) {
	if info = oneLine(info); language(info) != "" {
		return
	}
	if !r.color {
		info = "[" + info + "]"
	}
	r.emitText([]span{{info, dim}})
}

// code renders the lines of a code block as they are.
func (r *renderer) code(n ast.Node) {
	r.nest(prefix{first: span{text: "    "}, rest: span{text: "    "}, width: 4}, func() {
		lines := n.Lines()
		for i := range lines.Len() {
			seg := lines.At(i)
			s := strings.TrimSuffix(string(seg.Value(r.src)), "\n")
			s = strings.ReplaceAll(bot.Clean(s), "\t", "    ")
			for _, part := range splitLine(span{s, code}, r.room()) {
				r.emit([]span{part})
			}
		}
		if lines.Len() == 0 && !r.resumed {
			r.emit(nil)
		}
	})
	r.resumed = false
}

// splitLine cuts one line into pieces of at most width columns.
func splitLine(s span, width int) []span {
	if width <= 0 || len(s.text) <= width {
		return []span{s}
	}
	w := wrapper{width: width, word: []span{s}}
	w.splitWord()
	w.newline()
	var all []span
	for _, line := range w.lines {
		all = append(all, line...)
	}
	return all
}

func (r *renderer) list(list *ast.List) {
	r.items(list, []string{"• ", "◦ ", "▪ "}, "", r.gap, func(marker string, item ast.Node) {
		w := bot.TextWidth(marker)
		r.nest(prefix{first: span{text: marker}, rest: span{text: strings.Repeat(" ", w)}, width: w, used: r.resumed}, func() {
			if item.FirstChild() == nil {
				r.emit(nil)
			}
			r.blocks(item, list.IsTight)
		})
	})
}

// items calls show for each item of a list: with a number, the bullet of its depth,
// or the marker of tasks. It calls gap between items of a list that is not tight.
func (r *renderer) items(list *ast.List, bullets []string, task string, gap func(), show func(marker string, item ast.Node)) {
	r.lists++
	defer func() { r.lists-- }()
	number := list.Start
	for n := list.FirstChild(); n != nil; n = n.NextSibling() {
		if n.PreviousSibling() != nil && !list.IsTight {
			gap()
		}
		marker := bullets[(r.lists-1)%len(bullets)]
		if list.IsOrdered() {
			marker = strconv.Itoa(number) + string(list.Marker) + " "
			number++
		} else if isTask(n) {
			marker = task
		}
		show(marker, n)
	}
}

// isTask reports whether a list item starts with a check box.
func isTask(item ast.Node) bool {
	block := item.FirstChild()
	if block == nil || block.Type() != ast.TypeBlock {
		return false
	}
	_, ok := block.FirstChild().(*extast.TaskCheckBox)
	return ok
}

// nest renders content behind a prefix. Where the width is used up, it only shows
// a list's marker and does not indent.
func (r *renderer) nest(p prefix, content func()) {
	if len(r.prefixes) >= maxDepth || (r.width > 0 && r.room()-p.width < minRoom) {
		if p.first.look == dim || strings.TrimSpace(p.first.text) == "" {
			content()
			return
		}
		if n := len(r.prefixes); n > 0 && !r.prefixes[n-1].used {
			r.prefixes[n-1].first.text += p.first.text
			content()
			return
		}
		p.rest, p.width = span{}, 0
	}
	r.prefixes = append(r.prefixes, p)
	content()
	r.prefixes = r.prefixes[:len(r.prefixes)-1]
}

// room is the number of columns left for text; 0 for no limit.
func (r *renderer) room() int {
	if r.width == 0 {
		return 0
	}
	room := r.width
	for _, p := range r.prefixes {
		room -= p.width
	}
	return max(room, 1)
}

// gap asks for a blank line before the next line, unless it is the first.
func (r *renderer) gap() {
	if !r.blank {
		r.blank, r.blankAt = r.out.Len() > 0, len(r.prefixes)
	}
}

// emit writes one line behind its prefixes.
func (r *renderer) emit(line []span) {
	if r.blank {
		r.blank = false
		r.writeLine(trimRight(r.indent(min(r.blankAt, len(r.prefixes)), false)))
	}
	line = append(r.indent(len(r.prefixes), true), line...)
	if r.width > 0 && lineWidth(line) > r.width {
		for _, part := range wrap(line, r.width) { // the markers alone are too wide
			r.writeLine(trimRight(part))
		}
		return
	}
	r.writeLine(trimRight(line))
}

// indent is the text of the outer depth prefixes before a line. With use, a
// marker is used up by that line.
func (r *renderer) indent(depth int, use bool) []span {
	var line []span
	for i := range depth {
		p := &r.prefixes[i]
		s := p.rest
		if use && !p.used {
			s, p.used = p.first, true
		}
		if s.text != "" {
			line = append(line, s)
		}
	}
	return line
}

// trimRight drops spaces at the end of a line.
func trimRight(line []span) []span {
	for len(line) > 0 {
		last := &line[len(line)-1]
		if last.look&(code|underline) != 0 && strings.TrimSpace(last.text) != "" {
			return line
		}
		if last.text = strings.TrimRight(last.text, " "); last.text != "" {
			return line
		}
		line = line[:len(line)-1]
	}
	return line
}

func (r *renderer) writeLine(line []span) {
	if r.out.Len() > 0 {
		r.out.WriteByte('\n')
	}
	for _, s := range line {
		s.write(&r.out, r.color)
	}
}
