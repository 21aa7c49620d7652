package bot

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible writes every character that cannot be seen, or that changes how its
// neighbours look, as an escape such as \x1b, \u202e or \U000e0041, so that
// what a person reads is what there is: controls other than newline and tab,
// marks of direction, zero-width characters, tags, selectors of variants that
// are no emoji's, spaces other than the usual one, private and unassigned
// characters. Invalid UTF-8 becomes U+FFFD. Characters that look alike stay.
func Visible(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	before := rune(-1)
	for i, c := range s {
		switch {
		case c == '\n' || c == '\t' || !hidden(c) || selects(c) && styles(before, second(s[i:])):
			b.WriteRune(c)
		case c < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, c)
		case c <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			fmt.Fprintf(&b, `\U%08x`, c)
		}
		before = c
	}
	return b.String()
}

// Characters that Unicode counts among the printable ones, but that show nothing.
const (
	brailleBlank = '\u2800'
	objectMark   = '\ufffc'
	khitanFiller = '\U00016fe4'
	nullNotehead = '\U0001d159'
)

// hidden reports whether c cannot be seen by itself.
func hidden(c rune) bool {
	switch {
	case c >= ' ' && c < 0x7f:
		return false
	case c == brailleBlank, c == objectMark, c == khitanFiller, c == nullNotehead:
		return true
	case unicode.In(c, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
		return true
	case unicode.Is(unicode.Prepended_Concatenation_Mark, c):
		return false // a format character that has a shape, such as the Arabic number sign
	}
	return !unicode.IsPrint(c)
}

// keycap surrounds the digit, # or * before it and its selector.
const keycap = '\u20e3'

// pictures are the characters besides symbols that are an emoji with a selector.
const pictures = "\u203c\u2049\u2194\u2934\u2935\u25fb\u25fc\u25fd\u25fe\u3030\u303d"

// selects reports whether c may choose how an emoji is drawn.
func selects(c rune) bool { return c == '\ufe0e' || c == '\ufe0f' }

// styles reports whether a selector between both characters does nothing else
// than that.
func styles(before, after rune) bool {
	if strings.ContainsRune("0123456789#*", before) {
		return after == keycap
	}
	return unicode.Is(unicode.So, before) && !hidden(before) || strings.ContainsRune(pictures, before)
}

// second is the character after the first one of s; -1 when there is none.
func second(s string) rune {
	_, n := utf8.DecodeRuneInString(s)
	if n == len(s) {
		return -1
	}
	c, _ := utf8.DecodeRuneInString(s[n:])
	return c
}
