package schedule

import (
	"strings"
	"time"
	"unicode"
)

// word is an entry of the vocabulary. A space in it matches any white space.
type word struct {
	text  string
	value int
}

// same makes entries of one value.
func same(value int, texts ...string) []word {
	var list []word
	for _, text := range texts {
		list = append(list, word{text, value})
	}
	return list
}

// reader reads a text word by word. Every parser of this package works on one.
type reader struct {
	text  []rune // as it was written
	lower []rune // the same in small letters, and in narrow digits and signs
	at    int
	err   *Error // the first one

	now  time.Time // in zone
	zone *time.Location
}

func newReader(text string, now time.Time, zone *time.Location) *reader {
	r := &reader{text: []rune(text), now: now.In(zone), zone: zone}
	r.lower = make([]rune, len(r.text))
	for i, c := range r.text {
		if c >= '！' && c <= '～' { // wide forms, as Chinese keyboards write them
			c -= '！' - '!'
		}
		switch c = unicode.ToLower(c); c {
		case 'ё':
			c = 'е'
		case '’':
			c = '\''
		}
		r.lower[i] = c
	}
	return r
}

// peek is the next rune, as lower has it; 0 at the end.
func (r *reader) peek() rune { return r.ahead(0) }

func (r *reader) ahead(n int) rune {
	if r.at+n >= len(r.lower) {
		return 0
	}
	return r.lower[r.at+n]
}

func (r *reader) space() {
	for unicode.IsSpace(r.peek()) {
		r.at++
	}
}

// rest is the text that was not read yet.
func (r *reader) rest() string { return string(r.text[r.at:]) }

// read is the text between a place and the present one.
func (r *reader) read(from int) string { return strings.TrimSpace(string(r.text[from:r.at])) }

// take reads the longest entry of a list that the text goes on with.
func (r *reader) take(list []word) (value int, ok bool) {
	before := r.at
	r.space()
	start, best := r.at, -1
	for _, w := range list {
		r.at = start
		if r.literal(w.text) && r.at > best {
			best, value = r.at, w.value
		}
	}
	if r.at = best; best < 0 {
		r.at = before
	}
	return value, best >= 0
}

// has is take for lists whose value does not matter.
func (r *reader) has(list []word) bool {
	_, ok := r.take(list)
	return ok
}

// literal reads one entry, unless it is only the beginning of a word.
func (r *reader) literal(text string) bool {
	var last rune
	for _, c := range text {
		switch {
		case c == ' ' && unicode.IsSpace(r.peek()):
			r.space()
		case c == r.peek():
			r.at++
		default:
			return false
		}
		last = c
	}
	return !joins(last, r.peek(), r.ahead(1))
}

// joins reports that a word goes on with the next runes. Chinese has no ends of
// words.
func joins(last, next, after rune) bool {
	if !unicode.IsLetter(last) || unicode.Is(unicode.Han, last) {
		return false
	}
	if next == '\'' {
		return unicode.IsLetter(after)
	}
	return (unicode.IsLetter(next) || unicode.IsDigit(next)) && !unicode.Is(unicode.Han, next)
}

// digits reads at most so many digits; n is how many there were.
func (r *reader) digits(most int) (value, n int) {
	before := r.at
	r.space()
	start := r.at
	for c := r.peek(); c >= '0' && c <= '9'; c = r.peek() {
		value, r.at = min(value*10+int(c-'0'), 1<<30), r.at+1
	}
	if n = r.at - start; n == 0 || n > most {
		r.at = before
		return 0, 0
	}
	return value, n
}

// number reads a whole number in digits or words.
func (r *reader) number() (value int, ok bool) {
	if value, n := r.digits(5); n > 0 {
		return value, true
	}
	if value, ok := r.chinese(); ok {
		return value, true
	}
	return r.take(numbers)
}

// chinese reads a Chinese number below one hundred.
func (r *reader) chinese() (value int, ok bool) {
	before := r.at
	r.space()
	for {
		c := r.peek()
		n := strings.IndexRune("零一二三四五六七八九", c) / len("零")
		switch {
		case c == '两':
			n = 2
		case c == '十':
			value = max(value, 1) * 10
			r.at, ok = r.at+1, true
			continue
		case c == 0 || !strings.ContainsRune("零一二三四五六七八九", c):
			if !ok {
				r.at = before
			}
			return value, ok
		}
		if ok && value%10 != 0 {
			r.at = before
			return 0, false
		}
		value += n
		r.at, ok = r.at+1, true
	}
}

// fail notes why there is no time; the first reason counts.
func (r *reader) fail(code, text string, among ...string) {
	if r.err == nil {
		r.err = &Error{Code: code, Text: text, Among: among}
	}
}

// try reads something, or stays where it is.
func (r *reader) try(read func() bool) bool {
	before := r.at
	ok := read()
	if !ok {
		r.at = before
	}
	return ok
}

// sees is has without reading on.
func (r *reader) sees(list []word) bool {
	before := r.at
	defer func() { r.at = before }()
	return r.has(list)
}

// excerpt is the text from a place on, shortened for an error.
func (r *reader) excerpt(from int) string {
	const most = 40
	text := r.text[min(from, len(r.text)):]
	if len(text) > most {
		return strings.TrimSpace(string(text[:most])) + "…"
	}
	return strings.TrimSpace(string(text))
}

// today is the day on the wall clock.
func (r *reader) today() time.Time {
	w := wallOf(r.now)
	return time.Date(w.Year(), w.Month(), w.Day(), 0, 0, 0, 0, time.UTC)
}
