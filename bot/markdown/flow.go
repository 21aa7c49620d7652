package markdown

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"legwork/bot"
)

const (
	chatDepth = 6 // how deep a chat shows nesting
	chatRule  = "──────────"
)

// flow lays a document out as the lines of a chat message, for all platforms.
// telegram.go and slack.go write the lines.
type flow struct {
	renderer
	style flowStyle
	lines []line

	leads  []lead
	quote  int      // quotes around the current block
	folded bool     // the outermost of them is folded
	quoted bool     // the next quotation continues from the piece before
	next   space    // between the last line and the next
	gapAt  int      // how many leads a blank line there has
	codes  []string // the info strings of the code blocks, such as "go"
	tables int      // tables so far
}

// flowStyle is the style of lines on one platform.
type flowStyle struct {
	bullets  []string // markers of lists, by depth
	indent   string   // indentation of a bullet's text; empty for the marker's width
	quote    string   // before every line of a quote
	task     string   // marker of tasks; their boxes are in the text
	headings bool     // headings have a level instead of a look
	columns  int      // the widest table that is shown as a code block
	cells    bool     // tables are kept as rows of cells
	rich     bool     // a rich message of Telegram: one part without Slack's limits
}

// quoteKind says whether a line is part of a quotation.
type quoteKind uint8

const (
	quoteNone quoteKind = iota
	quoteOpen
	quoteFolded // only its beginning is shown until a reader asks for the rest
)

// isFolded reports whether a quotation was a folded part of the document.
func (f *flow) isFolded(n ast.Node) bool {
	first := n.FirstChild()
	return first != nil && first.Lines() != nil && first.Lines().Len() > 0 && startsFolded(string(f.src[first.Lines().At(0).Start:]))
}

// space is what separates a line from the one before.
type space uint8

const (
	noSpace   space = iota
	blankLine       // an empty line
	sameBlock       // none: both lines belong to one code block or table
)

// lineKind says what a line is.
type lineKind uint8

const (
	textLine lineKind = iota
	codeLine
	rowLine // cells of a table, the first one of it is the head
	ruleLine
)

// line is one line of a message.
type line struct {
	kind  lineKind
	lead  string // markers and indentation
	rest  string // the lead of its continuation lines
	spans []span
	cells [][]span           // of a rowLine
	align []extast.Alignment // of a rowLine
	level int                // of a heading
	block int                // number of the code block or table it belongs to, from 1
	quote quoteKind
	more  bool // the paragraph continues in the next line
	above space
	blank string // lead of the blank line above
}

// lead is the text that a list or quote puts before the lines of its content.
type lead struct {
	first, rest string
	used        bool
}

// initialLines is the capacity that is allocated at first.
const initialLines = 1000

// newFlow lays out a whole document.
func newFlow(markdown string, style flowStyle, l *links) *flow {
	f := &flow{style: style, lines: make([]line, 0, min(strings.Count(markdown, "\n")+1, initialLines))}
	f.links, f.notes, f.refs = l, noteNumbers(markdown), newReferences(markdown)
	for _, s := range segments(markdown) {
		if s.apart {
			f.gap()
		}
		f.resumed, f.quoted = s.inCode, s.inQuote
		f.blocks(f.parse(s.text), false)
	}
	return f
}

func (f *flow) blocks(parent ast.Node, tight bool) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if f.isShown(n) {
			continue
		}
		if n.PreviousSibling() != nil && !tight {
			f.gap()
		}
		f.block(n, tight)
	}
}

func (f *flow) block(n ast.Node, tight bool) {
	switch n := n.(type) {
	case *ast.Heading:
		f.heading(n)
	case *ast.Paragraph, *ast.TextBlock:
		f.paragraph(f.inlines(n, 0), 0)
	case *ast.ThematicBreak:
		f.emit(line{kind: ruleLine, spans: []span{{chatRule, 0}}})
	case *ast.FencedCodeBlock:
		info := ""
		if n.Info != nil {
			info = oneLine(string(n.Info.Value(f.src)))
		}
		f.code(n, info)
	case *ast.CodeBlock:
		f.code(n, "")
	case *ast.Blockquote:
		f.blockquote(n)
	case *ast.List:
		f.list(n)
	case *extast.Table:
		f.table(n)
	default:
		f.blocks(n, tight)
	}
}

// blockquote shows a quote. A platform that shows quotes as blocks gets it at
// the margin, even inside of a list.
func (f *flow) blockquote(n ast.Node) {
	if f.quote == 0 && !f.quoted {
		f.folded = f.isFolded(n)
	}
	f.quoted = false
	f.quote++
	defer func() { f.quote-- }()
	if mark := f.style.quote; mark != "" {
		f.nest(lead{first: mark, rest: mark}, func() { f.blocks(n, false) })
		return
	}
	outer := f.leads
	f.leads = nil
	for i := range outer {
		if !outer[i].used {
			f.leads = append(f.leads, outer[i])
			outer[i].used = true
		}
	}
	f.blocks(n, false)
	f.leads = outer
}

func (f *flow) heading(n *ast.Heading) {
	if f.style.headings {
		f.paragraph(f.inlines(n, 0), n.Level)
		return
	}
	f.paragraph(f.inlines(n, bold), n.Level)
}

func (f *flow) paragraph(spans []span, level int) {
	lines := wrap(spans, 0)
	for i, text := range lines {
		f.emit(line{spans: text, level: level, more: i+1 < len(lines)})
	}
}

// code shows the lines of a code block as they are.
func (f *flow) code(n ast.Node, info string) {
	lines := n.Lines()
	resumed := f.resumed
	f.resumed = false
	if spans := f.links.withoutLinks([]span{{info, 0}}); info != "" && (len(spans) > 1 || spans[0].look != 0) {
		f.paragraph(spans, 0)
		info = ""
	}
	if !resumed && len(bytes.TrimSpace(lines.Value(f.src))) == 0 {
		if info != "" && language(info) == "" {
			f.emit(line{spans: []span{{"[" + info + "]", 0}}})
		}
		return
	}
	if !resumed {
		f.codes = append(f.codes, info)
	}
	block := len(f.codes)
	for i := range lines.Len() {
		seg := lines.At(i)
		s := bot.Clean(strings.TrimSuffix(string(seg.Value(f.src)), "\n"))
		for text := range strings.SplitSeq(s, "\n") { // other line separators became newlines
			f.emit(line{kind: codeLine, block: block, spans: []span{{text, code}}})
		}
	}
}

func (f *flow) list(list *ast.List) {
	f.items(list, f.style.bullets, f.style.task, f.gap, func(marker string, item ast.Node) {
		f.nest(lead{first: marker, rest: cmp.Or(f.style.indent, strings.Repeat(" ", len(marker))), used: f.resumed}, func() {
			if item.FirstChild() == nil {
				f.emit(line{})
			}
			f.blocks(item, list.IsTight)
		})
	})
}

// nest shows content behind a lead. Deeper than chatDepth it shows the marker
// but does not indent.
func (f *flow) nest(l lead, content func()) {
	if len(f.leads) >= chatDepth {
		last := &f.leads[len(f.leads)-1]
		if !last.used {
			last.first += l.first
			content()
			return
		}
		l.rest = ""
	}
	f.leads = append(f.leads, l)
	content()
	f.leads = f.leads[:len(f.leads)-1]
}

// emit adds a line with its lead.
func (f *flow) emit(l line) {
	l.lead, l.rest = f.lead()
	switch {
	case f.quote > 0 && f.folded:
		l.quote = quoteFolded
	case f.quote > 0:
		l.quote = quoteOpen
	}
	l.above, f.next = f.next, noSpace
	if n := len(f.lines); n == 0 {
		l.above = noSpace
	} else if last := f.lines[n-1]; l.block > 0 && last.block == l.block && last.kind == l.kind {
		l.above = sameBlock
	} else if (last.kind == rowLine || l.kind == rowLine) && l.above != blankLine {
		l.above = blankLine // otherwise they would become one table
		f.gapAt = len(f.leads)
	}
	if l.above == blankLine {
		for _, outer := range f.leads[:min(f.gapAt, len(f.leads))] {
			l.blank += outer.rest
		}
		l.blank = strings.TrimRight(l.blank, " ")
	}
	f.lines = append(f.lines, l)
}

// gap asks for a blank line before the next line.
func (f *flow) gap() {
	if f.next != blankLine {
		f.next, f.gapAt = blankLine, len(f.leads)
	}
}

// lead is the lead of the next line, and that of its continuation lines.
func (f *flow) lead() (first, rest string) {
	for i := range f.leads {
		l := &f.leads[i]
		if l.used {
			first += l.rest
		} else {
			first += l.first
			l.used = true
		}
		rest += l.rest
	}
	return first, rest
}
