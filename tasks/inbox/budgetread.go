package inbox

import (
	"context"
	"fmt"

	"legwork/internal/telemetry"
	"legwork/llm"
	"legwork/tasks"
)

// DayBudgets returns the state of today's budgets of all people together, for
// each that has a limit.
func DayBudgets(ctx context.Context, in *Inbox) ([]telemetry.Budget, error) {
	rules := in.rules.Load().Budget
	if rules.DayUSD <= 0 && rules.DayTokens <= 0 {
		return nil, nil
	}
	today := rules.Day(in.Wall())
	spent, err := in.Store.Spent(ctx, tasks.SpentQuery{From: today, To: today})
	if err != nil {
		return nil, fmt.Errorf("reading what was spent: %w", err)
	}
	extended, err := in.Store.Extended(ctx, today)
	if err != nil {
		return nil, fmt.Errorf("reading by how much budgets were extended: %w", err)
	}
	var used llm.Usage
	for _, s := range spent {
		used = used.Add(s.Usage)
	}
	whole := rules.ExtendedBy(extended, "", "")
	var list []telemetry.Budget
	if whole.DayUSD > 0 {
		list = append(list, telemetry.Budget{Name: tasks.BudgetDayUSD, Money: true, Limit: whole.DayUSD, Spent: used.Cost})
	}
	if whole.DayTokens > 0 {
		list = append(list, telemetry.Budget{Name: tasks.BudgetDayTokens, Limit: whole.DayTokens, Spent: used.Tokens()})
	}
	return list, nil
}
