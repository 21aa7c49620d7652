package cards

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"

	"legwork/bot"
	"legwork/bot/markdown"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/policy"
)

// PlainText escapes a text, so that Markdown shows it unchanged. No escaped bracket
// opens: it would begin a formula. Signs that mean something only at the beginning of a
// line stay as they are behind a letter, since a pipe shows Markdown as it is; "www."
// begins a link.
func PlainText(s string) string {
	var b strings.Builder
	var last rune
	number := true // of an item of a list, so far
	for _, c := range s {
		behind := unicode.IsLetter(last) && last != 'w' && last != 'W' || unicode.IsDigit(last) && !number
		last, number = c, c == '\n' || number && (unicode.IsDigit(c) || unicode.IsSpace(c))
		switch {
		case behind && strings.ContainsRune("#+-=.", c):
		case c == '[':
			b.WriteString("&#91;")
			continue
		case strings.ContainsRune("\\`*_{}]<>)#+-=.!|~&:$", c):
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// unlinked is a text with words of a model, as a chat may show it: an address that the
// task has not read is no link, since it may carry private data out when it is opened.
func unlinked(v *tasks.View, text string) string {
	return markdown.Unlinked(text, policy.Linkable(v, planner.PromptInput{}))
}

// maxTitle is the maximum length of a title or line, in runes.
const maxTitle = 80

// Title is a goal in one short line, without its quotations.
func Title(goal string) string {
	own := slices.DeleteFunc(strings.Split(goal, "\n"), func(l string) bool { return strings.HasPrefix(l, ">") })
	return cmp.Or(Line(strings.Join(own, " ")), Line(goal))
}

// Line shortens a text to one line. It cuts between words, unless that would leave less
// than half of the line.
func Line(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	r := []rune(s)
	if len(r) <= maxTitle {
		return s
	}
	cut := string(r[:maxTitle-1])
	if i := strings.LastIndexByte(cut, ' '); r[maxTitle-1] != ' ' && i > len(cut)/2 {
		cut = cut[:i]
	}
	return cut + "…"
}

// NameOf is the visible name of a person, or the key of a person without a name.
func NameOf(name, key string) string {
	return cmp.Or(Line(bot.Visible(name)), key)
}

// InCode shows a text of outsiders unchanged, in one line.
func InCode(s string) string {
	return "`" + cmp.Or(strings.Join(strings.Fields(strings.ReplaceAll(bot.Visible(s), "`", "'")), " "), "?") + "`"
}

// InZone is a time in a time zone. It is in UTC if the zone is unknown.
func InZone(at time.Time, zone string) time.Time {
	if location, err := time.LoadLocation(zone); err == nil {
		return at.In(location)
	}
	return at.UTC()
}

// clockIn formats a time in a time zone, with the date only if that differs from
// the date of since.
func clockIn(at, since time.Time, zone string) string {
	at, since = InZone(at, zone), InZone(since, zone)
	if at.Format(time.DateOnly) == since.Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}

// quoted shows a text of outsiders unchanged, as a quotation.
func quoted(s string) string {
	lines := strings.Split(strings.TrimSpace(bot.Visible(s)), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight("> "+PlainText(strings.ReplaceAll(l, "\t", " ")), " ")
	}
	return strings.Join(lines, "\n")
}
