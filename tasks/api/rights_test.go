package api_test

import (
	"fmt"
	"strings"
	"testing"

	"legwork/tasks/api"
)

// TestRights writes out who may do what, so that a change of it is seen.
func TestRights(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "%-10s", "")
	for _, role := range api.Roles() {
		fmt.Fprintf(&b, "%-10s", role)
	}
	for _, op := range api.Ops() {
		fmt.Fprintf(&b, "\n%-10s", op)
		for _, role := range api.Roles() {
			word := map[api.Right]string{api.Never: "-", api.Own: "own", api.Always: "yes"}[role.May(op)]
			fmt.Fprintf(&b, "%-10s", word)
		}
		if api.Role("other").May(op) != api.Never || api.Role("").May(op) != api.Never {
			t.Errorf("%s: no role may do it", op)
		}
	}
	var lines []string
	for line := range strings.Lines(b.String()) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	golden(t, "rights.golden", strings.Join(lines, "\n")+"\n")
}
