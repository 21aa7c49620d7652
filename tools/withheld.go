package tools

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// withheld tells the group's models of tools that are held back, which they are
// not offered: a person who asks for one must hear why it is not there. Empty
// when there is none.
func (g *group) withheld() string {
	const most = 20
	var names []string
	for _, s := range g.servers {
		v := s.view()
		if v == nil {
			continue
		}
		for tool := range v.held {
			if g.has(s, tool) {
				names = append(names, strconv.QuoteToASCII(s.full(tool)))
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	more := ""
	if len(names) > most {
		names, more = names[:most], fmt.Sprintf(" and %d more", len(names)-most)
	}
	return fmt.Sprintf("Held back, because their server has changed what it says about them: %s%s. They cannot be called until an admin has looked at that. When the work needs one of them, say so in the result.", strings.Join(names, ", "), more)
}
