package telegram

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf16"
)

// readable is a message's text without mentions of the bot and with the
// addresses of links, which Telegram keeps apart from the text. Entities are
// counted in UTF-16 code units; those that do not fit the text are ignored.
func readable(text string, entities []entity, me user) (_ string, mentioned bool) {
	if len(entities) == 0 {
		return strings.TrimSpace(text), false
	}
	units := utf16.Encode([]rune(text))
	entities = slices.Clone(entities)
	slices.SortStableFunc(entities, func(a, b entity) int { return cmp.Compare(a.Offset, b.Offset) })
	var out strings.Builder
	at := 0
	for _, e := range entities {
		if e.Offset < at || e.Length <= 0 || e.Offset > len(units) || e.Length > len(units)-e.Offset {
			continue
		}
		end := e.Offset + e.Length
		words := string(utf16.Decode(units[e.Offset:end]))
		switch {
		case names(e, words, me):
			out.WriteString(string(utf16.Decode(units[at:e.Offset])))
			at, mentioned = skip(units, end, out.String()), true
		case e.Type == "text_link" && e.URL != "" && e.URL != words:
			out.WriteString(string(utf16.Decode(units[at:end])) + " (" + e.URL + ")")
			at = end
		}
	}
	out.WriteString(string(utf16.Decode(units[at:])))
	return strings.TrimSpace(out.String()), mentioned
}

// names reports that an entity speaks of the bot.
func names(e entity, words string, me user) bool {
	switch e.Type {
	case "mention":
		return me.Username != "" && strings.EqualFold(words, "@"+me.Username)
	case "text_mention":
		return e.User != nil && e.User.ID == me.ID
	}
	return false
}

// skip returns where the text goes on after a mention that ended at end: at the
// beginning of a message without its comma or colon, elsewhere with one space
// where there were two.
func skip(units []uint16, end int, before string) int {
	if strings.TrimSpace(before) == "" {
		for end < len(units) && strings.ContainsRune(" ,:;", rune(units[end])) {
			end++
		}
		return end
	}
	if end < len(units) && units[end] == ' ' && strings.HasSuffix(before, " ") {
		end++
	}
	return end
}
