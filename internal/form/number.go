package form

import (
	"encoding/json"
	"math/big"
	"regexp"
	"strings"
)

// maxNumber is how many bytes a number may have: longer ones take long to read.
const maxNumber = 100

// plainNumber is how JSON writes numbers, a sign of plus and leading zeros aside.
const plainNumber = `^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?$`

// number reads a number in the writing of most places: 1,234.5 and 1.234,5 and
// 1 234,5. A single comma or point followed by three digits could be either, so
// it is refused where both readings differ: 1,234 is unclear, 1234 and 1,23 and
// 1.234 (as in JSON) are not.
func number(written string, whole bool) (json.RawMessage, error) {
	invalid := &ValueError{Key: NotNumber}
	if whole {
		invalid.Key = NotInteger
	}
	if len(written) > maxNumber {
		return nil, invalid
	}
	s := digits(written)
	commas, points := strings.Count(s, ","), strings.Count(s, ".")
	lastComma, lastPoint := strings.LastIndex(s, ","), strings.LastIndex(s, ".")
	switch {
	case commas > 0 && points > 0 && lastComma > lastPoint && commas == 1 && grouped(s[:lastComma], "."):
		s = strings.Replace(strings.ReplaceAll(s, ".", ""), ",", ".", 1)
	case commas > 0 && points == 1 && lastPoint > lastComma && grouped(s[:lastPoint], ","):
		s = strings.ReplaceAll(s, ",", "")
	case commas > 1 && points == 0 && grouped(s, ","):
		s = strings.ReplaceAll(s, ",", "")
	case points > 1 && commas == 0 && grouped(s, "."):
		s = strings.ReplaceAll(s, ".", "")
	case commas == 1 && points == 0 && len(s)-lastComma != 4:
		s = strings.Replace(s, ",", ".", 1)
	}
	if !regexp.MustCompile(plainNumber).MatchString(s) {
		return nil, invalid
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok || whole && !r.IsInt() {
		return nil, invalid
	}
	if r.IsInt() && len(r.Num().String()) < 30 {
		return json.RawMessage(r.Num().String()), nil
	}
	return canonical(s), nil
}

// digits leaves out spaces between digits, and writes other digits and signs as
// those of ASCII.
func digits(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r >= '０' && r <= '９':
			b.WriteRune(r - '０' + '0')
		case r == '−' || r == '－':
			b.WriteByte('-')
		case r == '．':
			b.WriteByte('.')
		case r == '，':
			b.WriteByte(',')
		case r == ' ' || r == '\u00a0' || r == '\u202f' || r == '\'' || r == '’' || r == '_':
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// grouped tells whether a whole number is written in groups of three.
func grouped(s, mark string) bool {
	parts := strings.Split(strings.TrimLeft(s, "+-"), mark)
	for i, p := range parts {
		if i == 0 && (p == "" || len(p) > 3) || i > 0 && len(p) != 3 {
			return false
		}
	}
	return true
}

// canonical is a number that plainNumber matches as JSON writes it.
func canonical(s string) json.RawMessage {
	sign := ""
	if s = strings.TrimPrefix(s, "+"); strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	s = strings.TrimLeft(s, "0")
	if s == "" || s[0] < '0' || s[0] > '9' {
		s = "0" + s
	}
	return json.RawMessage(sign + s)
}
