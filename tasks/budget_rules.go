package tasks

import (
	"cmp"
	"time"

	"legwork/llm"
)

// BudgetRules are what the config says about budgets.
type BudgetRules struct {
	Budgets
	Zone         *time.Location // whose midnights part the days; nil: UTC
	AskerExtends bool           // the person who asked may extend a reached budget, too, not admins alone
	// Unattended says that large plans are not confirmed by a person: the
	// budgets alone bound them.
	Unattended bool
}

// Day is the one whose budgets count at a moment.
func (r BudgetRules) Day(at time.Time) string {
	return at.In(cmp.Or(r.Zone, time.UTC)).Format(time.DateOnly)
}

// Allow reports that a usage is at most a part of each budget: a fourth for 4.
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

// ExtendedBy is the budgets of a person's day, a chat's and everybody's with what
// they were extended by; one without a limit stays so.
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

// CanExtend reports that somebody who may steer a task may extend its budget.
func (r BudgetRules) CanExtend(admin bool) bool { return admin || r.AskerExtends }
