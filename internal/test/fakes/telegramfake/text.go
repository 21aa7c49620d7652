package telegramfake

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
)

// clean takes out what the service takes out of every text.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r' || r >= 0x2028 && r <= 0x202e:
			return -1
		case r < ' ' && r != '\n' && r != '\t' || r == 0x7f:
			return ' '
		}
		return r
	}, text)
}

// trim takes blanks from the start, up to the first entity, and from the end.
func trim(text string, entities []Entity) (string, []Entity) {
	units := utf16.Encode([]rune(text))
	first := len(units)
	for _, e := range entities {
		first = min(first, max(0, e.Offset))
	}
	from, to := 0, len(units)
	for from < first && blank(units[from]) {
		from++
	}
	for to > from && blank(units[to-1]) {
		to--
	}
	var kept []Entity
	for _, e := range entities {
		e.Offset -= from
		if e.Length = min(e.Length, to-from-e.Offset); e.Length > 0 && e.Offset >= 0 {
			kept = append(kept, e)
		}
	}
	return string(utf16.Decode(units[from:to])), kept
}

func blank(unit uint16) bool { return unicode.IsSpace(rune(unit)) }

var found = regexp.MustCompile(`/[A-Za-z0-9_]{1,64}(@[A-Za-z0-9_]{3,32})?|@[A-Za-z0-9_]{4,32}|https?://[^\s]+`)

// detect finds commands, mentions and addresses as the service does in what
// people write.
func detect(text string) []Entity {
	var entities []Entity
	for _, at := range found.FindAllStringIndex(text, -1) {
		match := text[at[0]:at[1]]
		if at[0] > 0 && !strings.ContainsAny(text[at[0]-1:at[0]], " \n\t(\"'.,;:!?") {
			continue
		}
		kind := "url"
		switch match[0] {
		case '/':
			kind = "bot_command"
		case '@':
			kind = "mention"
		}
		entities = append(entities, Entity{Type: kind, Offset: Length(text[:at[0]]), Length: Length(match)})
	}
	return entities
}

// part is the text of an entity.
func part(text string, e Entity) string {
	units := utf16.Encode([]rune(text))
	from := min(max(0, e.Offset), len(units))
	return string(utf16.Decode(units[from:min(max(from, e.Offset+e.Length), len(units))]))
}

// Entity is the formatting of a part of a text; offset and length count UTF-16
// units.
type Entity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"`
	Length   int    `json:"length"`
	URL      string `json:"url,omitempty"`
	Language string `json:"language,omitempty"`
}

// maxEntities is how many entities of a message count.
const maxEntities = 100

// kinds are the tags and what they make.
func kinds(tag string) string {
	switch tag {
	case "b", "strong":
		return "bold"
	case "i", "em":
		return "italic"
	case "u", "ins":
		return "underline"
	case "s", "strike", "del":
		return "strikethrough"
	case "tg-spoiler", "span":
		return "spoiler"
	case "tg-emoji":
		return "custom_emoji"
	case "a":
		return "text_link"
	case "code", "pre", "blockquote":
		return tag
	}
	return ""
}
