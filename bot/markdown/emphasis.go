package markdown

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// emphasisParser reads marks as the parser inside of it, with what people mean where
// CommonMark differs: text in Chinese and Japanese has no spaces around **marks。**, stars
// beside a digit multiply (2*3*4), and __init__ is a name.
type emphasisParser struct{ parser.InlineParser }

// underscored is a name of Python at the start of a text.
var underscored = regexp.MustCompile(`^__(?:(?:init|main|name|file|all|doc|dict|class|call|str|repr|new|version)__|[a-z0-9]+(?:_[a-z0-9]+)*__(?:[./][a-z]|\())`)

// Parse implements parser.InlineParser.
func (e emphasisParser) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	if name := underscored.Find(line); name != nil && !isWord(before) {
		n := strings.LastIndex(string(name), "__") + len("__")
		block.Advance(n)
		return ast.NewTextSegment(segment.WithStop(segment.Start + n))
	}
	node := e.InlineParser.Parse(parent, block, pc)
	d, ok := node.(*parser.Delimiter)
	if !ok || d.Char == '_' {
		return node
	}
	after, _ := utf8.DecodeRune(line[d.OriginalLength:])
	d.CanOpen = (d.CanOpen || isWide(before) && util.IsPunctRune(after)) && (d.Char == '~' || !isProduct(before, after))
	d.CanClose = (d.CanClose || util.IsPunctRune(before) && isWide(after)) && (d.Char == '~' || !unicode.IsDigit(before) || !unicode.IsDigit(after))
	return node
}

// isWide reports whether a character belongs to a script that needs no space after a mark.
func isWide(c rune) bool {
	return unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo)
}

// isProduct reports whether stars between two characters multiply: one is a digit, and
// both belong to a word.
func isProduct(before, after rune) bool {
	return isWord(before) && isWord(after) && !isWide(before) && !isWide(after) && (unicode.IsDigit(before) || unicode.IsDigit(after))
}

// emphasised are the looks that have marks.
const emphasised = bold | italic | strike | underline

// readable changes spans so that CommonMark reads the marks between them: it moves a
// punctuation character out of a mark that a word follows, as in **a:**b.
func readable(spans []span) []span {
	out := make([]span, 0, len(spans)+2)
	for _, s := range spans {
		if n := len(out); n > 0 {
			last := &out[n-1]
			closing, opening := last.look&^s.look&emphasised, s.look&^last.look&emphasised
			before, after := endRune(*last), startRune(s)
			switch {
			case closing != 0 && util.IsPunctRune(before) && isText(after):
				if last.look&code != 0 || last.look>>markShift != 0 {
					last.look &^= closing
					break
				}
				kept := strings.TrimRightFunc(last.text, util.IsPunctRune)
				tail := span{last.text[len(kept):], last.look &^ closing}
				last.text = kept
				out = append(out, tail)
			case opening != 0 && isText(before) && util.IsPunctRune(after):
				if s.look&code != 0 || s.look>>markShift != 0 {
					s.look &^= opening
					break
				}
				rest := strings.TrimLeftFunc(s.text, util.IsPunctRune)
				out = append(out, span{s.text[:len(s.text)-len(rest)], s.look &^ opening})
				s.text = rest
			}
		}
		out = append(out, s)
	}
	return out
}

// startRune is the first character that Markdown has for a span.
func startRune(s span) rune {
	if s.look&code != 0 || s.look>>markShift != 0 {
		return '`'
	}
	c, _ := utf8.DecodeRuneInString(s.text)
	return c
}

// endRune is the last character that Markdown has for a span.
func endRune(s span) rune {
	if s.look&code != 0 || s.look>>markShift != 0 {
		return '`'
	}
	c, _ := utf8.DecodeLastRuneInString(s.text)
	return c
}

// isText reports whether a character is neither a space nor punctuation.
func isText(c rune) bool {
	return c != utf8.RuneError && !unicode.IsSpace(c) && !util.IsPunctRune(c)
}
