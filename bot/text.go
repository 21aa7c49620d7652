package bot

import (
	"regexp"
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
	if strings.Contains(s, "\r") {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	}
	return strings.Map(clean, s)
}

// clean is the character that Clean writes for c; -1 for none.
func clean(c rune) rune {
	switch {
	case c >= ' ' && c < 0x7f, c == '\n', c == '\t':
		return c
	case c == '\u0085' || c == '\u2028' || c == '\u2029':
		return '\n'
	case c < 0x20:
		return 0x2400 + c // the pictures of control characters
	case c == 0x7f:
		return '␡'
	case c > 0x7f && c < 0xa0:
		return utf8.RuneError
	case turns(c):
		return -1
	}
	return c
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

// connectSecret is the command /connect with a server and a secret.
var connectSecret = regexp.MustCompile(`(?is)^(\s*/connect(?:@\w+)?\s+\S+\s+)\S.*$`)

// WithoutSecret is what a person wrote as it may be kept and shown: the secret behind
// /connect is hidden.
func WithoutSecret(text string) string { return connectSecret.ReplaceAllString(text, "${1}•••") }
