package cards

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"legwork/bot"
)

// PlainText makes Markdown that shows a text as it is.
func PlainText(s string) string {
	var b strings.Builder
	for _, c := range s {
		if strings.ContainsRune("\\`*_{}[]<>()#+-=.!|~&:", c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// maxTitle is how much of a goal or description fits a line, in runes.
const maxTitle = 80

// Title is a goal in one short line, without what it quotes of others.
func Title(goal string) string {
	own := slices.DeleteFunc(strings.Split(goal, "\n"), func(l string) bool { return strings.HasPrefix(l, ">") })
	return cmp.Or(Line(strings.Join(own, " ")), Line(goal))
}

// Line makes one short line of a text.
func Line(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > maxTitle {
		return string(r[:maxTitle-1]) + "…"
	}
	return s
}

// NameOf is how a person is shown: by their name, made harmless, otherwise by
// their key.
func NameOf(name, key string) string {
	return cmp.Or(Line(bot.Visible(name)), key)
}

// InCode shows a text of outsiders as it is, in one line.
func InCode(s string) string {
	return "`" + cmp.Or(strings.Join(strings.Fields(strings.ReplaceAll(bot.Visible(s), "`", "'")), " "), "?") + "`"
}

// InZone is a moment in a time zone.
func InZone(at time.Time, zone string) time.Time {
	if location, err := time.LoadLocation(zone); err == nil {
		return at.In(location)
	}
	return at.UTC()
}

// clockIn writes a moment as a clock there shows it, with the date when that is
// another than of the moment since.
func clockIn(at, since time.Time, zone string) string {
	at, since = InZone(at, zone), InZone(since, zone)
	if at.Format(time.DateOnly) == since.Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}

// quoted is a text of outsiders as a quotation that shows it as it is.
func quoted(s string) string {
	lines := strings.Split(strings.TrimSpace(bot.Visible(s)), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight("> "+PlainText(strings.ReplaceAll(l, "\t", " ")), " ")
	}
	return strings.Join(lines, "\n")
}
