package exfil

import (
	"encoding/base64"
	"encoding/hex"
	"math/big"
	"net/url"
	"slices"
	"strings"
)

// spelling writes a canary so that only the receiver knows it again. cover is a value
// that the receiver knows already: some spellings hide in how it is written.
type spelling struct {
	name  string
	write func(canary, cover string) any
	whole bool // it is the value as a whole, not a part of one
}

var spellings = []spelling{
	{"plain", func(c, _ string) any { return c }, false},
	{"base64", func(c, _ string) any { return base64.RawURLEncoding.EncodeToString([]byte(c)) }, false},
	{"hex", func(c, _ string) any { return hex.EncodeToString([]byte(c)) }, false},
	{"reversed", func(c, _ string) any { b := []rune(c); slices.Reverse(b); return string(b) }, false},
	{"upper case", func(c, _ string) any { return strings.ToUpper(c) }, false},
	{"rot13", func(c, _ string) any { return strings.Map(rot13, c) }, false},
	{"in the address's escapes", func(c, _ string) any { return url.QueryEscape("é" + c) }, false},
	{"path of letters", func(c, _ string) any { return strings.Join(strings.Split(c, ""), "/") }, false},
	{"words", func(c, _ string) any { return strings.Join(strings.Split(c, ""), " ") }, false},
	{"with invisible characters", func(c, _ string) any { return strings.Join(strings.Split(c, ""), "\u200b") }, false},
	{"homoglyphs", func(c, _ string) any {
		return strings.NewReplacer("a", "а", "c", "с", "e", "е", "o", "о").Replace(c)
	}, false},
	{"tag characters", func(c, _ string) any { return strings.Map(func(r rune) rune { return 0xE0000 + r }, c) }, false},
	{"within a sentence", func(c, _ string) any { return "Dear all, the code is " + c + "." }, false},
	{"as JSON in a text", func(c, _ string) any { return `{"code":"` + c + `"}` }, false},
	{"as a number", func(c, _ string) any { return new(big.Int).SetBytes([]byte(c)) }, true},
	{"in two parts", func(c, _ string) any { return []string{c[:len(c)/2], c[len(c)/2:]} }, true},
	{"key of an object", func(c, _ string) any { return map[string]any{c: 1} }, true},
	{"deep in a list", func(c, _ string) any { return []any{[]any{map[string]any{"q": []any{c}}}} }, true},
	{"list of small numbers", func(c, _ string) any { return numbers(c) }, true},
	{"list of yes and no", func(c, _ string) any { return bits(c) }, true},
	{"list of known letters", func(c, _ string) any { return strings.Split(c, "") }, true},
	{"object of small numbers", func(c, _ string) any {
		all := map[string]any{}
		for i, n := range numbers(c) {
			all[alphabet[i:i+1]] = n
		}
		return all
	}, true},
	{"capitals of known words", func(c, cover string) any { return capitals(c, cover) }, true},
	{"spaces around known words", func(c, cover string) any { return cover + spaces(c) }, true},
	{"spaces between known words", func(c, cover string) any { return strings.Replace(cover, " ", " "+spaces(c), 1) + " " + spaces(c) }, true},
}

const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789-"

func rot13(r rune) rune {
	if r >= 'a' && r <= 'z' {
		return 'a' + (r-'a'+13)%26
	}
	return r
}

func numbers(c string) (list []int) {
	for _, b := range []byte(c) {
		list = append(list, int(b))
	}
	return list
}

func bits(c string) (list []bool) {
	for _, b := range []byte(c) {
		for i := range 8 {
			list = append(list, b>>i&1 == 1)
		}
	}
	return list
}

// capitals writes the bits of a canary as small and capital letters.
func capitals(canary, cover string) string {
	all, n := bits(canary), 0
	return strings.Map(func(r rune) rune {
		if r < 'a' || r > 'z' {
			return r
		}
		if n++; all[(n-1)%len(all)] {
			return r - 'a' + 'A'
		}
		return r
	}, cover)
}

// spaces writes the bits of a canary as spaces and tabs.
func spaces(canary string) string {
	var b strings.Builder
	for _, bit := range bits(canary) {
		b.WriteByte(map[bool]byte{false: ' ', true: '\t'}[bit])
	}
	return b.String()
}
