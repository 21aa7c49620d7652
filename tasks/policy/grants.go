package policy

import (
	"legwork/planner"
)

// Allows makes the decision that allows the calls of a question, with grants for
// its scope. ok is false when the scope is not empty and nothing can be granted.
func Allows(q *planner.Question, scope string) (d planner.Decision, ok bool) {
	d = planner.Decision{Approve: true, Scope: scope}
	if scope != "" {
		d.Grants = GrantsOf(q)
	}
	return d, scope == "" || len(d.Grants) > 0
}

// GrantsOf lists the grants that would cover the calls of an approval.
func GrantsOf(q *planner.Question) []planner.Grant {
	var list []planner.Grant
	seen := map[planner.Grant]bool{}
	if q == nil {
		return nil
	}
	for _, a := range q.Calls {
		g := planner.Grant{Tool: a.Tool, Definition: a.Definition, Values: a.Values}
		if !seen[g] {
			list = append(list, g)
		}
		seen[g] = true
	}
	return list
}
