package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// shortestLine is the length, in bytes, from which on a single line of a secret of
// several, such as a private key, is looked for by itself.
const shortestLine = 16

// forms lists how a secret may be written: as it is, in addresses, in quotes,
// in JSON and HTML, in hexadecimal digits, and in base64, alone or inside a longer
// text such as NAME:SECRET.
func forms(secret string) []string {
	digits := hex.EncodeToString([]byte(secret))
	all := []string{secret, html.EscapeString(secret), digits, strings.ToUpper(digits)}
	all = append(all, inAddresses(secret)...)
	all = append(all, inQuotes(secret)...)
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			all = append(all, within(encoding, secret, before))
		}
	}
	lines := strings.FieldsFunc(secret, func(c rune) bool { return c == '\n' || c == '\r' })
	if len(lines) < 2 {
		return all
	}
	for _, line := range lines {
		if len(line) >= shortestLine && !strings.HasPrefix(line, "-----") { // not the frame of a key
			all = append(all, line)
		}
	}
	if joined, _ := join(secret); len(joined) >= Shortest {
		all = append(all, joined)
	}
	return all
}

// escapedByte is one in an address.
var escapedByte = regexp.MustCompile("%[0-9A-F]{2}")

// inAddresses are the forms in addresses: as Go escapes, as browsers do
// (encodeURIComponent), and with hexadecimal digits in lower case.
func inAddresses(secret string) []string {
	query := url.QueryEscape(secret)
	spaced := strings.ReplaceAll(query, "+", "%20")
	browser := strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(spaced)
	all := []string{query, url.PathEscape(secret), spaced, browser}
	for _, form := range all {
		all = append(all, escapedByte.ReplaceAllStringFunc(form, strings.ToLower))
	}
	return all
}

// inQuotes are the forms between quotes: of Go and of JSON, with slashes and
// letters of other scripts escaped or not, and of JSON within JSON.
func inQuotes(secret string) []string {
	var all []string
	for _, quoted := range []string{strconv.Quote(secret), strconv.QuoteToASCII(secret), inJSON(secret, true), inJSON(secret, false)} {
		bare := quoted[1 : len(quoted)-1]
		all = append(all, bare, strings.ReplaceAll(bare, "/", `\/`))
		for _, again := range []string{inJSON(bare, true), inJSON(bare, false)} {
			all = append(all, again[1:len(again)-1])
		}
	}
	return all
}

// inJSON is a text in JSON, with or without an escape for what means something in
// HTML.
func inJSON(text string, escaped bool) string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(escaped)
	if err := e.Encode(text); err != nil { // a text always has a form
		return `""`
	}
	return strings.TrimSpace(out.String())
}

// within is the base64 of a secret behind some bytes, without the characters
// that depend on what stands around it.
func within(encoding *base64.Encoding, secret string, before int) string {
	text := encoding.EncodeToString([]byte(strings.Repeat("\x00", before) + secret))
	first := []int{0, 2, 3}[before]
	last := (before + len(secret)) * 8 / 6
	return text[first:last]
}
