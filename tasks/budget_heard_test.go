package tasks_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"legwork/planner"
	"legwork/tasks"
)

// TestBudgetsAreHeardOf: programs hear of a day's budget that is reached, once, and
// again when they could not be told; the admins are told after them.
func TestBudgetsAreHeardOf(t *testing.T) {
	s, _ := newBudgetEnv(t, 5, tasks.BudgetRules{Budgets: tasks.Budgets{UserDayUSD: dollars(0.60)}})
	var heard []string
	away := errors.New("no admin is there")
	s.budgetHook = func(_ context.Context, reached bool, list []planner.Overdraft) error {
		if away != nil {
			return away
		}
		for _, over := range list {
			heard = append(heard, over.Budget+" "+over.Who)
			if !reached {
				t.Errorf("%s was heard of as nearly used up, but it is reached", over.Budget)
			}
		}
		return nil
	}
	s.again()
	id, plan := s.runs("ann", room("hall"), "find it")
	s.card(id, plan.ID)
	told := func() bool {
		s.inbox.Flush(t.Context())
		return slices.ContainsFunc(s.told("boss"), func(text string) bool { return strings.Contains(text, s.text("admin.budget_reached", nil)) })
	}
	if err := s.budgets.Look(t.Context()); !errors.Is(err, away) || told() {
		t.Fatalf("before an admin was there: %v, the admin read %q", err, s.told("boss"))
	}
	away = nil
	for range 2 {
		if err := s.budgets.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(heard, []string{tasks.BudgetUserDayUSD + " phone:ann"}) || !told() {
		t.Errorf("heard of: %q, the admin read %q; want the budget of ann once, and so the admin", heard, s.told("boss"))
	}
}
