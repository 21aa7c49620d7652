package plainjson

import (
	"bytes"
	"strconv"
	"unicode"
	"unicode/utf16"
)

// LoneSurrogate reports that a text or a key in raw has half of a character:
// some programs keep it, others put another character in its place, or refuse
// it all. Text that is not JSON is looked at as if it were.
func LoneSurrogate(raw []byte) bool {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 || i+1 >= len(raw) {
			return false
		}
		raw = raw[i:]
		unit, ok := escaped(raw)
		switch {
		case !ok:
			raw = raw[2:]
		case !utf16.IsSurrogate(unit):
			raw = raw[escapeSize:]
		default:
			second, _ := escaped(raw[escapeSize:])
			if utf16.DecodeRune(unit, second) == unicode.ReplacementChar {
				return true
			}
			raw = raw[2*escapeSize:]
		}
	}
}

// escapeSize is how long an escape such as \u00e9 is.
const escapeSize = len(`\u0000`)

// escaped is the unit of UTF-16 that raw begins with an escape of.
func escaped(raw []byte) (rune, bool) {
	if len(raw) < escapeSize || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(raw[2:escapeSize]), 16, 16)
	return rune(unit), err == nil
}
