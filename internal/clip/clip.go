// Package clip shortens text without splitting its characters.
package clip

import (
	"strings"
	"unicode/utf8"
)

// Mark is in the place of text that was left out.
const Mark = "…"

// Bytes returns the beginning of text, at most n bytes and no part of a character.
func Bytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	end := max(n, 0)
	for end > 0 && n-end < utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// Marked is Bytes with Mark behind a shortened text: up to n bytes and the mark.
func Marked(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return Bytes(text, n) + Mark
}

// Line returns at most n characters of text, and Mark where there are more, on
// one line: line breaks and runs of spaces become single spaces.
func Line(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= n {
		return text
	}
	for i := range text {
		if n == 0 {
			return strings.TrimSpace(text[:i]) + Mark
		}
		n--
	}
	return text
}

// Words is Line, cut at the end of a word unless the last word is longer than half of n.
func Words(text string, n int) string {
	line := Line(text, n)
	kept, cut := strings.CutSuffix(line, Mark)
	all := strings.Join(strings.Fields(text), " ")
	if !cut || line == all || strings.HasPrefix(all[len(kept):], " ") {
		return line
	}
	if i := strings.LastIndexByte(kept, ' '); i >= len(kept)/2 {
		kept = kept[:i]
	}
	return kept + Mark
}
