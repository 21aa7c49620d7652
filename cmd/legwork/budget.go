package main

import (
	"math"
	"time"

	"legwork/conf"
	"legwork/llm"
	"legwork/tasks"
)

// budget is what tasks may cost.
func budget(c *conf.Config) tasks.BudgetRules {
	micros := func(usd float64) int64 { return int64(math.Round(usd * 1e6)) }
	zone, err := time.LoadLocation(c.Timezone)
	if err != nil {
		zone = time.UTC
	}
	b := c.Budget
	return tasks.BudgetRules{
		Budgets: tasks.Budgets{
			TaskTokens: b.TaskTokens, TaskUSD: micros(b.TaskUSD), UserDayUSD: micros(b.UserDayUSD),
			ChatDayUSD: micros(b.ChatDayUSD), DayUSD: micros(b.DayUSD), DayTokens: b.DayTokens,
		},
		Zone: zone, Asker: b.Extend == conf.ExtendAsker,
	}
}

var _ tasks.Pricer = (*models)(nil)

// Quote is part of tasks.Pricer.
func (m *models) Quote(r llm.Request) llm.Usage { return m.current.Load().Quote(r) }

// QuoteTokens is part of tasks.Pricer.
func (m *models) QuoteTokens(roleOrName string, input, output int) llm.Usage {
	return m.current.Load().QuoteTokens(roleOrName, input, output)
}

// Chosen is part of tasks.Pricer.
func (m *models) Chosen(r llm.Request) string { return m.current.Load().Chosen(r) }

// Bytes is part of tasks.Pricer.
func (m *models) Bytes(roleOrName string, tokens int) int {
	return m.current.Load().Bytes(roleOrName, tokens)
}
