package conf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// nearest is the word that takes the fewest edits to reach, the first of equals.
// It is empty for no words. Only the beginning of a long word is looked at.
func nearest(word string, words []string) string {
	const most = 64
	word = strings.ToLower(word[:min(len(word), most)])
	best, least := "", -1
	for _, w := range slices.Sorted(slices.Values(words)) {
		if d := levenshtein.ComputeDistance(word, strings.ToLower(w)); least < 0 || d < least {
			best, least = w, d
		}
	}
	return best
}

// list writes words as people read them: sorted, with commas. A long list is
// cut.
func list(words []string) string {
	const most = 30
	sorted := slices.Sorted(slices.Values(words))
	if len(sorted) <= most {
		return strings.Join(sorted, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(sorted[:most], ", "), len(sorted)-most)
}
