package api_test

import (
	"fmt"
	"legwork/tasks/policy"
	"strings"
	"testing"
)

// TestRights writes out who may do what, so that a change of it is seen.
func TestRights(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "%-10s", "")
	for _, role := range policy.Roles() {
		fmt.Fprintf(&b, "%-10s", role)
	}
	for _, op := range policy.Ops() {
		fmt.Fprintf(&b, "\n%-10s", op)
		for _, role := range policy.Roles() {
			word := map[policy.Right]string{policy.Never: "-", policy.Own: "own", policy.Always: "yes"}[role.May(op)]
			fmt.Fprintf(&b, "%-10s", word)
		}
		if policy.Role("other").May(op) != policy.Never || policy.Role("").May(op) != policy.Never {
			t.Errorf("%s: no role may do it", op)
		}
	}
	var lines []string
	for line := range strings.Lines(b.String()) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	golden(t, "rights.golden", strings.Join(lines, "\n")+"\n")
}
