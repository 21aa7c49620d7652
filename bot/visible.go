package bot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Visible writes every character that is invisible, or that changes how its
// neighbours look, as an escape such as \x1b, \u202e or \U000e0041, so that a
// person sees the whole text: controls other than newline and tab,
// marks of direction, zero-width characters, tags, variant selectors
// outside of emoji, spaces other than U+0020, private and unassigned
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

// Characters that are printable by Unicode, but show nothing.
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

// styles reports whether a selector between both characters only does that.
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

// maxIndent is how deep JSON may be nested and still be indented: the spaces
// grow with the square of the depth.
const maxIndent = 50

// VisibleJSON is raw indented, for a person to read: keys in their order, those
// that are repeated too, numbers unchanged, and strings without needless
// escapes, but with an escape for each character that Visible would escape. The
// result is JSON of the same value; halves of surrogate pairs stay. Text that is
// not JSON is shown by Visible.
func VisibleJSON(raw json.RawMessage) string {
	raw = bytes.Trim(raw, " \t\r\n")
	var out bytes.Buffer
	var err error
	if depth(string(raw)) > maxIndent {
		err = json.Compact(&out, raw)
	} else {
		err = json.Indent(&out, raw, "", "  ")
	}
	if err != nil {
		return Visible(string(raw))
	}
	var b strings.Builder
	b.Grow(out.Len())
	for rest := out.String(); rest != ""; {
		before, inside, found := strings.Cut(rest, `"`)
		b.WriteString(before)
		if !found {
			break
		}
		end := closing(inside)
		writeString(&b, characters(inside[:end]))
		rest = inside[end+1:]
	}
	return b.String()
}

// depth is the deepest nesting of a text that may be JSON.
func depth(s string) int {
	deepest, now := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			i += 1 + closing(s[i+1:])
		case '[', '{':
			now++
			deepest = max(deepest, now)
		case ']', '}':
			now--
		}
	}
	return deepest
}

// closing is the end of the string whose inside s begins with; len(s) when it has
// no end.
func closing(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(s)
}

// characters decodes the inside of a JSON string. The result may contain single
// halves of surrogate pairs.
func characters(inside string) []rune {
	all := make([]rune, 0, len(inside))
	for inside != "" {
		c, n := utf8.DecodeRuneInString(inside)
		if c == '\\' {
			c, n = escaped(inside)
			if n == 6 && len(inside) > 6 && inside[6] == '\\' && utf16.IsSurrogate(c) {
				other, m := escaped(inside[6:])
				if pair := utf16.DecodeRune(c, other); pair != utf8.RuneError {
					c, n = pair, n+m
				}
			}
		}
		all = append(all, c)
		inside = inside[n:]
	}
	return all
}

// escaped is the character of the escape that s begins with, and its length.
func escaped(s string) (c rune, n int) {
	if s[1] == 'u' {
		code, err := strconv.ParseUint(s[2:6], 16, 16)
		if err != nil {
			return utf8.RuneError, 6 // not in JSON
		}
		return rune(code), 6
	}
	if i := strings.IndexByte("bfnrt", s[1]); i >= 0 {
		return rune("\b\f\n\r\t"[i]), 2
	}
	return rune(s[1]), 2
}

// writeString writes a JSON string of these characters.
func writeString(b *strings.Builder, all []rune) {
	b.WriteByte('"')
	for i, c := range all {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\r':
			b.WriteString(`\r`)
		case !hidden(c) || selects(c) && i > 0 && styles(all[i-1], next(all[i+1:])):
			b.WriteRune(c)
		case c > 0xffff:
			high, low := utf16.EncodeRune(c)
			fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(b, `\u%04x`, c)
		}
	}
	b.WriteByte('"')
}

// next is the first of the characters that follow; -1 when there is none.
func next(all []rune) rune {
	if len(all) == 0 {
		return -1
	}
	return all[0]
}
