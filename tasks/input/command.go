package input

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// SplitCommand splits a text that begins with a slash into the command's name and
// the rest. The name may carry the name of the bot: "/stop@legwork_bot". A text
// that looks like a path is no command.
func SplitCommand(text string) (name, rest string, ok bool) {
	text, ok = strings.CutPrefix(text, "/")
	if !ok {
		return "", "", false
	}
	name, rest = text, ""
	if end := strings.IndexFunc(text, unicode.IsSpace); end >= 0 {
		name, rest = text[:end], strings.TrimSpace(text[end:])
	}
	name, _, _ = strings.Cut(name, "@")
	odd := func(r rune) bool { return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	if first, _ := utf8.DecodeRuneInString(name); !unicode.IsLetter(first) || strings.IndexFunc(name, odd) >= 0 {
		return "", "", false
	}
	return strings.ToLower(name), rest, true
}

// SplitConnect splits what follows /connect into the name of a server and the secret for
// it, which may be missing.
func SplitConnect(rest string) (server, secret string) {
	end := strings.IndexFunc(rest, unicode.IsSpace)
	if end < 0 {
		return rest, ""
	}
	return rest[:end], strings.TrimSpace(rest[end:])
}
