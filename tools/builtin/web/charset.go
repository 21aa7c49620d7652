package web

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// decode turns a body into UTF-8. The charset is the one that a byte order mark,
// the server or the page declares, and otherwise the most plausible one.
// Characters that people cannot see but a model can are removed.
func decode(body []byte, contentType string) string {
	e, name, certain := charset.DetermineEncoding(body, contentType)
	switch {
	case certain:
	case validUTF8(body):
		return visible(string(body))
	case name == undeclared && !bytes.Contains(bytes.ToLower(body[:min(len(body), 1024)]), []byte("charset")):
		e, _ = charset.Lookup(guess(body))
	}
	text, err := e.NewDecoder().Bytes(body)
	if err != nil {
		text = body
	}
	return visible(strings.ToValidUTF8(string(text), string(utf8.RuneError)))
}

// undeclared is the charset of pages that declare none, see
// https://html.spec.whatwg.org/multipage/parsing.html#determining-the-character-encoding.
const undeclared = "windows-1252"

// candidates are the charsets that are guessed, with letters that are frequent
// in their languages. Of charsets that are equally plausible the first is taken.
// One of a thousand signs is believed when fewer of them are frequent.
var candidates = []struct {
	name, frequent string
	weight         float64
}{
	{undeclared, "äöüßéèêëàâáãçñíîóôõúûåøæœ£€°§", 1},
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

// guess returns the candidate that makes the most plausible text of the bytes.
func guess(body []byte) string {
	body = body[:min(len(body), 16<<10)]
	best, most := undeclared, 0.0
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

// validUTF8 overlooks a last character that was cut.
func validUTF8(b []byte) bool {
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

// visible removes control characters except line breaks and tabs, byte order
// marks, and the tag characters of Unicode, which hide text from people.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if (unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r') || r == '\ufeff' || (0xe0000 <= r && r <= 0xe007f) {
			return -1
		}
		return r
	}, s)
}
