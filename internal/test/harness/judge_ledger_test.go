package harness_test

import (
	"slices"
	"testing"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/harness"
	"legwork/llm"
	"legwork/tasks"
)

// billed is a run with one call in each of two lives, of 100 tokens and 10 of
// reply; the first life was killed, soon after the reply when cut.
func billed(cut bool, ledger ...tasks.Spent) harness.Record {
	r := good(map[string]func(*tape){"decided": func(t *tape) {
		if !cut {
			t.idle()
		}
		restart(t)
	}})
	r.Ledger = append([]tasks.Spent{}, ledger...)
	r.Model = r.Model[:4]
	for i := range r.Model {
		if r.Model[i].Event == llmfake.EventReply {
			r.Model[i].Reply = &llmfake.Response{Usage: &llmfake.Usage{Input: 100, Output: 10}}
		}
	}
	return r
}

func spent(calls, input, output int) tasks.Spent {
	return tasks.Spent{Calls: calls, Usage: llm.Usage{Input: input, Output: output}}
}

func TestJudgeOfLedgers(t *testing.T) {
	for _, test := range []struct {
		name  string
		run   harness.Record
		guilt bool
	}{
		{"all is counted", billed(false, spent(2, 200, 20)), false},
		{"in two rows", billed(false, spent(1, 100, 10), spent(1, 100, 10)), false},
		{"a reply that a kill cut off counts by its prompt", billed(true, spent(2, 190, 10)), false},
		{"and may be stored", billed(true, spent(2, 200, 20)), false},
		{"a reply is not counted", billed(false, spent(2, 200, 10)), true},
		{"a call is not counted", billed(false, spent(1, 100, 10)), true},
		{"a call that a kill cut off is not counted", billed(true, spent(1, 100, 10)), true},
		{"replies are counted twice", billed(true, spent(2, 200, 40)), true},
		{"nothing is counted", billed(false), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			violations := harness.Judge(test.run).Violations
			found := slices.ContainsFunc(violations, func(v harness.Violation) bool { return v.Rule == harness.RuleLedger })
			if found != test.guilt {
				t.Errorf("got %v, want a violation of %q: %v", violations, harness.RuleLedger, test.guilt)
			}
		})
	}
}
