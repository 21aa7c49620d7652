package planner

import (
	"maps"
	"slices"
	"strings"

	"legwork/internal/nearest"
)

// groupNames are the names that an entry may have.
type groupNames struct {
	any    bool
	list   []string          // in the order of the config, LLMTool last
	folded map[string]string // by the name in lower case, signs between words alike
}

func newGroups(names []string) *groupNames {
	g := &groupNames{any: names == nil, folded: map[string]string{}}
	for _, name := range append(append([]string{}, names...), LLMTool) {
		if _, there := g.folded[foldName(name)]; !there {
			g.folded[foldName(name)] = name
			g.list = append(g.list, name)
		}
	}
	return g
}

func foldName(s string) string {
	return strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(strings.TrimSpace(s)))
}

// find returns the group's own spelling of a name.
func (g *groupNames) find(name string) (string, bool) {
	for _, own := range g.list {
		if own == name {
			return own, true
		}
	}
	if own, ok := g.folded[foldName(name)]; ok {
		return own, true
	}
	return name, g.any && name != ""
}

func (g *groupNames) allowed() string {
	if g.any {
		return `"name" is a tool group or ` + LLMTool + "."
	}
	return "Allowed names: " + strings.Join(g.list, ", ") + "."
}

// suggest names the group that was probably meant.
func (g *groupNames) suggest(name string) string {
	folded, near := foldName(name), ""
	if folded == "" {
		return ""
	}
	for _, own := range g.list {
		if f := foldName(own); strings.HasPrefix(folded, f) || strings.HasPrefix(f, folded) {
			near = own
			break
		}
	}
	if near == "" {
		near = g.folded[nearest.Typo(folded, slices.Collect(maps.Keys(g.folded)))]
	}
	if near == "" {
		return ""
	}
	return " (did you mean " + cited(near) + "?)"
}
