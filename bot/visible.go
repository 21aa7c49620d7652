package bot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
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
	return escapeHidden(s, func(c rune) string {
		switch {
		case c < utf8.RuneSelf:
			return fmt.Sprintf(`\x%02x`, c)
		case c <= 0xffff:
			return fmt.Sprintf(`\u%04x`, c)
		}
		return fmt.Sprintf(`\U%08x`, c)
	})
}

// escapeHidden replaces the characters that cannot be seen by their escapes.
func escapeHidden(s string, escape func(rune) string) string {
	var b strings.Builder
	b.Grow(len(s))
	before := rune(-1)
	for i, c := range s {
		if c == '\n' || c == '\t' || !hidden(c) || selects(c) && styles(before, second(s[i:])) {
			b.WriteRune(c)
		} else {
			b.WriteString(escape(c))
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
	if depth(raw) > maxIndent {
		err = json.Compact(&out, raw)
	} else {
		err = json.Indent(&out, raw, "", "  ")
	}
	if err != nil {
		return Visible(string(raw))
	}
	return escapeHidden(jsonEscape.ReplaceAllStringFunc(out.String(), resolve), func(c rune) string {
		if high, low := utf16.EncodeRune(c); c > 0xffff {
			return fmt.Sprintf(`\u%04x\u%04x`, high, low)
		}
		return fmt.Sprintf(`\u%04x`, c)
	})
}

// depth is how deep JSON is nested.
func depth(raw json.RawMessage) int {
	deepest, now := 0, 0
	in := json.NewDecoder(bytes.NewReader(raw))
	in.UseNumber()
	for {
		switch token, err := in.Token(); {
		case err != nil:
			return deepest
		case token == json.Delim('[') || token == json.Delim('{'):
			now++
			deepest = max(deepest, now)
		case token == json.Delim(']') || token == json.Delim('}'):
			now--
		}
	}
}

// jsonEscape is one escape in a JSON text, or the two of a surrogate pair.
var jsonEscape = regexp.MustCompile(`(?i)\\(?:ud[89ab]..\\ud[c-f]..|u....|.)`)

// resolve is the character of an escape. It stays an escape where JSON needs one, and
// for half of a surrogate pair.
func resolve(escape string) string {
	var c string
	if err := json.Unmarshal([]byte(`"`+escape+`"`), &c); err != nil {
		return escape // not in JSON
	}
	switch {
	case strings.ContainsAny(c, "\"\\\n\r\t"):
		return strconv.Quote(c)[1:3]
	case c == "\ufffd" && !strings.EqualFold(escape, `\ufffd`):
		return strings.ToLower(escape)
	}
	return c
}
