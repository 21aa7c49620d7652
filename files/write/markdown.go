package write

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

const (
	maxReferences = 500 // link reference definitions of a document
	maxNotes      = 500 // footnotes of a document
)

// parse reads Markdown. Every text is Markdown, but one whose tables have more cells
// than MaxTableCells is an error.
func parse(markdown string) (document, error) {
	r := &reader{notes: map[string]int{}, slugs: map[string]int{}}
	r.parser = newParser()
	body := r.takeDefinitions(clean(markdown))
	var d document
	d.blocks = r.read(body)
	for i := 0; i < len(r.order); i++ { // a note may name others
		d.notes = append(d.notes, r.read(r.noteTexts[r.order[i]]))
	}
	d.title = r.title
	if r.cells > MaxTableCells {
		return document{}, &TooLargeError{What: "cells of tables", Limit: MaxTableCells}
	}
	return d, nil
}

type reader struct {
	parser     parser.Parser
	source     []byte
	references []parser.Reference
	noteTexts  map[string]string // footnotes by name
	notes      map[string]int    // numbers of those that were named
	order      []string          // their names by number
	slugs      map[string]int
	title      string
	cells      int // of tables
}

// newParser reads CommonMark with the extensions, but for blocks of HTML, whose
// text would be lost, and for footnotes, which takeDefinitions reads.
func newParser() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(parser.NewListParser(), 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(parser.NewBlockquoteParser(), 800),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(parser.NewLinkParser(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewRawHTMLParser(), 400),
			util.Prioritized(parser.NewEmphasisParser(), 500),
			util.Prioritized(extension.NewStrikethroughParser(), 500),
			util.Prioritized(extension.NewLinkifyParser(), 999),
		),
		parser.WithParagraphTransformers(util.Prioritized(extension.NewTableParagraphTransformer(), 200)),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)
}

var (
	noteDefinition = regexp.MustCompile(`^ {0,3}\[\^([^\]\s]+)\]:[ \t]*(.*)$`)
	linkDefinition = regexp.MustCompile(`^ {0,3}\[([^\]\[^][^\]\[]*)\]:[ \t]*<?([^\s<>]+)>?(?:[ \t]+["'(](.*)["')])?[ \t]*$`)
	noteMark       = regexp.MustCompile(`\[\^([^\]\s]+)\]`)
)

// takeDefinitions removes definitions of links and footnotes from a document and
// keeps them for all of its chunks. Those beyond the limits stay text.
func (r *reader) takeDefinitions(markdown string) string {
	r.noteTexts = map[string]string{}
	var body strings.Builder
	fence, note, blank := "", "", false
	for line := range strings.Lines(markdown) {
		bare := strings.TrimSuffix(line, "\n")
		if m := fenceLine.FindStringSubmatch(bare); m != nil && note == "" {
			switch {
			case fence == "":
				fence = m[1]
			case m[1][0] == fence[0] && len(m[1]) >= len(fence) && strings.TrimSpace(m[2]) == "":
				fence = ""
			}
		}
		isBlank := strings.TrimSpace(bare) == ""
		if note != "" { // indented lines continue a footnote
			rest, indented := strings.CutPrefix(bare, "    ")
			if isBlank || indented {
				r.noteTexts[note] += "\n" + rest
				blank = isBlank
				continue
			}
			note = ""
			if blank {
				body.WriteString("\n")
			}
		}
		if fence == "" {
			if m := noteDefinition.FindStringSubmatch(bare); m != nil && len(r.noteTexts) < maxNotes {
				if _, twice := r.noteTexts[m[1]]; !twice {
					note, blank = m[1], true
					r.noteTexts[note] = m[2]
					continue
				}
			}
			if m := linkDefinition.FindStringSubmatch(bare); m != nil && len(r.references) < maxReferences {
				r.references = append(r.references, parser.NewReference([]byte(m[1]), []byte(m[2]), []byte(m[3])))
				continue
			}
		}
		body.WriteString(line)
	}
	return body.String()
}

// read parses text chunk by chunk and joins blocks that were cut.
func (r *reader) read(markdown string) []block {
	var all []block
	for _, c := range chunks(markdown) {
		if r.cells > MaxTableCells {
			break // parse returns an error
		}
		ctx := parser.NewContext()
		for _, reference := range r.references {
			ctx.AddReference(reference)
		}
		r.source = []byte(c.text)
		blocks := r.blocks(r.parser.Parse(text.NewReader(r.source), parser.WithContext(ctx)))
		if c.joined && len(all) > 0 && len(blocks) > 0 && join(&all[len(all)-1], blocks[0]) {
			blocks = blocks[1:]
		}
		all = append(all, blocks...)
	}
	return all
}

// join adds the first block of a chunk to the last one of the chunk before, where
// both are parts of the same.
func join(last *block, first block) bool {
	switch {
	case last.kind != first.kind:
		return false
	case last.kind == code:
		last.text += first.text
	case last.kind == list && last.ordered == first.ordered:
		last.children = append(last.children, first.children...)
		last.tight = last.tight && first.tight
	case last.kind == table && len(last.align) == len(first.align):
		last.rows = append(last.rows, first.rows[1:]...)
	default:
		return false
	}
	return true
}

func (r *reader) blocks(parent ast.Node) []block {
	var all []block
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			runs := r.runs(n)
			all = append(all, block{kind: heading, level: n.Level, runs: runs, slug: r.slug(plain(runs))})
		case *ast.Paragraph, *ast.TextBlock:
			if runs := r.runs(n); len(runs) > 0 {
				all = append(all, block{kind: paragraph, runs: runs})
			}
		case *ast.List:
			all = append(all, block{kind: list, ordered: n.IsOrdered(), start: n.Start, tight: n.IsTight, children: r.blocks(n)})
		case *ast.ListItem:
			all = append(all, block{kind: item, children: r.blocks(n)})
		case *ast.Blockquote:
			all = append(all, block{kind: quote, children: r.blocks(n)})
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			var out strings.Builder
			for _, s := range n.Lines().Sliced(0, n.Lines().Len()) {
				out.Write(s.Value(r.source))
			}
			all = append(all, block{kind: code, text: out.String()})
		case *ast.ThematicBreak:
			all = append(all, block{kind: rule})
		case *extast.Table:
			all = append(all, r.table(n))
		}
	}
	return all
}

func (r *reader) table(n *extast.Table) block {
	b := block{kind: table}
	for _, a := range n.Alignments {
		b.align = append(b.align, map[extast.Alignment]string{
			extast.AlignLeft: "left", extast.AlignCenter: "center", extast.AlignRight: "right",
		}[a])
	}
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		cells := make([][]run, 0, len(b.align))
		for cell := row.FirstChild(); cell != nil && len(cells) < len(b.align); cell = cell.NextSibling() {
			cells = append(cells, r.runs(cell))
		}
		for len(cells) < len(b.align) {
			cells = append(cells, nil)
		}
		if r.cells += len(cells); r.cells > MaxTableCells {
			break
		}
		b.rows = append(b.rows, cells)
	}
	return b
}

// slug returns the anchor of a heading; a repeated one gets a number.
func (r *reader) slug(text string) string {
	if r.title == "" {
		r.title = strings.Join(strings.Fields(text), " ")
	}
	s := slug(text)
	n := r.slugs[s]
	r.slugs[s]++
	if n > 0 {
		s = fmt.Sprintf("%s-%d", s, n)
	}
	return s
}

// runs returns the text within a block.
func (r *reader) runs(n ast.Node) []run {
	var in inline
	r.inline(&in, n, style{})
	return r.marks(in.trimmed())
}

// inline collects runs.
type inline struct{ runs []run }

func (in *inline) add(text string, s style) {
	if text == "" {
		return
	}
	if last := len(in.runs) - 1; last >= 0 && in.runs[last].style == s && in.runs[last].picture == "" && text != "\n" && in.runs[last].text != "\n" {
		in.runs[last].text += text
		return
	}
	in.runs = append(in.runs, run{style: s, text: text})
}

// soften adds what a line break in the source stands for: a space, and nothing
// between characters that are written without spaces.
func (in *inline) soften(next string, s style) {
	var last rune
	if len(in.runs) > 0 {
		last, _ = utf8.DecodeLastRuneInString(in.runs[len(in.runs)-1].text)
	}
	if first, _ := utf8.DecodeRuneInString(next); wide(last) && wide(first) {
		return
	}
	in.add(" ", s)
}

// trimmed returns the runs without line breaks at the ends.
func (in *inline) trimmed() []run {
	runs := in.runs
	for len(runs) > 0 && strings.TrimSpace(runs[0].text) == "" && runs[0].picture == "" {
		runs = runs[1:]
	}
	for len(runs) > 0 && strings.TrimSpace(runs[len(runs)-1].text) == "" && runs[len(runs)-1].picture == "" {
		runs = runs[:len(runs)-1]
	}
	return runs
}

func (r *reader) inline(in *inline, parent ast.Node, s style) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			value := string(n.Segment.Value(r.source))
			if !n.IsRaw() {
				value = unescape(value)
			}
			in.add(value, s)
			switch {
			case n.HardLineBreak():
				in.add("\n", s)
			case n.SoftLineBreak():
				next := ""
				if t, ok := n.NextSibling().(*ast.Text); ok {
					next = string(t.Segment.Value(r.source))
				}
				in.soften(next, s)
			}
		case *ast.String:
			in.add(string(n.Value), s)
		case *ast.CodeSpan:
			inner := s
			inner.code = true
			var out strings.Builder
			for t := n.FirstChild(); t != nil; t = t.NextSibling() {
				if t, ok := t.(*ast.Text); ok {
					out.Write(t.Segment.Value(r.source))
				}
			}
			in.add(strings.ReplaceAll(out.String(), "\n", " "), inner)
		case *ast.Emphasis:
			inner := s
			inner.bold = s.bold || n.Level == 2
			inner.italic = s.italic || n.Level == 1
			r.inline(in, n, inner)
		case *extast.Strikethrough:
			inner := s
			inner.strike = true
			r.inline(in, n, inner)
		case *ast.Link:
			inner := s
			inner.link = safeLink(unescape(string(n.Destination)))
			r.inline(in, n, inner)
		case *ast.AutoLink:
			inner := s
			address := string(n.URL(r.source))
			if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(address), "mailto:") {
				address = "mailto:" + address
			}
			inner.link = safeLink(address)
			in.add(string(n.Label(r.source)), inner)
		case *ast.Image:
			r.picture(in, n, s)
		case *extast.TaskCheckBox:
			in.add(map[bool]string{true: "☑ ", false: "☐ "}[n.IsChecked], s)
		case *ast.RawHTML:
			var out strings.Builder
			for i := range n.Segments.Len() {
				segment := n.Segments.At(i)
				out.Write(segment.Value(r.source))
			}
			in.add(ofTag(out.String()), s)
		default:
			r.inline(in, n, s)
		}
	}
}

// picture adds a picture of the task's files; one of the web is a link to it, as
// nothing is fetched.
func (r *reader) picture(in *inline, n *ast.Image, s style) {
	var alt inline
	r.inline(&alt, n, style{})
	name, text := unescape(string(n.Destination)), plain(alt.runs)
	if strings.Contains(name, "://") || strings.HasPrefix(name, "data:") || strings.HasPrefix(name, "//") || name == "" {
		s.link = safeLink(name)
		if text == "" {
			text = s.link
		}
		in.add(text, s)
		return
	}
	in.runs = append(in.runs, run{style: s, text: text, picture: name})
}

var (
	lineBreak = regexp.MustCompile(`(?i)^<br\s*/?>$`)
	looks     = regexp.MustCompile(`(?i)^</?(?:a|abbr|b|big|blockquote|center|cite|code|del|details|dfn|div|em|font|h[1-6]|hr|i|img|ins|kbd|li|mark|ol|p|pre|q|s|samp|script|small|span|strike|strong|style|sub|summary|sup|table|tbody|td|th|thead|tr|tt|u|ul|var)(?:\s[^>]*)?/?>$|^<!--`)
)

// ofTag is the text of an HTML tag: none for tags that only give a look, and the
// tag itself for others, such as List<String>.
func ofTag(tag string) string {
	switch {
	case lineBreak.MatchString(tag):
		return "\n"
	case looks.MatchString(tag):
		return ""
	}
	return tag
}

// marks cuts the marks of footnotes out of runs.
func (r *reader) marks(runs []run) []run {
	if len(r.noteTexts) == 0 {
		return runs
	}
	var all []run
	for _, in := range runs {
		if in.code || in.picture != "" {
			all = append(all, in)
			continue
		}
		from := 0
		for _, at := range noteMark.FindAllStringSubmatchIndex(in.text, -1) {
			name := in.text[at[2]:at[3]]
			if _, known := r.noteTexts[name]; !known {
				continue
			}
			if r.notes[name] == 0 {
				r.order = append(r.order, name)
				r.notes[name] = len(r.order)
			}
			if at[0] > from {
				all = append(all, run{style: in.style, text: in.text[from:at[0]]})
			}
			all = append(all, run{style: in.style, note: r.notes[name]})
			from = at[1]
		}
		if from < len(in.text) {
			all = append(all, run{style: in.style, text: in.text[from:]})
		}
	}
	return all
}

// unescape resolves backslashes and entities of Markdown.
func unescape(text string) string {
	if !strings.ContainsAny(text, `\&`) {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && util.IsPunct(text[i+1]) {
			i++
		} else if text[i] == '&' {
			if end := strings.IndexByte(text[i:min(len(text), i+32)], ';'); end > 0 {
				out.WriteString(clean(html.UnescapeString(text[i : i+end+1])))
				i += end
				continue
			}
		}
		out.WriteByte(text[i])
	}
	return out.String()
}
