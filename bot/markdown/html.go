package markdown

import (
	"regexp"
	"strconv"
	"strings"
)

// blockTag is a tag that Markdown has a block for, or that only places text.
var blockTag = regexp.MustCompile(`(?i)</?(table|thead|tbody|tfoot|tr|th|td|ul|ol|li|p|div|center|h[1-6]|hr)(?:\s[^<>]*)?/?>`)

// htmlToMarkdown rewrites paragraphs of HTML as Markdown: those outside of code that
// begin with a tag of blockTag and hold its end, or are that tag alone. Tags inside of
// other text are left to tags.go.
func htmlToMarkdown(src string) string {
	if !blockTag.MatchString(src) {
		return src
	}
	return rewriteLines(src, func(rest, line string, inCode bool) (string, int) {
		end := len(line)
		if inCode || !startsHTML(line) {
			return line, end
		}
		for end < len(rest) {
			next := lineStop(rest, end)
			if line := strings.TrimSpace(rest[end:next]); line == "" || fenceMark(line) != "" {
				break
			}
			end = next
		}
		if text, ok := rewriteHTML(rest[:end]); ok {
			return text, end
		}
		return rest[:end], end
	})
}

// startsHTML reports whether a line begins with a tag of blockTag.
func startsHTML(line string) bool {
	text := strings.TrimLeft(line, " ")
	if len(line)-len(text) > 3 || !strings.HasPrefix(text, "<") {
		return false
	}
	at := blockTag.FindStringIndex(text)
	return at != nil && at[0] == 0
}

// rewriteHTML rewrites a paragraph; ok is false if it has to stay as it is.
func rewriteHTML(text string) (_ string, ok bool) {
	text = strings.TrimSpace(text)
	first := blockTag.FindStringSubmatch(text)
	name := strings.ToLower(first[1])
	if name != "hr" && first[0] != text && !strings.Contains(strings.ToLower(text), "</"+name) {
		return "", false
	}
	var h htmlWriter
	for text != "" {
		at := blockTag.FindStringSubmatchIndex(text)
		end := len(text)
		if at != nil {
			end = at[0]
		}
		stop := 0 // behind the latest code before the tag
		for tick := strings.IndexByte(text[:end], '`'); tick >= 0 && stop < end; tick = strings.IndexByte(text[stop:max(end, stop)], '`') {
			tick += stop
			n := run(text, tick)
			stop = max(codeEnd(text, tick+n, n), tick+n)
		}
		if stop > end { // the tag is in code
			h.text(text[:stop])
			text = text[stop:]
			continue
		}
		h.text(text[:end])
		if at == nil {
			break
		}
		h.tag(strings.ToLower(text[at[2]:at[3]]), text[at[0]+1] == '/')
		text = text[at[1]:]
	}
	return h.b.String() + "\n\n", true
}

// htmlWriter writes the Markdown of a paragraph of HTML.
type htmlWriter struct {
	b           strings.Builder
	lists       []int // the number of the latest item of each list; -1 in a list of bullets
	table       bool
	rows, cells int // of the table; cells of the row
}

// text writes text between tags.
func (h *htmlWriter) text(s string) {
	if h.table {
		s = strings.ReplaceAll(s, "|", `\|`)
	}
	if h.table || len(h.lists) > 0 {
		s = strings.ReplaceAll(s, "\n", " ")
		if strings.TrimSpace(s) == "" {
			return
		}
	}
	if h.table && h.cells == 0 {
		h.table = false // it is not a table that Markdown has
		h.b.WriteString("\n\n")
	}
	h.b.WriteString(s)
}

// tag writes what a tag stands for.
func (h *htmlWriter) tag(name string, closing bool) {
	switch name {
	case "table":
		h.table, h.rows, h.cells = !closing, 0, 0
		h.b.WriteString("\n\n")
	case "tr":
		h.row(closing)
	case "th", "td":
		switch {
		case !h.table:
			h.b.WriteByte(' ')
		case closing:
			h.b.WriteString(" |")
		default:
			h.b.WriteByte(' ')
			h.cells++
		}
	case "thead", "tbody", "tfoot":
	default:
		if !h.table {
			h.block(name, closing)
		}
	}
}

// row begins or ends a row of a table. The line below the first one makes it a table.
func (h *htmlWriter) row(closing bool) {
	switch {
	case !closing:
		h.b.WriteByte('\n')
		if h.table {
			h.b.WriteByte('|')
		}
	case h.table && h.cells > 0:
		if h.rows++; h.rows == 1 {
			h.b.WriteString("\n|" + strings.Repeat(" --- |", h.cells))
		}
		h.cells = 0
	}
}

// block writes a tag outside of tables.
func (h *htmlWriter) block(name string, closing bool) {
	switch inList := len(h.lists) > 0; {
	case (name == "ul" || name == "ol") && closing:
		h.lists = h.lists[:max(len(h.lists)-1, 0)]
		if len(h.lists) == 0 {
			h.b.WriteString("\n\n")
		}
	case name == "ul", name == "ol":
		if !inList {
			h.b.WriteString("\n\n")
		}
		number := -1
		if name == "ol" {
			number = 0
		}
		h.lists = append(h.lists, number)
	case name == "li" && !closing:
		mark := "- "
		if inList {
			if n := &h.lists[len(h.lists)-1]; *n >= 0 {
				*n++
				mark = strconv.Itoa(*n) + ". "
			}
		}
		h.b.WriteString("\n" + strings.Repeat("    ", min(max(len(h.lists)-1, 0), chatDepth)) + mark)
	case name == "li":
	case inList:
		h.b.WriteByte(' ')
	case name == "hr":
		h.b.WriteString("\n\n---\n\n")
	case name[0] == 'h' && !closing:
		h.b.WriteString("\n\n" + strings.Repeat("#", int(name[1]-'0')) + " ")
	default:
		h.b.WriteString("\n\n")
	}
}
