package engine_test

import (
	"context"

	"legwork/planner"
	"legwork/tasks"
)

// paid checks that no budget of a simulated world was exceeded, but by what
// people extended it: no call takes more than was set aside for it.
func (w *world) paid(turns []tasks.Turn) {
	extended := map[string]int64{} // of the days
	for _, turn := range turns {
		events, err := w.store.Load(context.Background(), turn.Task, 0)
		if err != nil {
			w.t.Fatal(err)
		}
		s, limit := planner.Fold(events), w.kit.Budget.TaskTokens
		if most := limit + s.Extended[tasks.BudgetTaskTokens]; limit > 0 && s.Usage.Tokens() > most {
			w.t.Errorf("%q took %d tokens of %d", turn.Goal, s.Usage.Tokens(), most)
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
	rows, err := w.store.Spent(context.Background(), tasks.SpentQuery{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, row := range rows {
		spent[row.Day] += row.Usage.Tokens()
	}
	for day, n := range spent {
		if most := w.kit.Budget.DayTokens + extended[day]; w.kit.Budget.DayTokens > 0 && n > most {
			w.t.Errorf("%d tokens were spent on %s, of %d", n, day, most)
		}
	}
}
