package commands

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"legwork/llm"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/inbox"
)

// usageRows is how many persons, chats and models an admin is shown.
const usageRows = 10

// usageCommand tells what was spent: by the person who asks, and where others read
// along by their chat; to admins in private by everybody, and by whom.
func usageCommand(ctx context.Context, in *inbox.Inbox, r *inbox.Request, _ string) (inbox.Reply, error) {
	m, rules := r.Message, r.Rules.Budget
	today := rules.Day(in.Wall())
	extended, err := in.Store.Extended(ctx, today)
	if err != nil {
		return inbox.Reply{}, fmt.Errorf("reading by how much budgets were extended: %w", err)
	}
	rules.Budgets = rules.ExtendedBy(extended, m.From.Key(), m.Chat.Room())
	own, err := readSpending(ctx, in, tasks.SpentQuery{User: m.From.Key()}, today)
	if err != nil {
		return inbox.Reply{}, err
	}
	lines := []string{usageLines(in, r.Lang, "usage.mine", own, budgetLeft{tasks.BudgetUserDayUSD, rules.UserDayUSD})}
	if !m.Chat.Private {
		here, err := readSpending(ctx, in, tasks.SpentQuery{Chat: m.Chat.Room()}, today)
		if err != nil {
			return inbox.Reply{}, err
		}
		lines = append(lines, usageLines(in, r.Lang, "usage.chat", here, budgetLeft{tasks.BudgetChatDayUSD, rules.ChatDayUSD}))
	}
	if r.Admin && m.Chat.Private {
		all, err := usageOfAll(ctx, in, r.Lang, today, rules)
		if err != nil {
			return inbox.Reply{}, err
		}
		lines = append(lines, all...)
	}
	return in.Reply(r, inbox.TextNotice(strings.Join(lines, "\n\n"))), nil
}

// spending is what was spent today, in this month and at all.
type spending struct{ today, month, ever llm.Usage }

func (s *spending) add(row tasks.Spent, today string) {
	s.ever = s.ever.Add(row.Usage)
	if monthOf(row.Day) == monthOf(today) {
		s.month = s.month.Add(row.Usage)
	}
	if row.Day == today {
		s.today = s.today.Add(row.Usage)
	}
}

// monthOf is the month of a day: "2026-11".
func monthOf(day string) string { return day[:min(len(day), len("2006-01"))] }

func readSpending(ctx context.Context, in *inbox.Inbox, q tasks.SpentQuery, today string) (spending, error) {
	rows, err := in.Store.Spent(ctx, q)
	if err != nil {
		return spending{}, fmt.Errorf("reading what was spent: %w", err)
	}
	var s spending
	for _, row := range rows {
		s.add(row, today)
	}
	return s, nil
}

// budgetLeft is a day's budget beside what was spent of it; 0: no limit.
type budgetLeft struct {
	budget string
	limit  int64
}

// usageLines are a head and what was spent under it.
func usageLines(in *inbox.Inbox, lang, key string, s spending, of budgetLeft) string {
	today := spentText(in, lang, s.today)
	if of.limit > 0 {
		if !tasks.InTokens(of.budget) && s.today.Cost <= 0 { // both sides of a comparison must be there
			today += ", " + in.Texts.Money(lang, 0)
		}
		today = in.Texts.Text(lang, "usage.of", map[string]any{"Spent": today, "Limit": cards.AmountText(in.Texts, lang, of.budget, of.limit)})
	}
	return strings.Join([]string{
		"**" + in.Texts.Text(lang, key, nil) + "**",
		in.Texts.Text(lang, "usage.today", map[string]any{"Text": today}),
		in.Texts.Text(lang, "usage.month", map[string]any{"Text": spentText(in, lang, s.month)}),
		in.Texts.Text(lang, "usage.ever", map[string]any{"Text": spentText(in, lang, s.ever)}),
	}, "\n")
}

// spentText writes tokens and money.
func spentText(in *inbox.Inbox, lang string, u llm.Usage) string {
	return cards.CostText(in.Texts.Roughly, in.Texts.Money, lang, u.Tokens(), u.Cost)
}

// usageOfAll tells admins what all have spent, and in this month who, where and
// with which model.
func usageOfAll(ctx context.Context, in *inbox.Inbox, lang, today string, rules tasks.BudgetRules) ([]string, error) {
	rows, err := in.Store.Spent(ctx, tasks.SpentQuery{})
	if err != nil {
		return nil, fmt.Errorf("reading what was spent: %w", err)
	}
	var all spending
	parts := []struct {
		key  string
		name func(tasks.Spent) string
		sums *tasks.UsageByName
	}{
		{"usage.by_user", func(s tasks.Spent) string { return s.User }, tasks.NewUsageByName()},
		{"usage.by_chat", func(s tasks.Spent) string { return s.Chat }, tasks.NewUsageByName()},
		{"usage.by_model", func(s tasks.Spent) string { return s.Model }, tasks.NewUsageByName()},
	}
	for _, row := range rows {
		all.add(row, today)
		for _, p := range parts {
			if monthOf(row.Day) == monthOf(today) {
				p.sums.Add(p.name(row), row.Usage)
			}
		}
	}
	of := budgetLeft{tasks.BudgetDayUSD, rules.DayUSD}
	if of.limit == 0 {
		of = budgetLeft{tasks.BudgetDayTokens, rules.DayTokens}
	}
	lines := []string{usageLines(in, lang, "usage.all", all, of)}
	for _, p := range parts {
		if part := usagePart(in, lang, p.key, p.sums); part != "" {
			lines = append(lines, part)
		}
	}
	return lines, nil
}

// usagePart lists those who have spent most.
func usagePart(in *inbox.Inbox, lang, key string, s *tasks.UsageByName) string {
	if len(s.Names) == 0 {
		return ""
	}
	names := slices.SortedStableFunc(slices.Values(s.Names), func(a, b string) int {
		x, y := s.Usage[a], s.Usage[b]
		return cmp.Or(cmp.Compare(y.Cost, x.Cost), cmp.Compare(y.Tokens(), x.Tokens()), cmp.Compare(a, b))
	})
	more := max(0, len(names)-usageRows)
	lines := []string{"**" + in.Texts.Text(lang, key, map[string]any{"Date": monthOf(in.CurrentRules().Budget.Day(in.Wall()))}) + "**"}
	for _, name := range names[:len(names)-more] {
		lines = append(lines, in.Texts.Text(lang, "usage.row", map[string]any{"Name": cards.InCode(name), "Text": spentText(in, lang, s.Usage[name])}))
	}
	if more > 0 {
		lines = append(lines, in.Texts.Text(lang, "board.more", map[string]any{"Count": more}))
	}
	return strings.Join(lines, "\n")
}
