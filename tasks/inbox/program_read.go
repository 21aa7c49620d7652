package inbox

import (
	"context"
	"fmt"

	"legwork/bot"
	"legwork/i18n"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tools"
)

// ProblemText is the sentence that people read of what cut a task short; empty for
// none. It is in the task's language.
func ProblemText(ctx context.Context, in *Inbox, id tasks.ID, s planner.State, opening *planner.Opening) (string, error) {
	if s.Reason == "" || !s.Settled() {
		return "", nil
	}
	if s.Reason == planner.ReasonBudget {
		v := tasks.NewView(in.Store, id)
		if err := v.Refresh(ctx); err != nil {
			return "", fmt.Errorf("reading task %s: %w", id, err)
		}
		return cards.BudgetProblem(v, in.Texts), nil
	}
	var broken planner.Event
	if s.FailedSeq > 0 {
		var err error
		if broken, err = in.Store.Event(ctx, id, s.FailedSeq); err != nil {
			return "", fmt.Errorf("reading task %s: %w", id, err)
		}
	}
	return cards.Problem(in.Texts, opening.Language, id, s, broken.Problem), nil
}

// LanguageNamed is a language's code by whatever names it ("de" is none); that of the
// config for an empty name.
func LanguageNamed(in *Inbox, name string) (code string, ok bool) {
	if name == "" {
		return in.rules.Load().Language, true
	}
	code = i18n.Match(name)
	return code, code != ""
}

// OpenGroups lists the tool groups that a person can use in a chat.
func OpenGroups(ctx context.Context, in *Inbox, chat bot.Chat, person bot.Person) ([]tools.Group, error) {
	return in.groupsFor(ctx, &Request{Message: bot.Message{Chat: chat, From: person}, Rules: in.rules.Load()})
}

// Today is the day whose budgets count now: "2026-11-20".
func Today(in *Inbox) string { return in.rules.Load().Budget.Day(in.Wall()) }
