package bot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxIndent is how deep JSON may be nested and still be indented: the spaces
// grow with the square of the depth.
const maxIndent = 50

// VisibleJSON is raw indented, for a person to read: keys in their order, those
// that are repeated too, numbers as they stand, and strings without needless
// escapes, but with one for each character that Visible would write as one. It
// is JSON of the same value; halves of surrogate pairs stay as they are. What
// is no JSON is shown by Visible.
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

// depth is how deep a text that may be JSON is nested at most.
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

// closing is where the string ends whose inside s begins with; len(s) when it
// does not.
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

// characters are those that the inside of a JSON string stands for. Halves of
// surrogate pairs that are alone are among them.
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
