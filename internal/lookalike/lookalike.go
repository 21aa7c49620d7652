// Package lookalike removes from texts what people cannot see, and finds texts that
// look the same.
package lookalike

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Skeleton is the same for two short texts that people take for one: letter case,
// width, style, accents, hidden characters and letters of other scripts make no
// difference. It is for comparison alone. Only frequent confusions are known, see
// https://www.unicode.org/reports/tr39/#Confusable_Detection.
func Skeleton(s string) string {
	var b strings.Builder
	for _, c := range norm.NFKD.String(s) {
		latin, known := confusable(c)
		switch {
		case known:
			c = latin
		case unicode.Is(unicode.Mn, c) || hidden(c):
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}

// confusable is the small Latin letter that c looks like. "l" stands for 1, I and i too.
func confusable(c rune) (latin rune, ok bool) {
	switch c = unicode.ToLower(c); {
	case c == 'i' || c == '1' || c == '|':
		return 'l', true
	case c == '0':
		return 'o', true
	case c < utf8.RuneSelf:
		return c, true
	}
	if i := strings.IndexRune(others, c); i >= 0 {
		return rune(latins[utf8.RuneCountInString(others[:i])]), true
	}
	return c, false
}

// others are letters of other scripts, and small capitals, each with the Latin letter
// that it looks like at the same place of latins.
const (
	others = "авеһіјкмнопрстухѕԁԛԝӏԍѵь" + "αβγεηικνορτυχωσϲϳμ" + "օսոհցզ" + "ıɡɑɩđłħŧøŋ" + "ᴀʙᴄᴅᴇɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ" + "ꭰꭱꭲꭺꭼꮃꮇꮋꮪꮯꮲꮶꮮꮐᏼꮓꮩ"
	latins = "abehljkmhonpctyxsdqwlgvb" + "abyenlkvoptuxwocju" + "ounhgq" + "lgaldlhton" + "abcdeghljklmnoprstuvwyz" + "drtaewmhscpklgbzv"
)

// WithoutHidden is a text without the characters that people cannot see but programs
// can: controls other than tabs and line ends, marks of direction, tags, soft hyphens,
// fillers, and joiners and variation selectors where they change nothing that is seen.
// Those within emoji stay, and so do joiners within words of scripts that need them.
func WithoutHidden(s string) string {
	at := strings.IndexFunc(s, hidden)
	if at < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	b.WriteString(s[:at])
	before, _ := utf8.DecodeLastRuneInString(s[:at])
	for i := at; i < len(s); {
		c, n := utf8.DecodeRuneInString(s[i:])
		if i += n; !hidden(c) || shapes(before, c, s[i:]) {
			b.WriteString(s[i-n : i])
			before = c
		}
	}
	return b.String()
}

const (
	nonJoiner, joiner = '\u200c', '\u200d'
	textStyle, emoji  = '\ufe0e', '\ufe0f' // variation selectors
	keycap            = '\u20e3'           // is drawn around the character before it
)

// hidden reports that people cannot see c by itself.
func hidden(c rune) bool {
	switch {
	case c >= ' ' && c < 0x7f, c == '\n', c == '\t', c == '\r':
		return false
	case c < 0xa0:
		return true
	case c > 0xad && c < 0x600 && c != '\u034f', c > '\u3164' && c < 0xfe00:
		return false // most letters: the tables below would take long
	case unicode.Is(unicode.Prepended_Concatenation_Mark, c):
		return false // it has a shape, such as the Arabic number sign
	}
	return unicode.In(c, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// shapes reports that a hidden character changes how its neighbours are drawn.
func shapes(before, c rune, rest string) bool {
	after, _ := utf8.DecodeRuneInString(rest)
	switch c {
	case joiner:
		return pictured(before) && pictured(after) || joined(before) && joined(after)
	case nonJoiner:
		return joined(before) && joined(after)
	case textStyle, emoji:
		return unicode.Is(unicode.So, before) || unicode.Is(unicode.Sm, before) && before >= utf8.RuneSelf || after == keycap || strings.ContainsRune("‼⁉〰〽", before)
	}
	return false
}

// pictured reports characters of emoji: symbols, selectors and colours of skin.
func pictured(c rune) bool { return unicode.In(c, unicode.So, unicode.Sk) || c == emoji }

// joined reports letters and marks of scripts whose letters change with their
// neighbours.
func joined(c rune) bool {
	return unicode.In(c, unicode.L, unicode.M) && unicode.In(c, unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mongolian,
		unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu,
		unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan)
}
