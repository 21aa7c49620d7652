package web

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gogs/chardet"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// decode turns a body into UTF-8. What the server or the page says of its
// charset holds, then what the bytes look like. Characters that nobody sees but
// a model are left out.
func decode(body []byte, contentType string, isHTML bool) string {
	e, name, certain := charset.DetermineEncoding(body, contentType)
	switch {
	case certain:
	case validUTF8(body):
		return visible(string(body))
	case name == fallback && !bytes.Contains(bytes.ToLower(body[:min(len(body), 1024)]), []byte("charset")):
		e = guess(e, body, isHTML)
	}
	text, err := e.NewDecoder().Bytes(body)
	if err != nil {
		text = body
	}
	return visible(strings.ToValidUTF8(string(text), string(utf8.RuneError)))
}

// fallback is what pages are in that say nothing of their charset.
const fallback = "windows-1252"

// guess tells the encoding by which letters are frequent.
func guess(otherwise encoding.Encoding, body []byte, isHTML bool) encoding.Encoding {
	detector := chardet.NewTextDetector()
	if isHTML {
		detector = chardet.NewHtmlDetector()
	}
	best, err := detector.DetectBest(body[:min(len(body), 64<<10)])
	if err != nil {
		return otherwise
	}
	if e, _ := charset.Lookup(best.Charset); e != nil {
		return e
	}
	return otherwise
}

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

// visible leaves out control characters but line breaks and tabs, byte order
// marks, and the tag characters of Unicode, which hide text from people.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if (unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r') || r == '\ufeff' || (0xe0000 <= r && r <= 0xe007f) {
			return -1
		}
		return r
	}, s)
}
