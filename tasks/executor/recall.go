package executor

import (
	"context"
	"fmt"

	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
)

// recall adds to a prompt's input what it needs of the conversation before.
func (x *Executor) recall(ctx context.Context, v *tasks.View, a planner.Action, promptInput *planner.PromptInput) (err error) {
	if a.Role != llm.RoleWork {
		if promptInput.Past, err = x.past(ctx, v, promptInput.MaxBytes); err != nil {
			return err
		}
	}
	if a.Role == llm.RoleAnswer || a.Group == planner.LLMTool {
		return nil
	}
	found, err := x.earlierResults(ctx, v)
	for _, r := range found {
		promptInput.Earlier = append(promptInput.Earlier, r.Earlier)
	}
	return err
}

// past is what was said before in the task's chat: the summary and the turns
// since.
func (x *Executor) past(ctx context.Context, v *tasks.View, maxBytes int) (planner.Past, error) {
	opening, past := v.Opening(), planner.Past{}
	summary, err := x.Store.Summary(ctx, opening.Chat.Key())
	if err != nil {
		return past, fmt.Errorf("reading a summary: %w", err)
	}
	past.Summary, past.SummaryTainted = summary.Text, summary.Tainted
	turns, err := x.Store.History(ctx, opening.Chat.Key(), v.ID, x.historyBudget(maxBytes)*3/2)
	if err != nil {
		return past, fmt.Errorf("reading history: %w", err)
	}
	for _, t := range turns {
		if t.Order > summary.Until {
			past.History = append(past.History, planner.Exchange{
				Goal: t.Goal, Answer: t.Answer, Failed: t.Failed, Tainted: t.Tainted, Other: !x.own(ctx, v, t),
			})
		}
	}
	return past, nil
}

// historyBudget is how many bytes of earlier turns prompts hold, of so many that
// they may hold in all; 0: no limit.
func (x *Executor) historyBudget(maxBytes int) int {
	budget := x.rules.Load().HistoryBytes
	if maxBytes > 0 {
		budget = min(budget, maxBytes/3)
	}
	return budget
}

// own reports that an earlier task of the chat came from the person who asks
// now; one of which that cannot be told did not.
func (x *Executor) own(ctx context.Context, v *tasks.View, t tasks.Turn) bool {
	opening := v.Opening()
	if opening.Chat.Private || t.From != "" {
		return opening.Chat.Private || t.From == opening.From.Key()
	}
	e, err := x.Store.Event(ctx, t.Task, 1) // stored before turns told it
	return err == nil && e.Opening != nil && e.Opening.From.Key() == opening.From.Key()
}
