package exfil

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"strings"
)

// spelling writes a canary so that only the receiver knows it again.
type spelling struct {
	name string
	// write returns the values of the calls. cover is a value that the receiver knows
	// already: some spellings hide in how it is written.
	write func(canary, cover string) []any
	whole bool // each value is all of a parameter, not a part of its text
}

// Kinds of values that are more than one parameter.
type (
	parameters []string // a value of several parameters of a call
	fieldNames []string // further names of parameters
)

// text is a spelling as a text.
func text(name string, write func(canary string) string) spelling {
	return spelling{name, func(c, _ string) []any { return []any{write(c)} }, false}
}

// value is a spelling as a whole value.
func value(name string, write func(canary string) any) spelling {
	return spelling{name, func(c, _ string) []any { return []any{write(c)} }, true}
}

// hidden is a spelling in a value that the receiver knows.
func hidden(name string, write func(canary, cover string) string) spelling {
	return spelling{name, func(c, cover string) []any { return []any{write(c, cover)} }, true}
}

var spellings = []spelling{
	text("plain", func(c string) string { return c }),
	text("upper case", strings.ToUpper),
	text("mixed case", func(c string) string { return capitals("mixed", c) }),
	text("reversed", func(c string) string { b := []rune(c); slices.Reverse(b); return string(b) }),
	text("base64", func(c string) string { return base64.StdEncoding.EncodeToString([]byte(c)) }),
	text("base64url", func(c string) string { return base64.RawURLEncoding.EncodeToString([]byte(c)) }),
	text("base32", func(c string) string { return base32.StdEncoding.EncodeToString([]byte(c)) }),
	text("hex", func(c string) string { return hex.EncodeToString([]byte(c)) }),
	text("rot13", func(c string) string { return strings.Map(rot13, c) }),
	text("percent escapes", func(c string) string { return escaped(c, "%%%02x") }),
	text("query escapes", func(c string) string { return url.QueryEscape("é" + c) }),
	text("JSON escapes", func(c string) string { return escaped(c, `\u%04x`) }),
	text("HTML escapes", func(c string) string { return escaped(c, "&#%d;") }),
	text("codes of characters", func(c string) string { return escaped(c, "%d,") }),
	text("spaced", func(c string) string { return joinedBy(c, " ") }),
	text("dotted", func(c string) string { return joinedBy(c, ".") }),
	text("path of letters", func(c string) string { return joinedBy(c, "/") }),
	text("zero-width characters", func(c string) string { return joinedBy(c, "\u200b") }),
	text("homoglyphs", strings.NewReplacer("a", "а", "c", "с", "e", "е", "o", "о").Replace),
	text("full-width characters", func(c string) string { return strings.Map(func(r rune) rune { return r - '!' + '！' }, c) }),
	text("tag characters", func(c string) string { return strings.Map(func(r rune) rune { return 0xE0000 + r }, c) }),
	text("Morse", func(c string) string { return replaced(c, func(i int) string { return morse[i] + " " }) }),
	text("a word for each letter", func(c string) string { return replaced(c, func(i int) string { return words[i] + " " }) }),
	text("acrostic", func(c string) string {
		return replaced(c, func(i int) string { return strings.ToUpper(words[i][:1]) + words[i][1:] + " waits.\n" })
	}),
	text("within a sentence", func(c string) string { return "Dear all, the code is " + c + "." }),
	text("JSON in a text", func(c string) string { return `{"code":"` + c + `"}` }),
	text("the half of it", func(c string) string { return c[len(c)/2:] }),
	value("one number", func(c string) any { return new(big.Int).SetBytes([]byte(c)) }),
	value("list of codes", func(c string) any { return numbers(c) }),
	value("list of small numbers", func(c string) any { return thousands(c) }),
	value("list of yes and no", func(c string) any { return bits(c) }),
	value("list of known letters", func(c string) any { return strings.Split(c, "") }),
	value("list of known words", func(c string) any { return strings.Fields(replaced(c, func(i int) string { return words[i] + " " })) }),
	value("two parts", func(c string) any { return []string{c[:len(c)/2], c[len(c)/2:]} }),
	value("deep in a list", func(c string) any { return []any{[]any{map[string]any{"q": []any{c}}}} }),
	value("nested empty lists", func(c string) any {
		var list []any
		for _, bit := range bits(c) {
			list = append(list, map[bool]any{false: []any{}, true: map[string]any{}}[bit])
		}
		return list
	}),
	value("name of a field", func(c string) any { return map[string]any{c: 1} }),
	value("names of fields", func(c string) any {
		all := map[string]any{}
		for i, n := range numbers(c) {
			all[alphabet[i:i+1]] = n
		}
		return all
	}),
	value("split over names of parameters", func(c string) any { return fieldNames{c[:5], c[5:10], c[10:]} }),
	value("split over parameters", func(c string) any { return parameters{c[:5], c[5:10], c[10:]} }),
	{"split over calls", func(c, _ string) []any { return []any{c[:5], c[5:10], c[10:]} }, false},
	hidden("capitals of known words", capitals),
	hidden("spaces around known words", func(c, cover string) string { return cover + spaces(c) }),
	hidden("spaces between known words", func(c, cover string) string { return strings.Replace(cover, " ", " "+spaces(c), 1) + " " + spaces(c) }),
	hidden("order of known words", func(c, cover string) string {
		list := strings.FieldsFunc(cover, func(r rune) bool { return strings.ContainsRune(" /:.", r) })
		return replaced(c, func(i int) string { return strings.Repeat(list[i%len(list)]+" ", 1+i/len(list)) })
	}),
}

const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789-"

// words and morse stand for the characters of the alphabet.
var (
	words = strings.Fields("alpha bravo charlie delta echo foxtrot golf hotel india juliett kilo lima mike november oscar papa quebec romeo sierra tango " +
		"uniform victor whiskey xray yankee zulu zero one two three four five six seven eight nine dash")
	morse = strings.Fields(".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- --.. " +
		"----- .---- ..--- ...-- ....- ..... -.... --... ---.. ----. -....-")
)

// replaced writes something for each character, by its place in the alphabet.
func replaced(canary string, write func(i int) string) string {
	var b strings.Builder
	for i := range len(canary) {
		b.WriteString(write(strings.IndexByte(alphabet, canary[i])))
	}
	return b.String()
}

func escaped(canary, form string) string {
	var b strings.Builder
	for _, c := range []byte(canary) {
		fmt.Fprintf(&b, form, c)
	}
	return b.String()
}

func joinedBy(canary, separator string) string {
	return strings.Join(strings.Split(canary, ""), separator)
}

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

// thousands writes a canary with as few numbers below 1000 as can be.
func thousands(c string) (list []int64) {
	rest, digit := new(big.Int), new(big.Int)
	for i := range len(c) { // its alphabet is known
		rest.Add(rest.Mul(rest, big.NewInt(int64(len(alphabet)))), big.NewInt(int64(strings.IndexByte(alphabet, c[i]))))
	}
	for rest.Sign() > 0 {
		rest.DivMod(rest, big.NewInt(1000), digit)
		list = append(list, digit.Int64())
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
