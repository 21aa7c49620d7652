package write

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/language"
	"golang.org/x/text/unicode/bidi"
)

// letterCountries use Letter instead of A4, by CLDR.
const letterCountries = "BZ CA CL CO CR GT MX NI PA PH PR SV US VE"

// paper returns width and height of a page in points.
func paper(o Options) (width, height float64) {
	if tag, err := language.Parse(o.Language); err == nil {
		if region, confidence := tag.Region(); confidence == language.Exact && slices.Contains(strings.Fields(letterCountries), region.String()) {
			return 612, 792
		}
	}
	return 595.28, 841.89
}

// tag returns a valid language tag, English unless another is known.
func (o Options) tag() language.Tag {
	tag, err := language.Parse(o.Language)
	if err != nil || tag == language.Und {
		return language.English
	}
	return tag
}

func (o Options) title(d document) string { return clean(cmp.Or(o.Title, d.title)) }

// rightToLeft reports text whose first letter is of a script that runs from right to
// left.
func rightToLeft(text string) bool {
	for _, r := range text {
		switch p, _ := bidi.LookupRune(r); p.Class() {
		case bidi.R, bidi.AL:
			return true
		case bidi.L:
			return false
		}
	}
	return false
}

// directions cuts text into pieces of one direction. A character without a direction
// goes with the piece before it.
func directions(text string) []string {
	var all []string
	start, right, known := 0, false, false
	for i, r := range text {
		p, _ := bidi.LookupRune(r)
		now := p.Class() == bidi.R || p.Class() == bidi.AL
		if !now && !unicode.IsLetter(r) && !unicode.IsDigit(r) || known && now == right {
			continue
		}
		if known {
			all = append(all, text[start:i])
			start = i
		}
		right, known = now, true
	}
	return append(all, text[start:])
}
