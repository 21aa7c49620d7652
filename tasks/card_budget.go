package tasks

import (
	"slices"
	"strings"

	"legwork/bot"
	"legwork/i18n"
	"legwork/planner"
)

// The choices about a reached budget, in the order of their buttons.
const (
	choiceExtend = iota
	choiceConclude
)

// overdraftOf is what is known of a reached budget: the event of that seq.
func overdraftOf(v *View, seq int) planner.Overdraft {
	if e := v.Event(seq); e.Overdraft != nil {
		return *e.Overdraft
	}
	return planner.Overdraft{Budget: v.Event(seq).Budget}
}

// overdraft is the draft that asks about a reached budget.
func (c Card) overdraft(a planner.Action) bot.Draft {
	lang, over := c.View.Opening().Language, overdraftOf(c.View, a.ID.Seq)
	extend := c.Texts.Text(lang, "button.extend", map[string]any{"Text": amountText(c.Texts, lang, over.Budget, over.Extend)})
	return bot.Draft{
		Kind: bot.KindQuestion, Task: string(c.View.ID), Text: c.overdraftText(over) + "\n\n" + c.overdraftFoot(),
		ReplyTo: c.View.Opening().Message, Mark: c.mark(a.ID.String()),
		Buttons: []bot.Button{
			{Label: extend, Data: pressData(c.View.ID, a.ID, choiceExtend), Style: bot.StylePrimary},
			{Label: c.Texts.Text(lang, "button.conclude", nil), Data: pressData(c.View.ID, a.ID, choiceConclude), Style: bot.StyleDanger},
		},
	}
}

// overdraftText says which budget is reached, and how far it goes.
func (c Card) overdraftText(over planner.Overdraft) string {
	lang, texts := c.View.Opening().Language, c.Texts
	if over.Limit == 0 {
		return texts.Text(lang, "question.budget", nil)
	}
	amount := func(n int64) string { return amountText(texts, lang, over.Budget, n) }
	return texts.Text(lang, "budget."+scopeOf(over.Budget), map[string]any{"Name": c.asker()}) + "\n" +
		texts.Text(lang, "budget.figures", map[string]any{"Spent": amount(over.Spent), "Limit": amount(over.Limit), "Text": amount(over.Wanted)})
}

// overdraftFoot says for whom the money is spent, and who decides.
func (c Card) overdraftFoot() string {
	opening := c.View.Opening()
	key := "budget.admins"
	if c.AskerExtends {
		key = "budget.asker"
	}
	who := map[string]any{"Name": c.asker(), "Goal": plainText(title(opening.Goal))}
	lines := []string{c.Texts.Text(opening.Language, "budget.for", who)}
	if c.Lasts {
		lines = append(lines, c.Texts.Text(opening.Language, key, who))
	}
	return strings.Join(lines, "\n")
}

// asker is what the person is called who asked.
func (c Card) asker() string {
	from := c.View.Opening().From
	return plainText(nameOf(from.Name, from.Key()))
}

// amountText writes an amount of a budget.
func amountText(texts *i18n.Texts, lang, budget string, amount int64) string {
	if InTokens(budget) {
		return texts.Roughly(lang, amount)
	}
	return texts.Money(lang, amount)
}

// scopeOf is whose a budget is, as texts have it.
func scopeOf(budget string) string {
	switch budget {
	case BudgetTaskTokens, BudgetTaskUSD:
		return "task"
	case BudgetUserDayUSD:
		return "user"
	case BudgetChatDayUSD:
		return "chat"
	}
	return "day"
}

// overdraftOver says how the question about a reached budget ended.
func overdraftOver(v *View, texts *i18n.Texts, lang string, action planner.ActionID) string {
	seq := action.Seq
	if e := v.decided(action); e != nil {
		over := overdraftOf(v, seq)
		key := "budget.declined"
		if e.Decision.Approve {
			key = "budget.extended"
		}
		return texts.Text(lang, key, map[string]any{
			"Name": decider(v, e), "Text": amountText(texts, lang, over.Budget, over.Extend), "Date": clockIn(e.At, v.Event(seq).At, v.Opening().Timezone),
		})
	}
	for _, e := range v.events[min(seq, len(v.events)):] {
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

// budgetProblem is the sentence of a task that a budget has ended.
func budgetProblem(v *View, texts *i18n.Texts) string {
	lang := v.Opening().Language
	for _, e := range slices.Backward(v.events) {
		if over := e.Overdraft; over != nil && over.Limit > 0 {
			return texts.Text(lang, "problem.budget_"+scopeOf(over.Budget), map[string]any{
				"Spent": amountText(texts, lang, over.Budget, over.Spent), "Limit": amountText(texts, lang, over.Budget, over.Limit), "Keys": "budget." + over.Budget,
			})
		}
	}
	return texts.Text(lang, "problem."+planner.WhyBudget, nil)
}
