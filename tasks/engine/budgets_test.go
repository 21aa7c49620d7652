package engine_test

import (
	"context"

	"legwork/planner"
	"legwork/tasks"
)

// paid checks that no budget of a simulation was exceeded, but by what
// people extended it: no call takes more than was set aside for it.
func (sim *simulation) paid(turns []tasks.Turn) {
	extended := map[string]int64{} // of the days
	for _, turn := range turns {
		events, err := sim.store.Load(context.Background(), turn.Task, 0)
		if err != nil {
			sim.t.Fatal(err)
		}
		s, limit := planner.Fold(events), sim.env.Budget.TaskTokens
		if most := limit + s.Extended[tasks.BudgetTaskTokens]; limit > 0 && s.Usage.Tokens() > most {
			sim.t.Errorf("%q took %d tokens of %d", turn.Goal, s.Usage.Tokens(), most)
		}
		var over planner.Overdraft
		for _, e := range events {
			if e.Type == planner.BudgetReached {
				over = *e.Overdraft
			}
			if e.Type == planner.Decided && e.Action.Subject == planner.SubjectBudget && e.Decision.Approve && over.Day != "" {
				extended[over.Day] += over.Extend
			}
		}
	}
	spent := map[string]int64{}
	rows, err := sim.store.Spent(context.Background(), tasks.SpentQuery{})
	if err != nil {
		sim.t.Fatal(err)
	}
	for _, row := range rows {
		spent[row.Day] += row.Usage.Tokens()
	}
	for day, n := range spent {
		if most := sim.env.Budget.DayTokens + extended[day]; sim.env.Budget.DayTokens > 0 && n > most {
			sim.t.Errorf("%d tokens were spent on %s, of %d", n, day, most)
		}
	}
}
