package tasks

import (
	"context"

	"legwork/planner"
)

// extends reports that somebody who may steer a task may extend its budget.
func (r BudgetRules) extends(admin bool) bool { return admin || r.Asker }

// overdraftPress takes the press of a button under the question about a reached
// budget, of somebody who may steer the task.
func overdraftPress(in *Inbox, r *Request, t LiveTask, a planner.Action, choice int) Reply {
	if choice != choiceExtend && choice != choiceConclude {
		return in.replyText(r, "error.too_late", nil)
	}
	if choice == choiceExtend && !r.Rules.Budget.extends(r.Admin) {
		return in.replyAside(r, "error.admin_needed")
	}
	reply := withMessage(in, r, t, a.ID, decideQuestion(in, r, t.Task, a.ID, planner.Decision{Approve: choice == choiceExtend}))
	over, decided := t.State.Overdraft, reply.Say
	reply.Say = func(ctx context.Context, receipts []Receipt) Notice {
		if receipts[0].Err == nil {
			extended(ctx, in, t.Task, r.Message.From.Key(), over, choice == choiceExtend)
		}
		return decided(ctx, receipts)
	}
	return reply
}

// extended tells operators of a decision about a budget, and lets tasks go on
// that wait for it.
func extended(ctx context.Context, in *Inbox, id ID, by string, over planner.Overdraft, yes bool) {
	in.Log.InfoContext(ctx, "a person decided about a budget", "task", id, "by", by, "budget", over.Budget, "extended", yes, "amount", over.Extend)
	if yes {
		in.budgets.ring()
	}
}
