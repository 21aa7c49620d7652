package schedule

import (
	"slices"
	"strings"
	"unicode"
)

// closing is the sign that ends what the next one begins; 0 when that is no
// quotation mark.
func (p *parser) closing() rune {
	return map[rune]rune{'"': '"', '\'': '\'', '`': '`', '“': '”', '«': '»', '„': '“', '「': '」'}[p.peek()]
}

func (p *parser) quoted(end rune) Spec {
	from := p.at + 1
	n := slices.Index(p.lower[from:], end)
	if n < 0 {
		p.fail(Unquoted, p.begun())
		return Spec{}
	}
	inner := &parser{scanner: newScanner(string(p.text[from : from+n])), now: p.now, zone: p.zone}
	if inner.space(); inner.closing() != 0 {
		p.fail(Unknown, p.begun())
		return Spec{}
	}
	s := inner.spec()
	if inner.err == nil && trimmed(inner.rest()) != "" {
		inner.fail(UnknownIn, string(inner.text))
	}
	p.err, p.at = inner.err, from+n+1
	return s
}

func (p *parser) tag() Spec {
	from := p.at
	for p.at++; unicode.IsLetter(p.peek()); p.at++ {
	}
	name := string(p.lower[from:p.at])
	fields := strings.Fields(tags[name])
	if len(fields) == 0 {
		p.fail(BadTag, p.read(from))
		return Spec{}
	}
	c, _ := readCron(fields) // it is one of ours
	return Spec{kind: kindCron, crons: []cron{c}}
}

// cronFields reads five fields, when the text begins with what can only be meant
// as such: signs and numbers that are no time and no date.
func (p *parser) cronFields() []string {
	before := p.at
	var fields []string
	stars := false
	for len(fields) < 5 {
		p.space()
		from := p.at
		for c := p.peek(); c != 0 && !unicode.IsSpace(c); c = p.peek() {
			p.at++
		}
		field := p.read(from)
		if !cronLike(field, len(fields)) {
			break
		}
		stars = stars || strings.HasPrefix(field, "*")
		fields = append(fields, field)
	}
	if len(fields) < 5 {
		p.at = before
		if len(fields) > 0 && (stars || len(fields) > 2) {
			p.fail(BadCron, strings.Join(fields, " "))
		}
		return nil
	}
	if more := p.field(); more == "*" || more == "?" || strings.HasPrefix(more, "*/") {
		p.fail(BadCron, strings.Join(append(fields, more), " "))
	}
	return fields
}

// field reads the next word without reading on.
func (p *parser) field() string {
	word, _, _ := strings.Cut(strings.TrimSpace(p.rest()), " ")
	return word
}

// cronLike reports that a word may be that field.
func cronLike(word string, field int) bool {
	signs := "0123456789*/,-?"
	if field >= monthDay {
		signs += "LW#lw"
	}
	rest := strings.Trim(word, signs)
	if word == "" || field < month {
		return word != "" && rest == ""
	}
	for _, part := range strings.FieldsFunc(strings.ToUpper(word), func(c rune) bool { return strings.ContainsRune("0123456789*/,-?L#", c) }) {
		if named[field].Replace(part) == part {
			return false
		}
	}
	return true
}
