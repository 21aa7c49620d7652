package web

import (
	"bytes"
	"strings"
	"unicode/utf8"

	htmlcharset "golang.org/x/net/html/charset"

	"legwork/internal/charset"
)

// decode turns a body into UTF-8. The charset is the one that a byte order mark,
// the server or the page declares, and otherwise the most plausible one.
// Characters that people cannot see but a model can are removed.
func decode(body []byte, contentType string) string {
	e, name, certain := htmlcharset.DetermineEncoding(body, contentType)
	switch {
	case certain:
	case charset.ValidUTF8(body):
		return charset.Visible(string(body))
	case name == charset.Undeclared && !bytes.Contains(bytes.ToLower(body[:min(len(body), 1024)]), []byte("charset")):
		e, _ = htmlcharset.Lookup(charset.Guess(body))
	}
	text, err := e.NewDecoder().Bytes(body)
	if err != nil {
		text = body
	}
	return charset.Visible(strings.ToValidUTF8(string(text), string(utf8.RuneError)))
}
