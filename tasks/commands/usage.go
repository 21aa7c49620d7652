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

// usageRows is the maximum number of people, chats and models that an admin sees.
const usageRows = 10

// usageCommand shows the spending of the author, and in a group also that of the
// chat. An admin in a private chat sees the spending of everybody.
func usageCommand(ctx context.Context, in *inbox.Inbox, r *inbox.Request, _ string) (inbox.Reply, error) {
	m, rules := r.Message, r.Rules.Budget
	today := rules.Day(in.Wall())
	extended, err := in.Store.Extended(ctx, today)
	if err != nil {
		return inbox.Reply{}, fmt.Errorf("reading budget extensions: %w", err)
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

// spending is the usage of today, of this month and of all time.
type spending struct{ today, month, total llm.Usage }

func (s *spending) add(row tasks.Spent, today string) {
	s.total = s.total.Add(row.Usage)
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
		return spending{}, fmt.Errorf("reading usage: %w", err)
	}
	var s spending
	for _, row := range rows {
		s.add(row, today)
	}
	return s, nil
}

// budgetLeft is the budget of a day, to be shown beside the spending. A limit of 0
// means no limit.
type budgetLeft struct {
	budget string
	limit  int64
}

// usageLines is a heading with the spending below it.
func usageLines(in *inbox.Inbox, lang, key string, s spending, of budgetLeft) string {
	today := cards.CostText(in.Texts, lang, s.today)
	if of.limit > 0 {
		if !tasks.InTokens(of.budget) && s.today.Cost <= 0 && !s.today.Unpriced { // show the spending in the unit of the limit
			today += ", " + in.Texts.Money(lang, 0)
		}
		today = in.Texts.Text(lang, "usage.of", map[string]any{"Spent": today, "Limit": cards.AmountText(in.Texts, lang, of.budget, of.limit)})
	}
	return strings.Join([]string{
		"**" + in.Texts.Text(lang, key, nil) + "**",
		in.Texts.Text(lang, "usage.today", map[string]any{"Text": today}),
		in.Texts.Text(lang, "usage.month", map[string]any{"Text": cards.CostText(in.Texts, lang, s.month)}),
		in.Texts.Text(lang, "usage.ever", map[string]any{"Text": cards.CostText(in.Texts, lang, s.total)}),
	}, "\n")
}

// usageOfAll lists the spending of all people together, and this month's spending
// by person, chat and model.
func usageOfAll(ctx context.Context, in *inbox.Inbox, lang, today string, rules tasks.BudgetRules) ([]string, error) {
	rows, err := in.Store.Spent(ctx, tasks.SpentQuery{})
	if err != nil {
		return nil, fmt.Errorf("reading usage: %w", err)
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

// usagePart lists the names with the highest spending.
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
		lines = append(lines, in.Texts.Text(lang, "usage.row", map[string]any{"Name": cards.InCode(name), "Text": cards.CostText(in.Texts, lang, s.Usage[name])}))
	}
	if more > 0 {
		lines = append(lines, in.Texts.Text(lang, "board.more", map[string]any{"Count": more}))
	}
	return strings.Join(lines, "\n")
}
