package markdown

import (
	"regexp"
	"strings"

	extast "github.com/yuin/goldmark/extension/ast"
)

// Block is a block of a message for Slack
// (docs.slack.dev/reference/block-kit/blocks): Markdown, rich text or a table. Slack
// shows the text of rich text and of cells as it is.
type Block struct {
	Type     string   `json:"type"` // "markdown", "rich_text" or "table"
	Text     string   `json:"text,omitempty"`
	Elements []Rich   `json:"elements,omitempty"`
	Rows     [][]Rich `json:"rows,omitempty"`
	Columns  []Column `json:"column_settings,omitempty"`
}

// Rich is a piece of rich text, or a cell of a table.
type Rich struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	URL      string `json:"url,omitempty"`
	Style    *Look  `json:"style,omitempty"`
	Language string `json:"language,omitempty"` // of code
	Elements []Rich `json:"elements,omitempty"`
}

// Look is the style of a piece of rich text.
type Look struct {
	Bold   bool `json:"bold,omitempty"`
	Italic bool `json:"italic,omitempty"`
	Strike bool `json:"strike,omitempty"`
	Code   bool `json:"code,omitempty"`
}

// Column is how Slack shows a column of a table.
type Column struct {
	Align   string `json:"align"`
	Wrapped bool   `json:"is_wrapped"`
}

// maxGroups bounds the blocks of a part beside its table: Slack takes 50 in a message.
const maxGroups = 40

// group says in which kind of block a line is shown.
type group uint8

const (
	markdownGroup group = iota
	richGroup
	tableGroup
)

// groupOf returns how to show a line in a part whose native table has this number.
func groupOf(t *slackText, table int) group {
	switch {
	case t.kind == codeLine, t.kind == textLine && hasFragileCode(t.spans):
		return richGroup
	case t.kind == rowLine && t.block == table:
		return tableGroup
	}
	return markdownGroup
}

// hasFragileCode reports whether Markdown cannot carry a code span as it is: Slack
// might read it as a mention or an entity.
func hasFragileCode(spans []span) bool {
	for _, s := range spans {
		if s.look&code != 0 && (breakMentions(s.text) != s.text || hasEntity(s.text) || strings.Contains(s.text, "`````````")) {
			return true
		}
	}
	return false
}

func hasEntity(text string) bool {
	for i := range len(text) {
		if text[i] == '&' && startsEntity(text[i+1:]) {
			return true
		}
	}
	return false
}

// blocks writes a part as blocks: code as preformatted text, the first table as a
// table, because Slack takes one in a message, everything else as Markdown. Nil: all
// of it is Markdown.
func (s *slackWriter) blocks(from, to int) []Block {
	table := 0
	for i := from; i < to && table == 0; i++ {
		if s.all[i].kind == rowLine {
			table = s.all[i].block
		}
	}
	var all []Block
	native := false
	for i := from; i < to; {
		kind, end := groupOf(&s.all[i], table), i+1
		for end < to && groupOf(&s.all[end], table) == kind {
			end++
		}
		switch kind {
		case richGroup:
			if elements := s.richText(i, end); len(elements) > 0 {
				all = append(all, Block{Type: "rich_text", Elements: elements})
			}
		case tableGroup:
			all = append(all, s.tableBlock(i, end))
		case markdownGroup:
			if text := s.markdown(i, end); !blank(text) {
				all = append(all, Block{Type: "markdown", Text: text})
			}
		}
		native = native || kind != markdownGroup
		i = end
	}
	if !native {
		return nil
	}
	return all
}

// richText writes code blocks, and lines with fragile code.
func (s *slackWriter) richText(from, to int) []Rich {
	var all []Rich
	for i := from; i < to; {
		t := &s.all[i]
		if t.kind != codeLine {
			section := Rich{Type: "rich_text_section"}
			if lead := strings.Replace(t.lead, "- ", "• ", 1); strings.TrimSpace(lead) != "" && !t.cut {
				section.Elements = append(section.Elements, Rich{Type: "text", Text: lead})
			}
			for first := i; i < to && (i == first || s.all[i].cut); i++ {
				if piece := &s.all[i]; i > first && piece.glue != "" {
					section.Elements = append(section.Elements, Rich{Type: "text", Text: piece.glue})
				}
				section.Elements = append(section.Elements, s.richSpans(s.all[i].pieces, t.level > 0)...)
			}
			if len(section.Elements) > 0 {
				all = append(all, section)
			}
			continue
		}
		var b strings.Builder
		begin := i
		for ; i < to && s.all[i].kind == codeLine && s.all[i].block == t.block; i++ {
			if i > begin && !s.all[i].cut {
				b.WriteByte('\n')
			}
			b.WriteString(s.plainSpans(s.all[i].pieces))
		}
		if text := b.String(); !blank(text) {
			language := languagePattern.FindString(s.codes[t.block-1])
			all = append(all, Rich{Type: "rich_text_preformatted", Language: language, Elements: []Rich{{Type: "text", Text: text}}})
		}
	}
	return all
}

// languagePattern finds the language in what stands behind the fence of a code block.
var languagePattern = regexp.MustCompile(`^[A-Za-z0-9+#._-]{1,40}`)

// richSpans writes spans as rich text. strong makes all of them bold.
func (f *flow) richSpans(spans []span, strong bool) []Rich {
	var all []Rich
	for _, s := range spans {
		if s.text == "" {
			continue
		}
		r := Rich{Type: "text", Text: s.text}
		if m := f.links.of(s.look); m != nil && m.to != "" {
			r.Type, r.URL = "link", m.to
		}
		look := Look{Bold: strong || s.look&bold != 0, Italic: s.look&italic != 0, Strike: s.look&strike != 0, Code: s.look&code != 0}
		if look != (Look{}) {
			r.Style = &look
		}
		all = append(all, r)
	}
	return all
}

// tableBlock writes the rows of a table. A table that continues from the part before
// gets its head again.
func (s *slackWriter) tableBlock(from, to int) Block {
	b := Block{Type: "table"}
	first := &s.all[from]
	for _, a := range first.align {
		align := map[extast.Alignment]string{extast.AlignRight: "right", extast.AlignCenter: "center"}[a]
		if align == "" {
			align = "left"
		}
		b.Columns = append(b.Columns, Column{Align: align, Wrapped: true})
	}
	if !first.first {
		for j := from; j >= 0; j-- {
			if head := &s.all[j]; head.first && head.block == first.block && head.kind == rowLine {
				b.Rows = append(b.Rows, s.cells(head))
				break
			}
		}
	}
	for i := from; i < to; i++ {
		b.Rows = append(b.Rows, s.cells(&s.all[i]))
	}
	return b
}

// cells writes a row. Slack takes no empty cell.
func (s *slackWriter) cells(t *slackText) []Rich {
	row := make([]Rich, 0, len(t.line.cells))
	for _, cell := range t.line.cells {
		parts := s.richSpans(oneLineSpans(cell), t.first)
		switch {
		case len(parts) == 0:
			row = append(row, Rich{Type: "raw_text", Text: " "})
		case len(parts) == 1 && parts[0].Style == nil && parts[0].URL == "":
			row = append(row, Rich{Type: "raw_text", Text: parts[0].Text})
		default:
			row = append(row, Rich{Type: "rich_text", Elements: []Rich{{Type: "rich_text_section", Elements: parts}}})
		}
	}
	return row
}
