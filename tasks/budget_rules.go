package tasks

import (
	"cmp"
	"time"

	"legwork/llm"
)

// BudgetRules are the configured rules for budgets.
type BudgetRules struct {
	Budgets
	Zone         *time.Location // days begin at its midnights; nil: UTC
	AskerExtends bool           // the person who asked may extend a reached budget, like an admin
	// Unattended means that no person confirms large plans: only the budgets limit
	// them.
	Unattended bool
}

// Day returns the day of a moment, such as "2026-11-20".
func (r BudgetRules) Day(at time.Time) string {
	return at.In(cmp.Or(r.Zone, time.UTC)).Format(time.DateOnly)
}

// Allow reports whether a usage is at most one part in so many of each budget: with
// 4, a fourth.
func (b Budgets) Allow(part int64, u llm.Usage) bool {
	for _, limit := range []struct{ most, needs int64 }{
		{b.TaskTokens, u.Tokens()},
		{b.DayTokens, u.Tokens()},
		{b.TaskUSD, u.Cost},
		{b.UserDayUSD, u.Cost},
		{b.ChatDayUSD, u.Cost},
		{b.DayUSD, u.Cost},
	} {
		if limit.most > 0 && limit.needs > limit.most/part {
			return false
		}
	}
	return true
}

// ExtendedBy returns the budgets with the extensions of a day that count for a
// person, a chat, or everybody. A budget without a limit stays without one.
func (b Budgets) ExtendedBy(list []Extended, user, chat string) Budgets {
	add := func(limit *int64, more int64) {
		if *limit > 0 {
			*limit += more
		}
	}
	for _, e := range list {
		switch (Extended{User: e.User, Chat: e.Chat}) {
		case Extended{}:
			add(&b.DayUSD, e.Cost)
			add(&b.DayTokens, e.Tokens)
		case Extended{User: user}:
			add(&b.UserDayUSD, e.Cost)
		case Extended{Chat: chat}:
			add(&b.ChatDayUSD, e.Cost)
		}
	}
	return b
}

// CanExtend reports whether a person who may steer a task may extend its budget.
func (r BudgetRules) CanExtend(admin bool) bool { return admin || r.AskerExtends }
