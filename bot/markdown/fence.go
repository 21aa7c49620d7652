package markdown

import (
	"slices"
	"strings"
)

// fence is the code fence that is open at a line, the quotations around it and the list
// items inside of these.
type fence struct {
	quotes int
	mark   string // "```" or longer; empty for none
	column int
	items  []listMark // outermost first
}

// listMark is the mark of a list item.
type listMark struct {
	text         string // such as "-" or "12."
	column, room int    // where it and the text behind it begin
}

// readListMark returns the mark of the item that begins in a line; ok is false for other
// lines.
func readListMark(line string) (m listMark, ok bool) {
	text := strings.TrimLeft(line, " ")
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	signs := "-*+"
	if digits > 0 {
		signs = ".)"
	}
	if digits > 9 || digits == len(text) || strings.IndexByte(signs, text[digits]) < 0 {
		return m, false
	}
	behind := text[digits+1:]
	inner := strings.TrimLeft(behind, " ")
	m = listMark{text: text[:digits+1], column: len(line) - len(text), room: len(line) - len(inner)}
	return m, len(inner) < len(behind) && inner != "" && strings.IndexByte("\t\n", inner[0]) < 0
}

// after returns the fence that is open after a line.
func (f fence) after(line string) fence {
	rest, quotes := unquote(line, f.quotes)
	if f.mark == "" {
		rest, quotes = unquote(line, maxDepth)
	}
	if quotes != f.quotes {
		if f.mark != "" {
			return fence{}.after(line) // the quotation is over, and its code with it
		}
		f = fence{quotes: quotes}
	}
	line = rest
	text := strings.TrimLeft(line, " ")
	column := len(line) - len(text)
	if f.mark != "" {
		text = strings.TrimSpace(text)
		if mark := fenceMark(text); mark == text && mark != "" && mark[0] == f.mark[0] && len(mark) >= len(f.mark) {
			f.mark = ""
		}
		return f
	}
	if text == "" {
		return f
	}
	outer := slices.IndexFunc(f.items, func(m listMark) bool { return m.room > column })
	if outer >= 0 {
		f.items = f.items[:outer:outer]
	}
	if m, ok := readListMark(line); ok {
		column = m.room
		f.items = append(slices.Clip(f.items), m)
		text = line[column:]
	}
	if mark := fenceMark(strings.TrimSpace(text)); mark != "" && (mark[0] == '~' || !strings.Contains(strings.TrimSpace(text)[len(mark):], "`")) {
		f.mark, f.column = mark, column
	}
	return f
}

// unquote removes up to most marks of quotations from the start of a line.
func unquote(line string, most int) (rest string, quotes int) {
	for quotes < most {
		text := strings.TrimLeft(line, " ")
		if len(line)-len(text) > 3 || !strings.HasPrefix(text, ">") {
			break
		}
		line = strings.TrimPrefix(text[1:], " ")
		quotes++
	}
	return line, quotes
}

// opening is the lines that open the fence again, behind the marks of its list items.
func (f fence) opening() string {
	var b strings.Builder
	for _, m := range f.items {
		b.WriteString(strings.Repeat(" ", max(m.column-b.Len(), 0)) + m.text)
	}
	quote := f.quote()
	if b.Len() > 0 {
		b.WriteString("\n" + quote)
	}
	return quote + b.String() + strings.Repeat(" ", f.column) + f.mark + "\n"
}

// quote is the marks of the quotations.
func (f fence) quote() string { return strings.Repeat("> ", f.quotes) }

// splitClosings puts the words behind a closing fence into a line of their own. Models
// write "```and then", and CommonMark would read that as code.
func splitClosings(src string) string {
	if !strings.Contains(src, "```") && !strings.Contains(src, "~~~") {
		return src
	}
	var b strings.Builder
	b.Grow(len(src) + len(src)/8)
	var open fence
	for src != "" {
		line := src[:lineStop(src, 0)]
		src = src[len(line):]
		if mark, end := open.closing(line); end > 0 {
			b.WriteString(line[:end] + "\n")
			line = line[:mark] + strings.TrimLeft(line[end:], " ")
			open.mark = ""
		}
		b.WriteString(line)
		open = open.after(strings.TrimSuffix(line, "\n"))
	}
	return b.String()
}

// closing is where the mark begins and ends in a line that closes the fence and goes on
// with words; 0 in other lines. The name of a language, alone or with attributes, is not
// words: an example of Markdown has such lines in its code.
func (f fence) closing(line string) (mark, end int) {
	rest, quotes := unquote(line, f.quotes)
	text := strings.TrimLeft(rest, " ")
	run := fenceMark(text)
	if f.mark == "" || quotes != f.quotes || len(rest)-len(text) > f.column+3 || len(run) < len(f.mark) || run[0] != f.mark[0] {
		return 0, 0
	}
	words := strings.TrimSpace(text[len(run):])
	if words == "" || strings.ContainsAny(words, "={") || language(words) != "" && !strings.HasSuffix(words, ".") {
		return 0, 0
	}
	mark = len(line) - len(text)
	return mark, mark + len(run)
}

// fenceMark is the run of three or more fence characters that text starts with.
func fenceMark(text string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(text) - len(strings.TrimLeft(text, c)); n >= 3 {
			return text[:n]
		}
	}
	return ""
}

// fenceBegins reports whether line may become the end of the open fence.
func fenceBegins(line, fence string) bool {
	line = strings.TrimSpace(line)
	return line != "" && len(line) < len(fence) && strings.Trim(line, fence[:1]) == ""
}
