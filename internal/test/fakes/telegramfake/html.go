package telegramfake

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// parsed is what HTML comes to. problems are what the service lets pass but
// only a client that does not escape or nest properly sends.
type parsed struct {
	text     string
	entities []Entity
	problems []string
}

type open struct {
	tag, value string // of href or class
	at         int    // units
	attributes []string
}

type htmlParser struct {
	parsed
	source string
	pos    int
	out    strings.Builder
	units  int
	stack  []open
}

// parseHTML reads the HTML that the service knows, by the rules of its
// documents; problem is its own complaint about what it refuses.
func parseHTML(source string) (_ parsed, problem string) {
	p := &htmlParser{source: source}
	for p.pos < len(source) {
		problem := ""
		switch c := source[p.pos]; {
		case c == '&':
			p.reference()
		case c == '<' && strings.HasPrefix(source[p.pos:], "</"):
			problem = p.end()
		case c == '<':
			problem = p.start()
		default:
			r, size := utf8.DecodeRuneInString(source[p.pos:])
			p.pos += size
			p.write(r)
		}
		if problem != "" {
			return parsed{}, problem
		}
	}
	if len(p.stack) > 0 {
		return parsed{}, fmt.Sprintf("Can't find end tag corresponding to start tag %q", p.stack[len(p.stack)-1].tag)
	}
	p.text = p.out.String()
	slices.SortStableFunc(p.entities, func(a, b Entity) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(b.Length, a.Length))
	})
	return p.parsed, ""
}

func (p *htmlParser) write(r rune) {
	p.out.WriteRune(r)
	p.units += max(1, utf16.RuneLen(r))
}

func (p *htmlParser) blame(format string, a ...any) {
	p.problems = append(p.problems, fmt.Sprintf(format, a...))
}

// reference is a character reference, or an ampersand that is none.
func (p *htmlParser) reference() {
	name, _, found := strings.Cut(p.source[p.pos+1:], ";")
	if r, ok := referenced(name); found && ok {
		p.pos += len(name) + 2
		p.write(r)
		return
	}
	p.blame("an ampersand that is no character reference at byte offset %d", p.pos)
	p.pos++
	p.write('&')
}

func referenced(name string) (rune, bool) {
	switch name {
	case "lt":
		return '<', true
	case "gt":
		return '>', true
	case "amp":
		return '&', true
	case "quot":
		return '"', true
	}
	digits, ok := strings.CutPrefix(name, "#")
	base := 10
	if hex, is := strings.CutPrefix(strings.ToLower(digits), "x"); is {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(digits, base, 21)
	if !ok || err != nil || n == 0 || !utf8.ValidRune(rune(n)) {
		return 0, false
	}
	return rune(n), true
}

func (p *htmlParser) start() string {
	at := p.pos
	p.pos++
	tag := strings.ToLower(p.until(func(c byte) bool { return space(c) || c == '>' }))
	if p.pos == len(p.source) {
		return fmt.Sprintf("Unclosed start tag at byte offset %d", at)
	}
	if kinds(tag) == "" {
		return fmt.Sprintf("Unsupported start tag %q at byte offset %d", tag, at)
	}
	o := open{tag: tag, at: p.units}
	if problem := p.attributes(&o, at); problem != "" {
		return problem
	}
	if tag == "span" && o.value != "tg-spoiler" {
		return fmt.Sprintf("Tag \"span\" must have class \"tg-spoiler\" at byte offset %d", at)
	}
	p.checkNesting(o)
	p.stack = append(p.stack, o)
	return ""
}

func (p *htmlParser) attributes(o *open, at int) string {
	for {
		p.until(func(c byte) bool { return !space(c) })
		if p.pos == len(p.source) {
			return fmt.Sprintf("Unclosed start tag %q at byte offset %d", o.tag, at)
		}
		if p.source[p.pos] == '>' {
			p.pos++
			return ""
		}
		name := strings.ToLower(p.until(func(c byte) bool { return space(c) || c == '=' || c == '>' }))
		if name == "" {
			return fmt.Sprintf("Empty attribute name in the tag %q at byte offset %d", o.tag, at)
		}
		o.attributes = append(o.attributes, name)
		if o.tag == "blockquote" && name == "expandable" && p.pos < len(p.source) && p.source[p.pos] != '=' {
			continue
		}
		p.until(func(c byte) bool { return !space(c) })
		if p.pos == len(p.source) || p.source[p.pos] != '=' {
			return fmt.Sprintf("Expected equal sign in declaration of an attribute of the tag %q at byte offset %d", o.tag, at)
		}
		p.pos++
		value, ok := p.value()
		if !ok {
			return fmt.Sprintf("Unclosed start tag at byte offset %d", at)
		}
		switch o.tag + " " + name {
		case "a href", "code class", "span class", "tg-emoji emoji-id":
			o.value = value
		case "blockquote expandable":
		default:
			p.blame("the tag %q has no attribute %q", o.tag, name)
		}
	}
}

// value reads what stands after the equal sign of an attribute.
func (p *htmlParser) value() (string, bool) {
	p.until(func(c byte) bool { return !space(c) })
	if p.pos == len(p.source) {
		return "", false
	}
	quote := p.source[p.pos]
	if quote != '"' && quote != '\'' {
		return p.until(func(c byte) bool { return space(c) || c == '>' }), p.pos < len(p.source)
	}
	p.pos++
	raw := p.until(func(c byte) bool { return c == quote })
	if p.pos == len(p.source) {
		return "", false
	}
	p.pos++
	inner := &htmlParser{source: raw}
	for inner.pos < len(raw) {
		if raw[inner.pos] == '&' {
			inner.reference()
			continue
		}
		r, size := utf8.DecodeRuneInString(raw[inner.pos:])
		inner.pos += size
		inner.write(r)
	}
	p.problems = append(p.problems, inner.problems...)
	return inner.out.String(), true
}

func (p *htmlParser) end() string {
	at := p.pos
	p.pos += 2
	tag := strings.ToLower(p.until(func(c byte) bool { return space(c) || c == '>' }))
	p.until(func(c byte) bool { return !space(c) })
	if p.pos == len(p.source) || p.source[p.pos] != '>' {
		return fmt.Sprintf("Unclosed end tag at byte offset %d", at)
	}
	p.pos++
	if len(p.stack) == 0 {
		return fmt.Sprintf("Unexpected end tag at byte offset %d", at)
	}
	o := p.stack[len(p.stack)-1]
	if tag != o.tag && tag != "" {
		return fmt.Sprintf("Unmatched end tag at byte offset %d, expected \"</%s>\", found \"</%s>\"", at, o.tag, tag)
	}
	p.stack = p.stack[:len(p.stack)-1]
	if p.units > o.at {
		p.add(o)
	}
	return ""
}

// until moves to the first byte that fits, or to the end, and returns what it passed.
func (p *htmlParser) until(fits func(byte) bool) string {
	from := p.pos
	for p.pos < len(p.source) && !fits(p.source[p.pos]) {
		p.pos++
	}
	return p.source[from:p.pos]
}

func space(c byte) bool { return unicode.IsSpace(rune(c)) && c < utf8.RuneSelf }

// checkNesting notes what the documents forbid and the service lets pass.
func (p *htmlParser) checkNesting(o open) {
	for i, outer := range p.stack {
		switch {
		case outer.tag == "blockquote" && o.tag == "blockquote":
			p.blame("a blockquote in a blockquote")
		case outer.tag == "pre" && o.tag == "code" && i == len(p.stack)-1 && outer.at == o.at:
		case outer.tag == "pre" || outer.tag == "code":
			p.blame("the tag %q inside %q", o.tag, outer.tag)
		case outer.tag == "a" && o.tag == "a":
			p.blame("a link in a link")
		}
	}
	if o.tag == "code" && o.value != "" && (len(p.stack) == 0 || p.stack[len(p.stack)-1].tag != "pre") {
		p.blame("a language for code outside pre")
	}
	if o.tag == "a" && o.value == "" {
		p.blame("a link without href")
	}
}

// add makes the entity of a tag that has ended.
func (p *htmlParser) add(o open) {
	e := Entity{Type: kinds(o.tag), Offset: o.at, Length: p.units - o.at}
	switch o.tag {
	case "a":
		e.URL = o.value
	case "code":
		e.Language, _ = strings.CutPrefix(o.value, "language-")
	case "blockquote":
		if slices.Contains(o.attributes, "expandable") {
			e.Type = "expandable_blockquote"
		}
	case "pre":
		if n := len(p.entities) - 1; n >= 0 && p.entities[n].Type == "code" && p.entities[n].Offset == e.Offset && p.entities[n].Length == e.Length {
			e.Language = p.entities[n].Language
			p.entities = p.entities[:n]
		}
	}
	if o.tag == "code" && (len(p.stack) == 0 || p.stack[len(p.stack)-1].tag != "pre") {
		e.Language = ""
	}
	p.entities = append(p.entities, e)
}

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
