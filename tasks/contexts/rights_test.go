package contexts_test

import (
	"fmt"
	"strings"
	"testing"

	"legwork/tasks/contexts"
)

// TestRights writes out who may do what, so that a change of it is seen.
func TestRights(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "%-10s", "")
	for _, role := range contexts.Roles() {
		fmt.Fprintf(&b, "%-10s", role)
	}
	for _, op := range contexts.Ops() {
		fmt.Fprintf(&b, "\n%-10s", op)
		for _, role := range contexts.Roles() {
			word := map[contexts.Right]string{contexts.Never: "-", contexts.Own: "own", contexts.Always: "yes"}[role.May(op)]
			fmt.Fprintf(&b, "%-10s", word)
		}
		if contexts.Role("other").May(op) != contexts.Never || contexts.Role("").May(op) != contexts.Never {
			t.Errorf("%s: nobody may do it", op)
		}
	}
	var lines []string
	for line := range strings.Lines(b.String()) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	golden(t, "rights.golden", strings.Join(lines, "\n")+"\n")
}
