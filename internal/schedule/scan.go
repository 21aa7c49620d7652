package schedule

import (
	"strings"
	"unicode"
)

// word is an entry of the vocabulary. A space in it stands for any white space.
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

// scanner reads a text word by word.
type scanner struct {
	text  []rune // as it was written
	lower []rune // the same in small letters, and in narrow digits and signs
	at    int
}

func newScanner(text string) scanner {
	s := scanner{text: []rune(text)}
	s.lower = make([]rune, len(s.text))
	for i, c := range s.text {
		if c >= '！' && c <= '～' { // wide forms, as Chinese keyboards write them
			c -= '！' - '!'
		}
		switch c = unicode.ToLower(c); c {
		case 'ё':
			c = 'е'
		case '’':
			c = '\''
		}
		s.lower[i] = c
	}
	return s
}

// peek is the next rune, as lower has it; 0 at the end.
func (s *scanner) peek() rune { return s.ahead(0) }

func (s *scanner) ahead(n int) rune {
	if s.at+n >= len(s.lower) {
		return 0
	}
	return s.lower[s.at+n]
}

func (s *scanner) space() {
	for unicode.IsSpace(s.peek()) {
		s.at++
	}
}

// rest is what was not read.
func (s *scanner) rest() string { return string(s.text[s.at:]) }

// read is what was read since a place.
func (s *scanner) read(from int) string { return strings.TrimSpace(string(s.text[from:s.at])) }

// take reads the longest entry of a list that comes next.
func (s *scanner) take(list []word) (value int, ok bool) {
	before := s.at
	s.space()
	start, best := s.at, -1
	for _, w := range list {
		s.at = start
		if s.literal(w.text) && s.at > best {
			best, value = s.at, w.value
		}
	}
	if s.at = best; best < 0 {
		s.at = before
	}
	return value, best >= 0
}

// has is take for lists whose value does not matter.
func (s *scanner) has(list []word) bool {
	_, ok := s.take(list)
	return ok
}

// literal reads one entry, unless it is only the beginning of a word.
func (s *scanner) literal(text string) bool {
	var last rune
	for _, c := range text {
		switch {
		case c == ' ' && unicode.IsSpace(s.peek()):
			s.space()
		case c == s.peek():
			s.at++
		default:
			return false
		}
		last = c
	}
	return !joins(last, s.peek(), s.ahead(1))
}

// joins reports that a word goes on with the next runes. Chinese knows no ends of
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
func (s *scanner) digits(most int) (value, n int) {
	before := s.at
	s.space()
	start := s.at
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		value, s.at = min(value*10+int(c-'0'), 1<<30), s.at+1
	}
	if n = s.at - start; n == 0 || n > most {
		s.at = before
		return 0, 0
	}
	return value, n
}

// number reads a whole number in digits or words.
func (s *scanner) number() (value int, ok bool) {
	if value, n := s.digits(5); n > 0 {
		return value, true
	}
	if value, ok := s.chinese(); ok {
		return value, true
	}
	return s.take(numbers)
}

// chinese reads a Chinese number below one hundred.
func (s *scanner) chinese() (value int, ok bool) {
	before := s.at
	s.space()
	for {
		c := s.peek()
		n := strings.IndexRune("零一二三四五六七八九", c) / len("零")
		switch {
		case c == '两':
			n = 2
		case c == '十':
			value = max(value, 1) * 10
			s.at, ok = s.at+1, true
			continue
		case c == 0 || !strings.ContainsRune("零一二三四五六七八九", c):
			if !ok {
				s.at = before
			}
			return value, ok
		}
		if ok && value%10 != 0 {
			s.at = before
			return 0, false
		}
		value += n
		s.at, ok = s.at+1, true
	}
}
