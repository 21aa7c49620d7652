package lenient

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// closer returns the marks that end a string which begins like this text, or
// "" when no string begins here.
func closer(text string) string {
	for _, q := range [...][2]string{{`"`, `"`}, {`'`, `'`}, {`“`, `”“`}, {`‘`, `’‘`}, {`„`, `“”`}, {`«`, `»`}} {
		if strings.HasPrefix(text, q[0]) {
			return q[1]
		}
	}
	return ""
}

// quotedString reads a string in any kind of quotes, writes it in double quotes
// and returns its text without them, escapes included. A key does not go over
// the end of a line.
func (r *reader) quotedString(key bool) (string, verdict) {
	closers := closer(r.text[r.pos:])
	_, size := utf8.DecodeRuneInString(r.text[r.pos:])
	r.pos += size
	r.out = append(r.out, '"')
	start := len(r.out)
	for r.pos < len(r.text) {
		r.plain()
		if r.pos >= len(r.text) {
			break
		}
		c, size := utf8.DecodeRuneInString(r.text[r.pos:])
		switch {
		case c == '\\':
			r.escape()
			continue
		case strings.ContainsRune(closers, c) && (c == '"' || r.closes(size)):
			r.pos += size
			r.out = append(r.out, '"')
			return string(r.out[start : len(r.out)-1]), complete
		case c == '"':
			r.out = append(r.out, `\"`...)
		case c == '\n' && key:
			return "", bad
		case c < ' ':
			r.out = append(r.out, control(c)...)
		default: // also turns an invalid byte into the replacement character
			r.out = utf8.AppendRune(r.out, c)
		}
		r.pos += size
	}
	return string(r.out[start:]), ended
}

// plain copies text without special characters.
func (r *reader) plain() {
	start := r.pos
	for r.pos < len(r.text) {
		c := r.text[r.pos]
		if c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\'' || c == '\\' {
			break
		}
		r.pos++
	}
	r.out = append(r.out, r.text[start:r.pos]...)
}

// closes tells the quote that ends a string from an apostrophe in it by what
// follows.
func (r *reader) closes(size int) bool {
	rest := strings.TrimLeft(r.text[r.pos+size:], " \t\r\n")
	return rest == "" || strings.IndexByte(",:}]#/", rest[0]) >= 0 || rest[0] == ')' && r.text[r.open[0]] == '(' || strings.HasPrefix(rest, "，") || strings.HasPrefix(rest, "：")
}

// escape reads an escape. One that JSON does not know means its two characters, as
// in a path or a regular expression.
func (r *reader) escape() {
	rest := r.text[r.pos:]
	switch {
	case len(rest) < 2:
		r.pos = len(r.text)
	case strings.IndexByte(`"\/bfnrt`, rest[1]) >= 0:
		r.out = append(r.out, rest[:2]...)
		r.pos += 2
	case rest[1] == 'u' && hex4(rest[2:]):
		r.out = append(r.out, rest[:6]...)
		r.pos += 6
	case rest[1] == '\'':
		r.out = append(r.out, '\'')
		r.pos += 2
	case rest[1] == '\n': // a continued line
		r.pos += 2
	default:
		r.out = append(r.out, `\\`...)
		r.pos++
	}
}

func hex4(s string) bool {
	if len(s) < 4 {
		return false
	}
	for i := range 4 {
		c := s[i] | 0x20
		if (s[i] < '0' || s[i] > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func control(c rune) string {
	switch c {
	case '\n':
		return `\n`
	case '\t':
		return `\t`
	case '\r':
		return `\r`
	}
	return fmt.Sprintf(`\u%04x`, c)
}
