package planner

import "strings"

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
	folded := foldName(name)
	if len(folded) > 64 {
		return ""
	}
	best, least := "", len(folded)/2+1
	for _, own := range g.list {
		f := foldName(own)
		d := distance(folded, f)
		if strings.HasPrefix(folded, f) || strings.HasPrefix(f, folded) {
			d = min(d, 1)
		}
		if d < least {
			best, least = own, d
		}
	}
	if best == "" {
		return ""
	}
	return " (did you mean " + cited(best) + "?)"
}

// distance is the number of letters to add, drop or change between two words.
func distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range to {
			change := diagonal
			if x != y {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}
