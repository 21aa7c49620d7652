package search

import (
	"iter"
	"strings"
	"unicode"

	"github.com/kljensen/snowball/english"
	"github.com/kljensen/snowball/russian"
	"golang.org/x/text/unicode/norm"
)

// term is a word, or a part of one, in the form in which it is indexed.
type term struct {
	text  string
	weak  bool // a stop word such as "the"
	spare bool // a single character of a longer run of a script without spaces
}

// lexicon caches the terms of words, because stemming is slow.
type lexicon map[string]term

// maxWord is how many characters of a word count.
const maxWord = 64

// terms returns the terms of a text in order.
func (l lexicon) terms(text string) iter.Seq[term] {
	return func(yield func(term) bool) {
		for run := range runs(norm.NFKC.String(text)) {
			each := l.wordTerms
			if dense(run[0]) {
				each = denseTerms
			}
			if !each(run, yield) {
				return
			}
		}
	}
}

// runs splits a text at spaces and punctuation, and where a script without
// spaces begins or ends.
func runs(text string) iter.Seq[[]rune] {
	return func(yield func([]rune) bool) {
		var run []rune
		for _, r := range text {
			inside := unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
			if len(run) > 0 && (!inside || !unicode.IsMark(r) && dense(r) != dense(run[0])) {
				if !yield(run) {
					return
				}
				run = nil
			}
			if inside {
				run = append(run, r)
			}
		}
		if len(run) > 0 {
			yield(run)
		}
	}
}

// dense reports whether a character belongs to a script that puts no spaces
// between words, or to Hangul, whose words have endings that no stemmer here
// knows.
func dense(r rune) bool {
	return r > unicode.MaxLatin1 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// denseTerms yields the pairs of neighbours in a run, and its single characters.
func denseTerms(run []rune, yield func(term) bool) bool {
	for i := range run {
		if i > 0 && !yield(term{text: string(run[i-1 : i+1])}) {
			return false
		}
		if !yield(term{text: string(run[i]), spare: len(run) > 1}) {
			return false
		}
	}
	return true
}

// wordTerms yields a word and, when it is an identifier such as listIssues, its
// parts.
func (l lexicon) wordTerms(run []rune, yield func(term) bool) bool {
	if !yield(l.word(run)) {
		return false
	}
	parts := humps(run)
	if len(parts) == 1 {
		return true
	}
	for _, part := range parts {
		if !yield(l.word(part)) {
			return false
		}
	}
	return true
}

// humps splits identifiers such as "listIssues" and "HTTPServer" into words.
func humps(run []rune) [][]rune {
	var parts [][]rune
	start := 0
	for i := 1; i < len(run); i++ {
		rises := unicode.IsUpper(run[i]) && !unicode.IsUpper(run[i-1])
		ends := unicode.IsUpper(run[i]) && i+1 < len(run) && unicode.IsLower(run[i+1])
		if rises || ends && unicode.IsUpper(run[i-1]) {
			parts = append(parts, run[start:i])
			start = i
		}
	}
	return append(parts, run[start:])
}

// word returns the term of a word: without case, accents and endings.
func (l lexicon) word(run []rune) term {
	raw := string(run[:min(len(run), maxWord)])
	t, known := l[raw]
	if !known {
		t = stem(strings.ToLower(raw))
		l[raw] = t
	}
	return t
}

func stem(text string) term {
	switch {
	case strings.ContainsFunc(text, cyrillic):
		text = strings.ReplaceAll(text, "ё", "е")
		return term{text: russian.Stem(text, true), weak: russian.IsStopWord(text)}
	case strings.ContainsFunc(text, latin):
		text = plain(text)
		return term{text: english.Stem(text, true), weak: english.IsStopWord(text)}
	}
	return term{text: text}
}

func cyrillic(r rune) bool { return unicode.Is(unicode.Cyrillic, r) }
func latin(r rune) bool    { return unicode.Is(unicode.Latin, r) }

// plain removes the accents from a word in Latin letters.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(text))
}
