package policy

import (
	"legwork/planner"
)

// Allows is the decision that lets calls be made, and more of them as far as the
// scope goes; false when nothing could be granted.
func Allows(q *planner.Question, scope string) (planner.Decision, bool) {
	d := planner.Decision{Approve: true, Scope: scope}
	if scope != "" {
		d.Grants = GrantsOf(q)
	}
	return d, scope == "" || len(d.Grants) > 0
}

// GrantsOf are the standing grants that would cover the calls of an approval: not
// those that are asked about for another reason than that they change things,
// since that is asked about again whatever is granted.
func GrantsOf(q *planner.Question) []planner.Grant {
	var list []planner.Grant
	seen := map[planner.Grant]bool{}
	if q == nil {
		return nil
	}
	for _, a := range q.Calls {
		g := planner.Grant{Tool: a.Tool, Definition: a.Definition}
		if !seen[g] && a.Reason == "" {
			list = append(list, g)
		}
		seen[g] = seen[g] || a.Reason == ""
	}
	return list
}
