package write

import (
	"net/url"
	"strings"
	"unicode"
)

// document is Markdown that was read: a tree of blocks that each kind of document
// walks.
type document struct {
	blocks []block
	notes  [][]block // footnotes; the run with note n shows notes[n-1]
	title  string    // text of the first heading
}

type blockKind int

const (
	paragraph blockKind = iota
	heading
	list
	item // of a list
	quote
	code
	table
	rule
)

// block is a part of a document. Kind says which of the other fields count.
type block struct {
	kind     blockKind
	level    int       // of a heading, 1 to 6
	slug     string    // of a heading: the anchor that links name
	ordered  bool      // list
	start    int       // of an ordered list
	tight    bool      // list: no space between items
	runs     []run     // of a paragraph or heading
	children []block   // of a list, item or quotation
	text     string    // of code
	rows     [][][]run // of a table, the header first; each has as many cells as there are columns
	align    []string  // of a table's columns: "left", "center", "right" or ""
}

// style is the look of a run.
type style struct {
	bold, italic, strike, code bool
	link                       string // an address, or # and a heading's slug
}

// run is text in one style, a picture or the mark of a footnote. A line break is
// the text "\n".
type run struct {
	style
	text    string // of a picture: what it shows
	picture string
	note    int // counted from 1
}

// plain is the text of runs without style.
func plain(runs []run) string {
	var out strings.Builder
	for _, r := range runs {
		out.WriteString(r.text)
	}
	return out.String()
}

// safeLink returns an address that a document may lead to, and "" for others.
func safeLink(address string) string {
	if strings.HasPrefix(address, "#") {
		return address
	}
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return ""
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		if u.Host == "" {
			return ""
		}
	case "mailto", "tel":
	default:
		return ""
	}
	return u.String()
}

// slug is the anchor of a heading by the rules of common viewers of Markdown.
func slug(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, strings.TrimSpace(text))
}

// wide reports characters of scripts that are written without spaces, each as wide
// as two Latin letters.
func wide(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo) ||
		r >= 0x3000 && r <= 0x303F || r >= 0xFF00 && r <= 0xFF60
}

// cells is the width of text in Latin letters.
func cells(text string) int {
	n := 0
	for _, r := range text {
		switch {
		case wide(r) || unicode.Is(unicode.Hangul, r):
			n += 2
		case !unicode.Is(unicode.Mn, r):
			n++
		}
	}
	return n
}

// columnWidths shares total among columns: each gets what its longest text takes
// where that fits; otherwise wide columns give way before narrow ones, and each keeps
// room for its longest word as far as possible. All are in one unit.
func columnWidths(longest, word []float64, total float64) []float64 {
	sum := func(values []float64) (s float64) {
		for _, v := range values {
			s += v
		}
		return s
	}
	widths := make([]float64, len(longest))
	if whole := sum(longest); whole <= total {
		copy(widths, longest)
		return widths
	}
	least := sum(word)
	if least >= total {
		for i := range widths {
			widths[i] = total / float64(len(widths)) / 2
			if least > 0 {
				widths[i] += total * word[i] / least / 2
			}
		}
		return widths
	}
	spare, want := total-least, sum(longest)-least
	for i := range widths {
		widths[i] = word[i] + spare*(longest[i]-word[i])/want
	}
	return widths
}
