package tools

import (
	"path"
	"strings"

	"github.com/agnivade/levenshtein"
)

// matches tells whether one of the patterns fits the tool, by its own name or
// as "server.tool". A pattern "!x" takes away what x fits, wherever it stands;
// when there are only such patterns, everything else is in.
func matches(patterns []string, server, tool string) bool {
	in, positive := false, false
	for _, p := range patterns {
		if rest, not := strings.CutPrefix(p, "!"); not {
			if fits(rest, server, tool) {
				return false
			}
			continue
		}
		positive = true
		in = in || fits(p, server, tool)
	}
	return in || (!positive && len(patterns) > 0)
}

func fits(pattern, server, tool string) bool {
	own, _ := path.Match(slashless(pattern), slashless(tool))
	full, _ := path.Match(slashless(pattern), slashless(server+"."+tool))
	return own || full
}

// slashless lets * stand for slashes too, which path.Match treats apart.
func slashless(s string) string { return strings.ReplaceAll(s, "/", "\x00") }

// nearest is the known name that was perhaps meant, or "".
func nearest(name string, known []string) string {
	best, least := "", 1+len(name)/3
	for _, k := range known {
		if d := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(k)); d <= least {
			if d < least || best == "" {
				best, least = k, d
			}
		}
	}
	return best
}
