// Package pdf gets the text of PDFs, page by page, and the pictures of pages that are
// scans (ISO 32000-2). It repairs files whose table of objects is damaged. Files can be
// hostile: it has bounds on depth and on what it unpacks, and its caller has bounds on
// time and memory.
package pdf

import (
	"bytes"
	"strconv"
)

// The objects of a PDF are nil, bool, float64, string, name, array, dict, ref and *stream.
// In content streams there are also operators.
type (
	name     string
	operator string
	array    []any
	dict     map[name]any
	ref      struct{ number, generation int }
	stream   struct {
		dict
		raw []byte // as it is in the file
		key []byte // nil when it is not encrypted, or lies in an object stream
		aes bool
	}
)

// maxDepth is how deep arrays, dictionaries, trees and forms may be.
const maxDepth = 64

// lexer reads objects from bytes.
type lexer struct {
	data    []byte
	at      int
	content bool // there are operators, and no references
	depth   int
}

// end stands for the end of the bytes, or of an array or dictionary.
type end byte

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func isDelimiter(c byte) bool {
	switch c {
	case '(', ')', '<', '>', '[', ']', '{', '}', '/', '%':
		return true
	}
	return false
}

func (l *lexer) skipSpace() {
	for l.at < len(l.data) {
		switch c := l.data[l.at]; {
		case isSpace(c):
			l.at++
		case c == '%':
			for l.at < len(l.data) && l.data[l.at] != '\n' && l.data[l.at] != '\r' {
				l.at++
			}
		default:
			return
		}
	}
}

// word returns the bytes up to the next space or delimiter.
func (l *lexer) word() []byte {
	start := l.at
	for l.at < len(l.data) && !isSpace(l.data[l.at]) && !isDelimiter(l.data[l.at]) {
		l.at++
	}
	return l.data[start:l.at]
}

// object returns the next object, or an end. What it cannot read is nil.
func (l *lexer) object() any {
	l.skipSpace()
	if l.at >= len(l.data) {
		return end(0)
	}
	switch c := l.data[l.at]; c {
	case '/':
		l.at++
		return l.name()
	case '(':
		l.at++
		return l.literal()
	case '<':
		l.at++
		if l.at < len(l.data) && l.data[l.at] == '<' {
			l.at++
			return l.dict()
		}
		return l.hex()
	case '[':
		l.at++
		return l.array()
	case '>':
		l.at++
		if l.at < len(l.data) && l.data[l.at] == '>' {
			l.at++
		}
		return end('>')
	case ']':
		l.at++
		return end(']')
	case ')', '{', '}':
		l.at++
		return operator(c)
	}
	word := l.word()
	if n, ok := number(word); ok {
		if !l.content {
			if r, ok := l.reference(n); ok {
				return r
			}
		}
		return n
	}
	switch string(word) {
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	}
	return operator(word)
}

// number reads a number as lenient programs do: "--5" and "4.5-2" exist.
func number(word []byte) (float64, bool) {
	if len(word) == 0 || word[0] > '9' || word[0] < '+' || word[0] == ',' || word[0] == '/' {
		return 0, false
	}
	whole, digits, negative := 0.0, 0, false
	for i, c := range word {
		switch {
		case c >= '0' && c <= '9':
			whole = whole*10 + float64(c-'0')
			digits++
		case c == '-' && digits == 0:
			negative = true
		case c == '+' && i == 0:
		case c == '.':
			scale := 0.1
			for _, c := range word[i+1:] {
				if c < '0' || c > '9' {
					break
				}
				whole += scale * float64(c-'0')
				scale /= 10
			}
			if negative {
				whole = -whole
			}
			return whole, true
		case digits > 0 && (c == '-' || c == 'e' || c == 'E'):
			if f, err := strconv.ParseFloat(string(word), 64); err == nil {
				return f, true
			}
			if negative {
				whole = -whole
			}
			return whole, c == '-'
		default:
			return 0, false
		}
	}
	if negative {
		whole = -whole
	}
	return whole, digits > 0
}

// reference reads the rest of "12 0 R" after its first number.
func (l *lexer) reference(n float64) (ref, bool) {
	start := l.at
	if n < 0 || n != float64(int(n)) || l.at >= len(l.data) || !isSpace(l.data[l.at]) {
		return ref{}, false
	}
	l.skipSpace()
	generation, ok := number(l.word())
	if ok && generation >= 0 && generation < 1<<16 {
		l.skipSpace()
		if l.at < len(l.data) && l.data[l.at] == 'R' && (l.at+1 == len(l.data) || isSpace(l.data[l.at+1]) || isDelimiter(l.data[l.at+1])) {
			l.at++
			return ref{int(n), int(generation)}, true
		}
	}
	l.at = start
	return ref{}, false
}

func (l *lexer) name() name {
	word := l.word()
	if bytes.IndexByte(word, '#') < 0 {
		return name(word)
	}
	var out []byte
	for i := 0; i < len(word); i++ {
		if word[i] == '#' && i+2 < len(word) {
			if n, err := strconv.ParseUint(string(word[i+1:i+3]), 16, 8); err == nil {
				out = append(out, byte(n))
				i += 2
				continue
			}
		}
		out = append(out, word[i])
	}
	return name(out)
}

// literal reads a string after its opening parenthesis.
func (l *lexer) literal() string {
	var out []byte
	for open := 1; l.at < len(l.data); {
		c := l.data[l.at]
		l.at++
		switch c {
		case '(':
			open++
		case ')':
			if open--; open == 0 {
				return string(out)
			}
		case '\r':
			if l.at < len(l.data) && l.data[l.at] == '\n' {
				l.at++
			}
			c = '\n'
		case '\\':
			out = l.escape(out)
			continue
		}
		out = append(out, c)
	}
	return string(out)
}

func (l *lexer) escape(out []byte) []byte {
	if l.at >= len(l.data) {
		return out
	}
	c := l.data[l.at]
	l.at++
	if plain, ok := map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', 'b': '\b', 'f': '\f'}[c]; ok {
		return append(out, plain)
	}
	switch {
	case c >= '0' && c <= '7':
		n := int(c - '0')
		for range 2 {
			if l.at >= len(l.data) || l.data[l.at] < '0' || l.data[l.at] > '7' {
				break
			}
			n = n*8 + int(l.data[l.at]-'0')
			l.at++
		}
		return append(out, byte(n))
	case c == '\r':
		if l.at < len(l.data) && l.data[l.at] == '\n' {
			l.at++
		}
		return out
	case c == '\n':
		return out
	}
	return append(out, c)
}

func (l *lexer) hex() string {
	var out []byte
	half, high := false, byte(0)
	for l.at < len(l.data) {
		c := l.data[l.at]
		l.at++
		var v byte
		switch {
		case c >= '0' && c <= '9':
			v = c - '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			v = c | 0x20 - 'a' + 10
		case c == '>':
			if half {
				out = append(out, high<<4)
			}
			return string(out)
		default:
			continue
		}
		if half {
			out = append(out, high<<4|v)
		}
		half, high = !half, v
	}
	return string(out)
}

func (l *lexer) array() array {
	out := array{}
	if l.depth++; l.depth > maxDepth {
		panic("arrays are too deep")
	}
	defer func() { l.depth-- }()
	for {
		switch o := l.object().(type) {
		case end:
			if o != '>' {
				return out
			}
		case operator:
			if o == "endobj" || o == "endstream" || o == "obj" {
				return out
			}
		default:
			out = append(out, o)
		}
	}
}

func (l *lexer) dict() dict {
	out := dict{}
	if l.depth++; l.depth > maxDepth {
		panic("dictionaries are too deep")
	}
	defer func() { l.depth-- }()
	for {
		switch k := l.object().(type) {
		case end:
			if k != ']' {
				return out
			}
		case operator:
			if k == "endobj" || k == "endstream" || k == "stream" {
				l.at -= len(k)
				return out
			}
		case name:
			value := l.object()
			if e, ok := value.(end); ok {
				if e != ']' {
					return out
				}
				continue
			}
			if _, ok := value.(operator); !ok {
				out[k] = value
			}
		}
	}
}
