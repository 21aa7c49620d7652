package lenient

import (
	"encoding/json"
	"strings"

	"github.com/kaptinlin/jsonrepair"
)

// Limits of values for the repair library, whose time grows with the square of
// length and depth.
const (
	repairBytes = 16 << 10 // in one text, all values together
	repairDepth = 64
)

// extent is where a value ends by its brackets alone.
type extent struct {
	length int // 0: the brackets do not match
	depth  int // of brackets in brackets
	read   int // bytes looked at
	gaps   bool
}

// balanced follows the brackets of the value that a text begins with, leaving
// out those in strings.
func balanced(text string) extent {
	var open []byte
	var e extent
	last := byte(0) // the last byte that is not blank
	for i := 0; i < len(text); i++ {
		e.read = i + 1
		switch c := text[i]; c {
		case '"', '\'':
			if c == '"' || strings.IndexByte("{[:,", last) >= 0 {
				i = skipString(text, i)
			}
		case '{', '[':
			open = append(open, c+2) // both closing brackets are two further on
			e.depth = max(e.depth, len(open))
		case '}', ']':
			if c != open[len(open)-1] {
				return e
			}
			if open = open[:len(open)-1]; len(open) == 0 {
				e.length = i + 1
				return e
			}
		case '.':
			e.gaps = e.gaps || strings.HasPrefix(text[i:], "...")
		}
		if i < len(text) && strings.IndexByte(" \t\r\n", text[i]) < 0 {
			last = text[i]
		}
	}
	return e
}

// skipString returns the offset of the quote that ends a string, or the length
// of the text.
func skipString(text string, start int) int {
	for i := start + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[start]:
			return i
		}
	}
	return len(text)
}

// repair has the library repair a whole value, within the rest of the allowance; nil
// when that is not possible. A value with an ellipsis where
// the model left something out stays as it is: the missing part is unknown.
func (e extent) repair(text string, allowance *int) []byte {
	if e.length == 0 || e.gaps || e.depth > repairDepth || e.length > *allowance {
		return nil
	}
	*allowance -= e.length
	fixed, err := jsonrepair.Repair(text[:e.length])
	fixed = strings.TrimSpace(fixed)
	if err != nil || !json.Valid([]byte(fixed)) || fixed[0] != text[0] {
		return nil
	}
	return []byte(fixed)
}
