// Package nearest finds the known name that a misspelt word probably stands for.
package nearest

import (
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// maxBytes is how much of a word is compared: the time for a word grows with
// its length times that of each name.
const maxBytes = 64

// Of returns the name that takes the fewest edits to reach from a word, without
// regard to case; among equals the first in the alphabet. It returns "" when
// there are no names.
func Of(word string, names []string) string {
	name, _ := find(cut(word), names)
	return name
}

// Typo returns the name that a word is a misspelling of, or "" when even the
// nearest one differs in too many letters: up to two of a short word, and one
// more for every four letters after the seventh.
func Typo(word string, names []string) string {
	word = cut(word)
	name, edits := find(word, names)
	if edits > 1+utf8.RuneCountInString(word)/4 {
		return ""
	}
	return name
}

// Hint is ", the nearest known one is NAME" for a misspelling of a name, otherwise "".
func Hint(word string, names []string) string {
	if name := Typo(word, names); name != "" {
		return ", the nearest known one is " + name
	}
	return ""
}

func cut(word string) string { return word[:min(len(word), maxBytes)] }

func find(word string, names []string) (nearest string, fewest int) {
	word, fewest = strings.ToLower(word), -1
	for _, name := range names {
		edits := levenshtein.ComputeDistance(word, strings.ToLower(cut(name)))
		if fewest < 0 || edits < fewest || edits == fewest && name < nearest {
			nearest, fewest = name, edits
		}
	}
	return nearest, fewest
}
