package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// codeText writes a code span, or text if it would need too many backticks.
func (w *inlineWriter) codeText(s string) string {
	longest := 0
	for i := 0; i < len(s); i++ {
		if s[i] == '`' {
			n := run(s, i)
			longest = max(longest, n)
			i += n
		}
	}
	if longest > 8 && !w.style.rich {
		return strings.ReplaceAll(w.escape(s), " ", "\u00a0")
	}
	if w.cell {
		s = strings.ReplaceAll(s, "|", `\|`)
	}
	fence := strings.Repeat("`", longest+1)
	if s[0] == '`' || s[len(s)-1] == '`' || s[0] == ' ' && s[len(s)-1] == ' ' && strings.Trim(s, " ") != "" {
		s = " " + s + " "
	}
	return fence + s + fence
}

// breakMentions breaks text inside code that Slack might read as a mention.
func (f *flow) breakMentions(s string) string {
	if f.style.rich {
		return s
	}
	return breakMentions(s)
}

func breakMentions(s string) string {
	if !strings.Contains(s, "<") {
		return s
	}
	for _, mention := range []string{"<@", "<#", "<!"} {
		s = strings.ReplaceAll(s, mention, "<\u2060"+mention[1:])
	}
	return s
}

// escape makes text literal in Markdown: no markup, no mention, no HTML.
func (w *inlineWriter) escape(s string) string {
	start := w.b.Len() == 0 && !w.cell
	m := w.inLink()
	label := m != nil
	if label && w.bare(m) {
		return s
	}
	if !start && !label && !w.cell && !w.style.rich && !strings.ContainsAny(s, "\\`*_~]!<&") {
		return s
	}
	var b strings.Builder
	if s[0] == '~' && strings.HasSuffix(w.b.String(), "~") {
		b.WriteByte('\\') // otherwise there would be three backticks, which begin a code block
	}
	if n := startMark(s); start && n >= 0 {
		b.WriteString(s[:n] + `\`)
		b.WriteByte(s[n])
		s = s[n+1:]
	}
	for i := 0; i < len(s); i++ {
		if needsEscape(s, i, label) || w.cell && s[i] == '|' || w.style.rich && richMark(s, i) {
			b.WriteByte('\\')
		}
		switch c := s[i]; {
		case c == '<':
			b.WriteString("&lt;")
		case c == '>' && start && i == 0:
			b.WriteString("&gt;")
		case c == '&' && startsEntity(s[i+1:]):
			b.WriteString("&amp;")
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// richMark reports whether a rich message of Telegram may read the character at i as a
// mark that other Markdown does not have: $formula$, ==marked==, ||hidden||, [^note]
// (core.telegram.org/bots/api#rich-markdown-style).
func richMark(s string, i int) bool {
	switch c := s[i]; c {
	case '$':
		return true
	case '=', '|', '+', '^':
		return i > 0 && s[i-1] == c || i+1 < len(s) && s[i+1] == c
	case '[':
		return i+1 < len(s) && s[i+1] == '^'
	}
	return false
}

// startMark is the place for a backslash in text at the start of a line, so that
// it does not begin a heading, list, rule or table; -1 if none is needed.
func startMark(s string) int {
	switch c := s[0]; c {
	case '#', '-', '+':
		if rest := strings.TrimLeft(s, s[:1]); rest == "" || rest[0] == ' ' || c != '#' && strings.Trim(s, "-: |") == "" {
			return 0
		}
	case '=', '|', ':':
		if strings.Trim(s, "=|:- ") == "" || c == '|' {
			return 0
		}
	case '[':
		return 0 // a definition, which would not be shown
	}
	n := len(s) - len(strings.TrimLeft(s, "0123456789"))
	if n > 0 && n < len(s) && (s[n] == '.' || s[n] == ')') && (n+1 == len(s) || s[n+1] == ' ') {
		return n
	}
	return -1
}

// needsEscape reports whether the character at i needs a backslash.
func needsEscape(s string, i int, label bool) bool {
	c := s[i]
	next := byte(0)
	if i+1 < len(s) {
		next = s[i+1]
	}
	switch c {
	case '`':
		return true
	case '\\':
		return next == 0 || next < utf8.RuneSelf && unicode.IsPunct(rune(next)) || unicode.IsSymbol(rune(next))
	case '~':
		return next == 0 || i > 0 && s[i-1] != ' ' // an opening mark alone has no effect
	case '*', '_':
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		after, _ := utf8.DecodeRuneInString(s[i+1:])
		switch {
		case i > 0 && i+1 < len(s) && before == ' ' && after == ' ':
			return false
		case c == '_':
			return !isWord(before) || !isWord(after)
		}
		return true
	case '[':
		return label
	case ']':
		return label || next == 0 || next == '(' || next == '['
	case '!':
		return next == 0
	case ':':
		return label && strings.HasPrefix(s[i:], "://")
	case '.':
		return label && i >= 3 && strings.EqualFold(s[i-3:i], "www")
	case '@':
		return label
	}
	return false
}

func isWord(c rune) bool { return c != utf8.RuneError && (unicode.IsLetter(c) || unicode.IsDigit(c)) }

// startsEntity reports whether an ampersand before rest would start an entity.
func startsEntity(rest string) bool {
	name := strings.TrimPrefix(rest, "#")
	n := 0
	for n < len(name) && n < 40 && (name[n]|0x20 >= 'a' && name[n]|0x20 <= 'z' || name[n] >= '0' && name[n] <= '9') {
		n++
	}
	return n > 0 && n < len(name) && name[n] == ';'
}
