package tasks

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"legwork/bot"
)

// plainText makes Markdown that shows a text as it is.
func plainText(s string) string {
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

// title is a goal in one short line, without what it quotes of others.
func title(goal string) string {
	own := slices.DeleteFunc(strings.Split(goal, "\n"), func(l string) bool { return strings.HasPrefix(l, ">") })
	return cmp.Or(line(strings.Join(own, " ")), line(goal))
}

// line makes one short line of a text.
func line(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > maxTitle {
		return string(r[:maxTitle-1]) + "…"
	}
	return s
}

// nameOf is how a person is shown: by their name, made harmless, otherwise by
// their key.
func nameOf(name, key string) string {
	return cmp.Or(line(bot.Visible(name)), key)
}

// inCode shows a text of outsiders as it is, in one line.
func inCode(s string) string {
	return "`" + cmp.Or(strings.Join(strings.Fields(strings.ReplaceAll(bot.Visible(s), "`", "'")), " "), "?") + "`"
}

// inZone is a moment in a time zone.
func inZone(at time.Time, zone string) time.Time {
	if location, err := time.LoadLocation(zone); err == nil {
		return at.In(location)
	}
	return at.UTC()
}

// clockIn writes a moment as a clock there shows it, with the date when that is
// another than of the moment since.
func clockIn(at, since time.Time, zone string) string {
	at, since = inZone(at, zone), inZone(since, zone)
	if at.Format(time.DateOnly) == since.Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}

// quoted is a text of outsiders as a quotation that shows it as it is.
func quoted(s string) string {
	lines := strings.Split(strings.TrimSpace(bot.Visible(s)), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight("> "+plainText(strings.ReplaceAll(l, "\t", " ")), " ")
	}
	return strings.Join(lines, "\n")
}
