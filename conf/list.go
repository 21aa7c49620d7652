package conf

import (
	"fmt"
	"slices"
	"strings"
)

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
