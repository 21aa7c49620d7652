package bot

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// Clean makes text from outside safe to write to a terminal: invalid UTF-8
// becomes U+FFFD, control characters other than newline and tab become their
// visible pictures (ESC becomes ␛), C1 controls become U+FFFD, and the marks
// that turn the direction of text are removed. Carriage returns before a
// newline are dropped, other line separators become newlines.
func Clean(s string) string {
	if isClean(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i, c := range s {
		switch {
		case c == '\r':
			if i+1 == len(s) || s[i+1] != '\n' {
				b.WriteByte('\n')
			}
		case c == '\u0085' || c == '\u2028' || c == '\u2029':
			b.WriteByte('\n')
		case c == '\n' || c == '\t':
			b.WriteRune(c)
		case c < 0x20:
			b.WriteRune(0x2400 + c) // the pictures of control characters
		case c == 0x7f:
			b.WriteRune('␡')
		case c > 0x7f && c < 0xa0:
			b.WriteRune(utf8.RuneError)
		case turns(c):
		default:
			b.WriteRune(c) // RuneError for invalid bytes
		}
	}
	return b.String()
}

// isClean reports whether Clean would return s unchanged.
func isClean(s string) bool {
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f {
				return false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if (r == utf8.RuneError && n == 1) || r < 0xa0 || r == '\u2028' || r == '\u2029' || turns(r) {
			return false
		}
		i += n
	}
	return true
}

// turns reports whether c overrides or isolates the direction of text, which can
// make a text look like another one.
func turns(c rune) bool {
	return c == '\u061c' || c == '\u200e' || c == '\u200f' ||
		(c >= '\u202a' && c <= '\u202e') || (c >= '\u2066' && c <= '\u2069')
}

// TextWidth is the number of terminal columns that s takes: two for East Asian
// wide characters and emoji, none for combining marks. s must not contain
// controls or escape sequences.
func TextWidth(s string) int { return displaywidth.String(s) }

// CutText shortens s to at most width columns; a cut text ends in "…". s is
// one line without escape sequences.
func CutText(s string, width int) string {
	if width <= 0 {
		return ""
	}
	return displaywidth.TruncateString(s, width, "…")
}

// Fence is content as a fenced block of Markdown. The fence is longer than every
// run of backticks in content. info is the language, such
// as "json", or empty.
func Fence(content, info string) string {
	longest, run := 2, 0
	for i := range len(content) {
		if content[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	info = strings.Map(func(c rune) rune {
		if c == '`' || unicode.IsSpace(c) || unicode.IsControl(c) {
			return -1
		}
		return c
	}, info)
	if content != "" && !strings.HasSuffix(content, "\n") {
		content += "\n"
	}
	return fence + info + "\n" + content + fence + "\n"
}
