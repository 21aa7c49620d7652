package markdown

import (
	"strings"
)

// format is what a piece is inside of in Telegram's HTML, outermost first; 0
// for none. Formats that differ from some place on are closed and opened there.
type format [7]uint32

// The places of a format.
const (
	inQuote = iota
	inCode  // number of the code block
	inLink  // number of the mark
	inStrike
	inBold
	inItalic
	inSpan // of code
)

// formatOf is the format that a piece asks for. Code can be inside nothing but
// a quote.
func (f *flow) formatOf(p piece) format {
	var w format
	if p.quote {
		w[inQuote] = 1
	}
	if p.code > 0 {
		w[inCode] = uint32(p.code)
		return w
	}
	if m := f.links.of(p.look); m != nil && m.to != "" {
		w[inLink] = uint32(p.look >> markShift)
	}
	if p.look&strike != 0 {
		w[inStrike] = 1
	}
	if p.look&code != 0 && w[inLink] == 0 && w[inStrike] == 0 {
		w[inSpan] = 1
		return w
	}
	if p.look&bold != 0 {
		w[inBold] = 1
	}
	if p.look&italic != 0 {
		w[inItalic] = 1
	}
	return w
}

// common is the number of places in which two formats agree.
func (w format) common(other format) int {
	for i := range w {
		if w[i] != other[i] {
			return i
		}
	}
	return len(w)
}

// entities is how many are opened from place on.
func (w format) entities(place int) int {
	n := 0
	for _, v := range w[place:] {
		if v != 0 {
			n++
		}
	}
	return n
}

// within is the format up to a place.
func (w format) within(place int) format {
	clear(w[place:])
	return w
}

// change closes what is open and not wanted, and opens what is wanted.
func (f *flow) change(b *strings.Builder, open, want format) {
	same := open.common(want)
	for i := len(open) - 1; i >= same; i-- {
		if open[i] != 0 {
			b.WriteString(f.tag(i, open[i], true))
		}
	}
	for i := same; i < len(want); i++ {
		if want[i] != 0 {
			b.WriteString(f.tag(i, want[i], false))
		}
	}
}

// tag opens or closes one place of a format.
func (f *flow) tag(place int, value uint32, closing bool) string {
	switch place {
	case inCode:
		lang := language(f.codes[value-1])
		switch {
		case lang == "" && closing:
			return "</pre>"
		case lang == "":
			return "<pre>"
		case closing:
			return "</code></pre>"
		}
		return `<pre><code class="language-` + lang + `">`
	case inLink:
		if closing {
			return "</a>"
		}
		return `<a href="` + TelegramEscape(f.links.marks[value-1].to) + `">`
	}
	name := [...]string{inQuote: "blockquote", inStrike: "s", inBold: "b", inItalic: "i", inSpan: "code"}[place]
	if closing {
		return "</" + name + ">"
	}
	return "<" + name + ">"
}

// tagBytes is at least as long as the tags that open a format from place on
// and close it again.
func (f *flow) tagBytes(w format, place int) int {
	n := 0
	for i := place; i < len(w); i++ {
		switch {
		case w[i] == 0:
		case i == inLink:
			n += 2*len(f.links.marks[w[i]-1].to) + len(`<a href=""></a>`)
		case i == inCode:
			n += len(f.codes[w[i]-1]) + len(`<pre><code class="language-"></code></pre>`)
		default:
			n += len("<blockquote></blockquote>")
		}
	}
	return n
}
