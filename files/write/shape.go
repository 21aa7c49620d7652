package write

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/bidi"
	"golang.org/x/text/unicode/norm"
)

// arabicForms are the letters of Arabic, Persian and Urdu that join, each with the
// first of its presentation forms in Unicode: isolated, final, and for letters that
// also join to the next one, initial and medial. "2" or "4" is how many it has.
const arabicForms = `آ2ﺁ أ2ﺃ ؤ2ﺅ إ2ﺇ ئ4ﺉ ا2ﺍ ب4ﺏ ة2ﺓ ت4ﺕ ث4ﺙ ج4ﺝ ح4ﺡ خ4ﺥ د2ﺩ ذ2ﺫ ر2ﺭ ز2ﺯ س4ﺱ ش4ﺵ ص4ﺹ ض4ﺽ ط4ﻁ ظ4ﻅ ` +
	`ع4ﻉ غ4ﻍ ف4ﻑ ق4ﻕ ك4ﻙ ل4ﻝ م4ﻡ ن4ﻥ ه4ﻩ و2ﻭ ى2ﻯ ي4ﻱ ` +
	`پ4ﭖ چ4ﭺ ژ2ﮊ ک4ﮎ گ4ﮒ ی4ﯼ ٹ4ﭦ ڈ2ﮈ ڑ2ﮌ ں2ﮞ ہ4ﮦ ھ4ﮪ ے2ﮮ`

// lamAlef are the ligatures of lam with the letter that follows, isolated; the
// final form is the next one.
const lamAlef = `آﻵ أﻷ إﻹ اﻻ`

const (
	lam            = 'ل'
	tatweel        = 'ـ' // joins on both sides
	zeroWidthNon   = '\u200C'
	zeroWidthJoins = '\u200D'
)

type joining struct {
	forms rune
	count int
}

// shaper joins the letters of Arabic by the presentation forms of Unicode, as the
// libraries that draw know no other way.
type shaper struct {
	letters map[rune]joining
	alefs   map[rune]rune
}

func newShaper() *shaper {
	s := &shaper{letters: map[rune]joining{}, alefs: map[rune]rune{}}
	for entry := range strings.FieldsSeq(arabicForms) {
		r := []rune(entry)
		s.letters[r[0]] = joining{r[2], int(r[1] - '0')}
	}
	for entry := range strings.FieldsSeq(lamAlef) {
		r := []rune(entry)
		s.alefs[r[0]] = r[1]
	}
	return s
}

// joinsNext and joinsLast tell whether a letter joins to the one after and before.
func (s *shaper) joinsNext(r rune) bool {
	return s.letters[r].count == 4 || r == tatweel || r == zeroWidthJoins
}

func (s *shaper) joinsLast(r rune) bool {
	return s.letters[r].count > 0 || r == tatweel || r == zeroWidthJoins
}

// shape returns text with composed letters and joined Arabic, in the order of
// reading, and without marks of direction, which have no look.
func (s *shaper) shape(text string) string {
	in := []rune(norm.NFC.String(text))
	var out []rune
	last := rune(0) // the letter before, marks left out
	for i := 0; i < len(in); i++ {
		r := in[i]
		letter, joins := s.letters[r]
		switch {
		case unicode.Is(unicode.Bidi_Control, r):
			continue
		case !joins:
			if r != zeroWidthNon && r != zeroWidthJoins {
				out = append(out, r)
			}
			if !unicode.Is(unicode.Mn, r) {
				last = r
			}
			continue
		}
		next := i + 1
		for next < len(in) && unicode.Is(unicode.Mn, in[next]) {
			next++
		}
		before := s.joinsNext(last)
		after := letter.count == 4 && next < len(in) && s.joinsLast(in[next])
		last = r
		if r == lam && next == i+1 && next < len(in) && s.alefs[in[next]] != 0 {
			form := s.alefs[in[next]]
			if before {
				form++
			}
			out = append(out, form)
			last, i = in[next], next
			continue
		}
		form := letter.forms
		switch {
		case before && after:
			form += 3
		case after:
			form += 2
		case before:
			form++
		}
		out = append(out, form)
	}
	return string(out)
}

// mirrors are pairs of characters that change places in text from right to left.
const mirrors = "()[]{}<>«»‹›≤≥"

// visual returns the order from left to right in which the characters of a line are
// drawn, by the Unicode bidirectional algorithm (UAX 9) without embeddings, and the
// characters with brackets turned where they have to be. Marks stay behind the letter
// they belong to.
func visual(line []rune, right bool) (order []int, drawn []rune) {
	order, drawn = make([]int, len(line)), slices.Clone(line)
	for i := range order {
		order[i] = i
	}
	levels, highest := bidiLevels(line, right)
	for level := highest; level > 0; level-- { // rule L2
		for i := 0; i < len(line); i++ {
			if levels[i] < level {
				continue
			}
			end := i
			for end < len(line) && levels[end] >= level {
				end++
			}
			slices.Reverse(order[i:end])
			i = end
		}
	}
	for i := 0; i < len(order); i++ { // a mark that is now before its letter
		end := i
		for end < len(order) && unicode.Is(unicode.Mn, line[order[end]]) && levels[order[end]]%2 == 1 {
			end++
		}
		if end > i && end < len(order) {
			slices.Reverse(order[i : end+1])
			i = end
		}
	}
	pairs := []rune(mirrors)
	for i, r := range line {
		if k := slices.Index(pairs, r); k >= 0 && levels[i]%2 == 1 {
			drawn[i] = pairs[k^1]
		}
	}
	return order, drawn
}

// bidiLevels resolves the level of each character: rules W1 to W7, N1, N2, I1, I2 and
// the end of L1.
func bidiLevels(line []rune, right bool) (levels []int, highest int) {
	base, baseClass := 0, bidi.L
	if right {
		base, baseClass = 1, bidi.R
	}
	classes := make([]bidi.Class, len(line))
	last, strong := baseClass, baseClass
	for i, r := range line {
		p, _ := bidi.LookupRune(r)
		c := p.Class()
		switch {
		case c == bidi.NSM:
			c = last // W1
		case c == bidi.EN && strong == bidi.AL:
			c = bidi.AN // W2
		}
		if c == bidi.L || c == bidi.R || c == bidi.AL {
			strong = c
		}
		classes[i], last = c, c
	}
	for i, c := range classes {
		if c == bidi.AL {
			classes[i] = bidi.R // W3
		}
		if (c == bidi.ES || c == bidi.CS) && i > 0 && i+1 < len(classes) && classes[i-1] == classes[i+1] && // W4
			(classes[i-1] == bidi.EN || c == bidi.CS && classes[i-1] == bidi.AN) {
			classes[i] = classes[i-1]
		}
	}
	for i := 0; i < len(classes); i++ { // W5
		end := i
		for end < len(classes) && classes[end] == bidi.ET {
			end++
		}
		if end > i && (i > 0 && classes[i-1] == bidi.EN || end < len(classes) && classes[end] == bidi.EN) {
			for ; i < end; i++ {
				classes[i] = bidi.EN
			}
		}
		i = max(i, end)
	}
	strong = baseClass
	for i, c := range classes {
		switch c {
		case bidi.L, bidi.R:
			strong = c
		case bidi.EN: // W7
			if strong == bidi.L {
				classes[i] = bidi.L
			}
		}
	}
	side := func(i int) bidi.Class {
		switch {
		case i < 0 || i >= len(classes):
			return baseClass
		case classes[i] == bidi.L:
			return bidi.L
		}
		return bidi.R // also numbers
	}
	neutral := func(c bidi.Class) bool { return c != bidi.L && c != bidi.R && c != bidi.EN && c != bidi.AN }
	for i := 0; i < len(classes); i++ { // N1, N2
		end := i
		for end < len(classes) && neutral(classes[end]) {
			end++
		}
		to := baseClass
		if side(i-1) == side(end) {
			to = side(end)
		}
		for ; i < end; i++ {
			classes[i] = to
		}
	}
	levels = make([]int, len(line))
	for i, c := range classes { // I1, I2
		switch {
		case base == 0 && c == bidi.R || base == 1 && c != bidi.R:
			levels[i] = base + 1
		case base == 0 && c != bidi.L:
			levels[i] = 2
		default:
			levels[i] = base
		}
	}
	for i := len(line) - 1; i >= 0 && unicode.IsSpace(line[i]); i-- {
		levels[i] = base // L1
	}
	for _, level := range levels {
		highest = max(highest, level)
	}
	return levels, highest
}
