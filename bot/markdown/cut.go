package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// afterWord is where the word after the last space of text starts; 0 for none.
func afterWord(text string) int {
	n := strings.LastIndexByte(text, ' ') + 1
	if wide := strings.LastIndexAny(text, "。！？，；、"); wide >= n {
		n = wide + len("。")
	}
	return n
}

// afterSentence is where the last sentence of text starts; 0 for none.
func afterSentence(text string) int {
	for i := len(text); i > 0; {
		c, size := utf8.DecodeLastRuneInString(text[:i])
		switch c {
		case '。', '！', '？':
			return i
		case '.', '!', '?', '…':
			before, _ := utf8.DecodeLastRuneInString(text[:i-size])
			if i < len(text) && text[i] == ' ' && !unicode.IsDigit(before) {
				return i + 1
			}
		}
		i -= size
	}
	return 0
}

// units is the length of text in UTF-16 units.
func units(text string) int {
	n := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c >= 0xf0:
			n += 2
		case c < 0x80 || c >= 0xc0:
			n++
		}
	}
	return n
}

// prefixUnits is the length in bytes of the longest start of text that has at
// most room units.
func prefixUnits(text string, room int) int {
	n := 0
	for i, c := range text {
		if n++; c > 0xffff {
			n++
		}
		if n > room {
			return i
		}
	}
	return len(text)
}

// clusterEnd is the last place up to n that is between two characters as
// people see them, or n when there is none near.
func clusterEnd(text string, n int) int {
	const near = 256
	from := max(0, n-near)
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for from > 0 { // flags are pairs of characters
		c, size := utf8.DecodeLastRuneInString(text[:from])
		if c < 0x1f1e6 || c > 0x1f1ff {
			break
		}
		from -= size
	}
	to := min(len(text), n+near)
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	best, pos := n, from
	g := displaywidth.StringGraphemes(text[from:to])
	for g.Next() && pos+len(g.Value()) <= n {
		pos += len(g.Value())
		best = pos
	}
	if best == from {
		return n
	}
	return best
}

// blank reports whether nothing of a text would be seen.
func blank(text string) bool {
	for _, c := range text {
		if !unicode.IsSpace(c) && !unicode.Is(unicode.C, c) && !unicode.Is(unicode.Mn, c) {
			return false
		}
	}
	return true
}
