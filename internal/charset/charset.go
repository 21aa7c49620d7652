// Package charset turns texts of unknown charsets into UTF-8, where only their bytes
// tell which charset it is.
package charset

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	utf16 "golang.org/x/text/encoding/unicode"
)

// sample is how much of a text tells its charset.
const sample = 16 << 10

// Of returns the most plausible charset of a text, and its name, from its beginning: by
// a byte order mark, as UTF-8 or UTF-16, and otherwise as the charset in which the text
// has the most frequent letters.
func Of(text []byte) (encoding.Encoding, string) {
	switch {
	case bytes.HasPrefix(text, []byte("\xef\xbb\xbf")):
		return utf16.UTF8BOM, "utf-8"
	case bytes.HasPrefix(text, []byte("\xff\xfe")):
		return utf16.UTF16(utf16.LittleEndian, utf16.UseBOM), "utf-16le"
	case bytes.HasPrefix(text, []byte("\xfe\xff")):
		return utf16.UTF16(utf16.BigEndian, utf16.UseBOM), "utf-16be"
	}
	if name := wide(text); name != "" {
		e, _ := charset.Lookup(name)
		return e, name
	}
	if ValidUTF8(text) {
		return utf16.UTF8, "utf-8"
	}
	name := Guess(text)
	e, _ := charset.Lookup(name)
	return e, name
}

// wide recognizes UTF-16 without a byte order mark: spaces, line ends and Latin letters
// have a zero byte on the same side, and other bytes are hardly ever zero.
func wide(text []byte) string {
	text = text[:min(len(text), sample)]
	var zeros, plain [2]int
	for i, b := range text {
		switch b {
		case 0:
			zeros[i%2]++
		case ' ', '\n':
			plain[i%2]++
		}
	}
	half := len(text) / 2
	few := func(n int) bool { return n*50 <= half }
	switch {
	case half == 0:
	case few(zeros[0]) && zeros[1] > 0 && zeros[1]*20 >= half && plain[0] >= plain[1]:
		return "utf-16le"
	case few(zeros[1]) && zeros[0] > 0 && zeros[0]*20 >= half && plain[1] >= plain[0]:
		return "utf-16be"
	}
	return ""
}

// Undeclared is the charset of texts in which no other one is more plausible, see
// https://html.spec.whatwg.org/multipage/parsing.html#determining-the-character-encoding.
const Undeclared = "windows-1252"

// candidates are the charsets that are guessed, with letters that are frequent
// in their languages. Of charsets that are equally plausible the first is taken.
// One of a thousand signs is believed when fewer of them are frequent.
var candidates = []struct {
	name, frequent string
	weight         float64
}{
	{Undeclared, "äöüßéèêëàâáãçñíîóôõúûåøæœ£€°§", 1},
	{"windows-1250", "ąćęłńóśźżáčďéěíňřšťúůýžőűöüäăâîşţ", 1},
	{"windows-1254", "ğışöüçâî", 1},
	{"windows-1251", "оеаинтсрвлкмдпуяыьгзб", 1},
	{"koi8-r", "оеаинтсрвлкмдпуяыьгзб", 1},
	{"windows-1253", "αοιετσνηυρπκμλςάίόέή", 1},
	{"windows-1255", "אבגדהוחטיךכלםמןנספצקרשת", 1},
	{"windows-1256", "ابتجحدرسعفقكلمنهويةأ،", 1},
	{"gb18030", "的一是不了在人有我他这中大来上个国到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可里后小么心多天而能好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长知民样现分将外但身些与高意进把法此实，。、：“”", 2},
	{"big5", "的一是不了在人有我他這中大來上個國到說們為子和你地出道也時年得就那要下以生會自著去之過家學對可裡後小麼心多天而能好都然沒日於起還發成事只作當想看文無開手十用主行方又如前所本見經頭面公同三已老從動兩長知民樣現分將外但身些與高意進把法此實，。、：「」", 2},
	{"shift_jis", japanese, 2},
	{"euc-jp", japanese, 2},
	{"euc-kr", "이다는의에가고을한하지은로기도를사어나그리서인자시아니라대으게있일들해보과었것정만전수여와스동부상없면원제주구장신때", 2},
}

const japanese = "のにはをたがでてとしれさあいうえおかきくけこすせそちつなねひふへほまみむめもやゆよらりるろわんっゃゅょじどだばぶべンスルトイアラリクシドレ日本人年大国一、。「」"

// Guess returns the name of the candidate that makes the most plausible text of the bytes.
func Guess(body []byte) string {
	body = body[:min(len(body), sample)]
	best, most := Undeclared, 0.0
	for _, c := range candidates {
		e, _ := charset.Lookup(c.name)
		text, err := e.NewDecoder().Bytes(body)
		if score := c.weight * plausibility(string(text), c.frequent); err == nil && score > most {
			best, most = c.name, score
		}
	}
	return best
}

// plausibility rates a text by the share of frequent letters among those that are
// not ASCII. What no charset writes, and words that change between scripts or
// into capitals, count against it.
func plausibility(text, frequent string) float64 {
	score, all := 0.0, 0
	var before rune
	for _, r := range text {
		if r >= utf8.RuneSelf {
			all++
			switch {
			case r == utf8.RuneError || !unicode.IsGraphic(r):
				score -= 2
			case strings.ContainsRune(frequent, unicode.ToLower(r)):
				score++
			case unicode.In(r, unicode.Han, unicode.Hangul):
				score += 0.1
			}
		}
		if latin := unicode.Is(unicode.Latin, r); max(r, before) >= utf8.RuneSelf && cased(r) && cased(before) && (latin != unicode.Is(unicode.Latin, before) ||
			latin && min(r, before) >= utf8.RuneSelf || unicode.IsUpper(r) && unicode.IsLower(before)) {
			score--
		}
		before = r
	}
	return score / float64(max(all, 1))
}

// cased tells the letters of scripts that put spaces between words.
func cased(r rune) bool { return unicode.IsLetter(r) && !unicode.Is(unicode.Lo, r) }

// ValidUTF8 reports whether a text is UTF-8. It overlooks a last character that was cut.
func ValidUTF8(b []byte) bool {
	for i := range min(len(b), utf8.UTFMax) {
		if last := b[len(b)-1-i]; utf8.RuneStart(last) {
			if tail := b[len(b)-1-i:]; !utf8.FullRune(tail) {
				b = b[:len(b)-1-i]
			}
			break
		}
	}
	return utf8.Valid(b)
}

// Visible removes control characters except line breaks and tabs, byte order
// marks, and the tag characters of Unicode, which hide text from people.
func Visible(s string) string {
	return strings.Map(func(r rune) rune {
		if (unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r') || r == '\ufeff' || (0xe0000 <= r && r <= 0xe007f) {
			return -1
		}
		return r
	}, s)
}
