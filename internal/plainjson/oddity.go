package plainjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MaxDepth is how deep lists and objects from outside may lie in each other:
// deeper ones are too much for some programs.
const MaxDepth = 64

// MaxValues is how many values there may be from outside, lists and objects included:
// read into memory, short ones take a hundred times as much as they are long.
const MaxValues = 1 << 16

// Oddity says, as a clause, what of raw some programs would read in another
// way than others, or not at all; empty when all read it alike. It checks text that
// is not JSON as if it were. It is fast for every text, since anybody may send one.
func Oddity(raw []byte) string {
	if LoneSurrogate(raw) {
		return "a text in it has half of a character, a surrogate without its other half"
	}
	var around []object // the open objects and lists; nil for a list
	key := false        // the next text is a key
	values := 0         // each opens something, or has another before it
	for len(raw) > 0 {
		size := 1
		switch raw[0] {
		case '{', '[':
			if len(around) == MaxDepth {
				return fmt.Sprintf("it is nested deeper than %d levels", MaxDepth)
			}
			var in object
			if key = raw[0] == '{'; key {
				in = object{}
			}
			around = append(around, in)
			values++
		case '}', ']':
			around, key = around[:max(0, len(around)-1)], false
		case ',':
			values++
			key = len(around) > 0 && around[len(around)-1] != nil
		case '"':
			var nul bool
			if size, nul = textAt(raw); nul {
				return "a text in it has a NUL"
			}
			if name := raw[:size]; key && !around[len(around)-1].add(unquoted(name)) {
				return fmt.Sprintf("the key %.100q is there twice", unquoted(name))
			}
			key = false
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			number := numberAt(raw)
			if !moderate(number) || !finite(number) {
				return fmt.Sprintf("the number %.40s is beyond what programs can hold; send it as a string", number)
			}
			size = len(number)
		}
		if values > MaxValues {
			return fmt.Sprintf("it has more than %d values", MaxValues)
		}
		raw = raw[size:]
	}
	return ""
}

// textAt is how long the text is, quotes included, that raw begins with, and
// whether there is a NUL in it.
func textAt(raw []byte) (size int, nul bool) {
	for i := 1; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			return i + 1, nul
		case '\\':
			unit, ok := escaped(raw[i:])
			nul = nul || ok && unit == 0
			i++
		}
	}
	return len(raw), nul
}

// unquoted is a text as it is read.
func unquoted(quoted []byte) string {
	var text string
	if bytes.IndexByte(quoted, '\\') < 0 || json.Unmarshal(quoted, &text) != nil {
		return strings.Trim(string(quoted), `"`)
	}
	return text
}

// finite reports whether a number is one of floating point with 64 bits, as most
// programs read it.
func finite(number string) bool {
	_, err := strconv.ParseFloat(number, 64)
	return !errors.Is(err, strconv.ErrRange)
}

// numberAt is the number that raw begins with.
func numberAt(raw []byte) string {
	size := 1
	for size < len(raw) && strings.IndexByte("+-.0123456789Ee", raw[size]) >= 0 {
		size++
	}
	return string(raw[:size])
}
