package cards

import (
	"slices"
	"strings"

	"legwork/bot"
	"legwork/i18n"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
)

// The choices about a reached budget, in the order of their buttons.
const (
	ChoiceExtend = iota
	ChoiceConclude
)

// overdraftOf reads the reached budget from the event of that seq.
func overdraftOf(v *tasks.View, seq int) planner.Overdraft {
	if e := v.Event(seq); e.Overdraft != nil {
		return *e.Overdraft
	}
	return planner.Overdraft{Budget: v.Event(seq).Budget}
}

// overdraft is the draft that asks about a reached budget.
func (c Card) overdraft(a planner.Action) bot.Draft {
	lang, over := c.View.Opening().Language, overdraftOf(c.View, a.ID.Seq)
	extend := c.Texts.Text(lang, "button.extend", map[string]any{"Text": AmountText(c.Texts, lang, over.Budget, over.Extend)})
	return bot.Draft{
		Kind: bot.KindQuestion, Task: string(c.View.ID), Text: c.overdraftText(over) + "\n\n" + c.overdraftFoot(),
		ReplyTo: c.View.Opening().Message, Mark: c.mark(a.ID.String()),
		Buttons: []bot.Button{
			{Label: extend, Data: pressData(c.View.ID, a.ID, ChoiceExtend), Style: bot.StylePrimary},
			{Label: c.Texts.Text(lang, "button.conclude", nil), Data: pressData(c.View.ID, a.ID, ChoiceConclude), Style: bot.StyleDanger},
		},
	}
}

// overdraftText says which budget is reached, with the amounts.
func (c Card) overdraftText(over planner.Overdraft) string {
	lang, texts := c.View.Opening().Language, c.Texts
	if over.Limit == 0 {
		return texts.Text(lang, "question.budget", nil)
	}
	amount := func(n int64) string { return AmountText(texts, lang, over.Budget, n) }
	return texts.Text(lang, "budget."+ScopeOf(over.Budget), map[string]any{"Name": c.asker()}) + "\n" +
		texts.Text(lang, "budget.figures", map[string]any{"Spent": amount(over.Spent), "Limit": amount(over.Limit), "Text": amount(over.Wanted)})
}

// overdraftFoot says for whom the money is spent, and who can decide.
func (c Card) overdraftFoot() string {
	opening := c.View.Opening()
	key := "budget.admins"
	if c.AskerExtends {
		key = "budget.asker"
	}
	lines := []string{c.Texts.Text(opening.Language, "budget.for", map[string]any{"Name": c.asker(), "Goal": PlainText(Title(opening.Goal))})}
	if c.Lasts {
		lines = append(lines, c.Texts.Text(opening.Language, key, c.decidersData()))
	}
	return strings.Join(lines, "\n")
}

// asker is the name of the person who asked.
func (c Card) asker() string {
	from := c.View.Opening().From
	return PlainText(NameOf(from.Name, from.Key()))
}

// AmountText writes an amount of a budget.
func AmountText(texts *i18n.Texts, lang, budget string, amount int64) string {
	if tasks.InTokens(budget) {
		return texts.Roughly(lang, amount)
	}
	return texts.Money(lang, amount)
}

// ScopeOf is the scope of a budget in the keys of texts: "task", "user", "chat" or
// "day".
func ScopeOf(budget string) string {
	switch budget {
	case tasks.BudgetTaskTokens, tasks.BudgetTaskUSD:
		return "task"
	case tasks.BudgetUserDayUSD:
		return "user"
	case tasks.BudgetChatDayUSD:
		return "chat"
	}
	return "day"
}

// overdraftOver says how the question about a reached budget ended.
func overdraftOver(v *tasks.View, texts *i18n.Texts, lang string, action planner.ActionID) string {
	seq := action.Seq
	if e := v.Decided(action); e != nil {
		over := overdraftOf(v, seq)
		key := "budget.declined"
		if e.Decision.Approve {
			key = "budget.extended"
		}
		return texts.Text(lang, key, map[string]any{
			"Name": decider(v, e), "Text": AmountText(texts, lang, over.Budget, over.Extend), "Date": clockIn(e.At, v.Event(seq).At, v.Opening().Timezone),
		})
	}
	for _, e := range v.Events[min(seq, len(v.Events)):] {
		switch e.Type {
		case planner.BudgetRenewed:
			return texts.Text(lang, "budget.renewed", nil)
		case planner.Expired:
			return texts.Text(lang, "question.expired", nil)
		case planner.BudgetReached:
			return texts.Text(lang, "question.over", nil)
		}
	}
	return texts.Text(lang, "question.over", nil)
}

// BudgetProblem is the text about a task that a budget has ended.
func BudgetProblem(v *tasks.View, texts *i18n.Texts) string {
	lang := v.Opening().Language
	for _, e := range slices.Backward(v.Events) {
		if over := e.Overdraft; over != nil && over.Limit > 0 {
			return texts.Text(lang, "problem.budget_"+ScopeOf(over.Budget), map[string]any{
				"Spent": AmountText(texts, lang, over.Budget, over.Spent), "Limit": AmountText(texts, lang, over.Budget, over.Limit), "Keys": "budget." + over.Budget,
			})
		}
	}
	return texts.Text(lang, "problem."+planner.ReasonBudget, nil)
}

// CostText writes a usage and its price, as in "12k tokens, 2 pictures, at least $0.03".
func CostText(texts *i18n.Texts, lang string, u llm.Usage) string {
	text := texts.Roughly(lang, u.Tokens())
	for _, part := range []struct {
		key   string
		count int
	}{
		{"usage.images", u.Images},
		{"usage.audio", (u.AudioSeconds + 59) / 60},
		{"usage.characters", u.Characters},
	} {
		if part.count > 0 {
			text += ", " + texts.Text(lang, part.key, map[string]any{"Count": part.count})
		}
	}
	if price := priceText(texts, lang, u); price != "" {
		return text + ", " + price
	}
	if u.Unpriced {
		return text + ", " + texts.Text(lang, "usage.unpriced", nil)
	}
	return text
}

// priceText writes the known price of a usage; empty if there is none.
func priceText(texts *i18n.Texts, lang string, u llm.Usage) string {
	switch {
	case u.Cost == 0:
		return ""
	case u.Unpriced:
		return texts.Text(lang, "usage.at_least", map[string]any{"Text": texts.Money(lang, u.Cost)})
	}
	return texts.Money(lang, u.Cost)
}
