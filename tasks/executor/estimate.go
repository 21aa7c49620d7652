package executor

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tools"
)

// averages are the average costs of past work in this process, by kind of work. The
// zero value is empty.
type averages struct {
	mu   sync.Mutex
	list map[string]*average
}

type average struct {
	tokens, cost float64
	seen         int
	unpriced     bool // of the latest value
}

// averageOver is how many of the latest values an average covers.
const averageOver = 20

func (a *averages) add(kind string, u llm.Usage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.list == nil {
		a.list = map[string]*average{}
	}
	one := a.list[kind]
	if one == nil {
		one = &average{}
		a.list[kind] = one
	}
	one.seen = min(one.seen+1, averageOver)
	share := 1 / float64(one.seen)
	one.tokens += (float64(u.Tokens()) - one.tokens) * share
	one.cost += (float64(u.Cost) - one.cost) * share
	one.unpriced = u.Unpriced
}

func (a *averages) of(kind string) (e planner.Estimate, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.list[kind]
	if one == nil {
		return e, false
	}
	return planner.Estimate{Tokens: int64(one.tokens), Cost: int64(one.cost), Unpriced: one.unpriced}, true
}

// defaultUsage is the assumed usage before any work of that kind was done, in tokens
// of prompts and of replies. A sub-task with tools takes about three turns.
func defaultUsage(role string) (input, output int) {
	switch role {
	case planner.LLMTool:
		return 2000, 600
	case llm.RoleReview:
		return 3000, 500
	case llm.RoleAnswer:
		return 4000, 1000
	}
	return 7500, 900
}

// record adds the cost of a sub-task, a review or an answer that has ended.
func (a *averages) record(v *tasks.View, done planner.Action, e planner.Event) {
	switch {
	case e.Reply == nil || len(e.Reply.Calls) > 0:
	case done.Role == llm.RoleWork:
		sum := e.Reply.Usage
		for _, before := range v.Events {
			switch {
			case before.Action.Subject != planner.SubjectWork || before.Action.Subtask != done.ID.Subtask:
			case before.Reply != nil:
				sum = sum.Add(before.Reply.Usage)
			case before.Problem != nil:
				sum = sum.Add(before.Problem.Usage)
			}
		}
		a.add(done.Group, sum)
	case done.Role == llm.RoleReview || done.Role == llm.RoleAnswer:
		a.add("role "+done.Role, e.Reply.Usage)
	}
}

// estimate estimates the cost of a plan and of the answer after it.
func (a *averages) estimate(price Pricer, groups []tools.Group, plan []planner.Subtask, model string) *planner.Estimate {
	var sum planner.Estimate
	add := func(kind, role, model string) {
		e, known := a.of(kind)
		if !known {
			input, output := defaultUsage(role)
			u := price.QuoteTokens(model, input, output)
			e = planner.Estimate{Tokens: u.Tokens(), Cost: u.Cost, Unpriced: u.Unpriced}
		}
		sum.Tokens, sum.Cost, sum.Unpriced = sum.Tokens+e.Tokens, sum.Cost+e.Cost, sum.Unpriced || e.Unpriced
	}
	for _, s := range plan {
		role, by := llm.RoleWork, cmp.Or(model, llm.RoleWork)
		if s.Name == planner.LLMTool {
			role = planner.LLMTool
		}
		if i := slices.IndexFunc(groups, func(g tools.Group) bool { return g.Name == s.Name }); i >= 0 {
			by = cmp.Or(groups[i].Model, by)
		}
		add(s.Name, role, by)
	}
	if len(plan) > 1 { // the result of a single sub-task is the answer
		add("role "+llm.RoleReview, llm.RoleReview, cmp.Or(model, llm.RoleReview))
		add("role "+llm.RoleAnswer, llm.RoleAnswer, cmp.Or(model, llm.RoleAnswer))
	}
	return &sum
}

// estimatePlan estimates the cost of the plan in a reply. It has a person confirm
// the first plan of a task when the plan is large: when it needs more than half of
// the task's budget, or more than what is left of any budget.
func (x *Executor) estimatePlan(ctx context.Context, v *tasks.View, out *planner.Reply) error {
	model, err := x.decisionModel(ctx, v)
	if err != nil {
		return err
	}
	out.Estimate = x.averages.estimate(x.budget.price, x.groups(ctx, v), out.Plan, model)
	e, b := *out.Estimate, x.rules.Load().Budget
	if v.State.Round > 0 || b.Unattended {
		return nil
	}
	if b.TaskTokens > 0 && 2*e.Tokens > b.TaskTokens || b.TaskUSD > 0 && 2*e.Cost > b.TaskUSD {
		out.Confirm = true
		return nil
	}
	opening := v.Opening()
	err = x.Store.Room(ctx, v.ID, tasks.Reservation{
		ID: tasks.ReservationID{Call: "plan"}, Day: b.Day(x.Wall()), User: opening.From.Key(), Chat: opening.Chat.Room(), Budgets: b.Budgets,
		Most: llm.Usage{Input: int(e.Tokens), Cost: e.Cost},
	})
	if over, reached := errors.AsType[*tasks.BudgetError](err); reached {
		out.Confirm = !over.Temporary() // tokens that are only reserved become free again
		return nil
	}
	return err
}
