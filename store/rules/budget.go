package rules

import (
	"cmp"
	"slices"

	"legwork/planner"
	"legwork/tasks"
)

// limit is one budget and how far it is used.
type limit struct {
	key      string
	day      TotalKey // of a day's budget
	amount   int64
	extra    int64 // by how much it was extended
	used     int64 // spent and reserved
	reserved int64 // the part of used that is reserved, without this task's closing answer
	wanted   int64
}

// checkRoom returns a *tasks.BudgetError when a budget has no room for h together
// with keep.
func (s *Tx) checkRoom(id tasks.ID, account Account, h Reservation, keep *Reservation, b tasks.Budgets) error {
	wanted := amount(h.Most)
	if keep != nil {
		wanted = wanted.plus(amount(keep.Most))
	}
	list, err := s.limits(id, account, h, b)
	if err != nil {
		return err
	}
	for _, l := range list {
		l.wanted = wanted.Cost
		if tasks.InTokens(l.key) {
			l.wanted = wanted.Tokens
		}
		// A call that needs nothing of a budget does not wait for it: a model without
		// a price costs no money that could be counted.
		if l.amount > 0 && l.wanted > 0 && l.used+l.wanted > l.amount+l.extra {
			return &tasks.BudgetError{Overdraft: l.overdraft(), Reserved: l.reserved}
		}
	}
	return nil
}

// limits lists the budgets that h counts for. The first one that is reached is the
// one that people read about.
func (s *Tx) limits(id tasks.ID, account Account, h Reservation, b tasks.Budgets) ([]limit, error) {
	state, err := s.State(id)
	if err != nil {
		return nil, err
	}
	var kept Amount // that only this task's closing answer can set free
	if account.keeps() {
		kept = amount(account.Kept.Most)
	}
	reserved := account.totalReserved()
	own, aside := account.Spent.plus(reserved), reserved.minus(kept)
	list := []limit{
		{key: tasks.BudgetTaskTokens, amount: b.TaskTokens, used: own.Tokens, reserved: aside.Tokens, extra: state.Extended[tasks.BudgetTaskTokens]},
		{key: tasks.BudgetTaskUSD, amount: b.TaskUSD, used: own.Cost, reserved: aside.Cost, extra: state.Extended[tasks.BudgetTaskUSD]},
	}
	for _, l := range []limit{
		{key: tasks.BudgetUserDayUSD, amount: b.UserDayUSD, day: TotalKey{Day: h.Day, User: h.User}},
		{key: tasks.BudgetChatDayUSD, amount: b.ChatDayUSD, day: TotalKey{Day: h.Day, Chat: h.Chat}},
		{key: tasks.BudgetDayUSD, amount: b.DayUSD, day: TotalKey{Day: h.Day}},
		{key: tasks.BudgetDayTokens, amount: b.DayTokens, day: TotalKey{Day: h.Day}},
	} {
		if !slices.Contains(h.totalKeys(), l.day) {
			continue
		}
		sum, err := s.Total(l.day)
		if err != nil {
			return nil, err
		}
		used, aside := sum.Spent.plus(sum.Reserved), sum.Reserved
		if account.keeps() && l.day.counts(*account.Kept) {
			aside = aside.minus(kept)
		}
		l.used, l.reserved, l.extra = used.Cost, aside.Cost, sum.Extra.Cost
		if tasks.InTokens(l.key) {
			l.used, l.reserved, l.extra = used.Tokens, aside.Tokens, sum.Extra.Tokens
		}
		list = append(list, l)
	}
	return list, nil
}

// overdraft returns the reached budget for a person's decision. A yes extends the
// budget by half of the configured amount, and always by enough for the call.
func (l limit) overdraft() planner.Overdraft {
	total := l.amount + l.extra
	return planner.Overdraft{
		Budget: l.key, Day: l.day.Day, Who: l.day.User + l.day.Chat,
		Limit: total, Spent: l.used, Wanted: l.wanted,
		Extend: max((l.amount+1)/2, l.wanted, l.used+l.wanted-total),
	}
}

// extendBudget extends a day's budget that before has reached, when e is a
// person's yes. The fold extends budgets of the task itself.
func (s *Tx) extendBudget(before planner.State, e planner.Event) error {
	over := before.Overdraft
	if before.Budget == "" || over.Day == "" || e.Type != planner.Decided || e.Decision == nil || !e.Decision.Approve {
		return nil
	}
	asked := slices.ContainsFunc(planner.Todo(before), func(a planner.Action) bool {
		return a.ID == e.Action && a.ID.Subject == planner.SubjectBudget
	})
	if !asked {
		return nil
	}
	of, extra := TotalKey{Day: over.Day}, Amount{Cost: over.Extend}
	switch over.Budget {
	case tasks.BudgetUserDayUSD:
		of.User = over.Who
	case tasks.BudgetChatDayUSD:
		of.Chat = over.Who
	case tasks.BudgetDayTokens:
		extra = Amount{Tokens: over.Extend}
	case tasks.BudgetDayUSD:
	default:
		return nil
	}
	sum, err := s.Total(of)
	if err != nil {
		return err
	}
	sum.Extra = sum.Extra.plus(extra)
	put(&s.changes.Totals, of, sum)
	return nil
}

// Extended lists the budgets of a day that people have extended.
func Extended(b Snapshot, day string) ([]tasks.Extended, error) {
	all, err := b.TotalKeys()
	if err != nil {
		return nil, err
	}
	var list []tasks.Extended
	for _, of := range all {
		if of.Day != day {
			continue
		}
		sum, err := b.Total(of)
		if err != nil {
			return nil, err
		}
		if sum.Extra != (Amount{}) {
			list = append(list, tasks.Extended{User: of.User, Chat: of.Chat, Tokens: sum.Extra.Tokens, Cost: sum.Extra.Cost})
		}
	}
	slices.SortFunc(list, func(a, b tasks.Extended) int {
		return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Chat, b.Chat))
	})
	return list, nil
}

// forgetSums deletes the totals of a person or a chat. The totals of everybody
// stay.
func (k Retention) forgetSums(who string) error {
	return k.Change(func(s *Tx) error {
		all, err := s.TotalKeys()
		if err != nil {
			return err
		}
		for _, of := range all {
			if of.User == who || inChat(of.Chat, who) {
				put(&s.changes.Totals, of, Total{})
			}
		}
		return nil
	})
}
