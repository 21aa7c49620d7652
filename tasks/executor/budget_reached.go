package executor

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
)

// reserveOrShrink reserves the cost of a model action. If the budget has no room for
// a closing answer, it shortens the answer's request to the amount that is held
// back. It returns a *BudgetError when the budget has no room.
func (x *Executor) reserveOrShrink(ctx context.Context, v *tasks.View, a planner.Action, promptInput planner.PromptInput, request llm.Request) (_ llm.Request, r tasks.Reservation, release func(), err error) {
	r = x.budget.reservation(v, tasks.ReservationID{Action: a.ID}, request)
	model, err := x.decisionModel(ctx, v)
	if err != nil {
		return request, r, nil, err
	}
	if a.Role != llm.RoleAnswer {
		r.Hold = x.budget.closingHold(model)
		if r.Hold != nil && a.Role == llm.RolePlan {
			if release, err = x.budget.reserveNow(ctx, v.ID, r); !errors.Is(err, tasks.ErrBudget) {
				return request, r, release, err
			}
			r.Hold = nil // the model may answer at once, and then no closing answer is needed
		}
		release, err = x.budget.reserve(ctx, v.ID, r, nil)
		return request, r, release, err
	}
	r.Closing = true
	waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), closingMaxWait)
	defer cancel()
	release, err = x.budget.reserve(ctx, v.ID, r, waiting.Done())
	input, output, ok := x.budget.closingSize(model)
	for try := 0; ok && errors.Is(err, tasks.ErrBudget) && try < closingTries; try++ {
		small, failed := x.closingRequest(ctx, v, a, promptInput, input>>try, max(output>>try, minOutput))
		if failed != nil {
			return request, r, nil, err
		}
		// The prompt may stay longer than asked for. The store decides whether it
		// fits.
		request, r.Most = small, x.budget.price.Quote(small)
		release, err = x.budget.reserve(ctx, v.ID, r, waiting.Done())
	}
	return request, r, release, err
}

// A closing answer is halved closingTries times at most. It waits for the calls of
// others for closingMaxWait in all, because a task that is stopped has little time.
const (
	closingTries   = 5
	closingMaxWait = 30 * time.Second
)

// closingRequest makes the request of a closing answer that reads and writes at most
// so many tokens.
func (x *Executor) closingRequest(ctx context.Context, v *tasks.View, a planner.Action, promptInput planner.PromptInput, input, output int) (llm.Request, error) {
	const margin = 10 // per cent: tokens are estimated
	most := x.budget.price.Bytes(cmp.Or(promptInput.Model, llm.RoleAnswer), input*(100-margin)/100)
	if promptInput.MaxBytes == 0 || most < promptInput.MaxBytes {
		promptInput.MaxBytes = most
	}
	request, err := planner.Prompt(v.State, v.Journal(ctx), a, promptInput)
	request.MaxOutput = output
	return request, err
}

// decisionModel returns the configured model that decides and answers for a task;
// empty for the models of the roles.
func (x *Executor) decisionModel(ctx context.Context, v *tasks.View) (string, error) {
	opening := v.Opening()
	if slices.Contains(x.rules.Load().Models, opening.Model) {
		return opening.Model, nil
	}
	settings, err := x.settings(ctx, opening.Chat)
	return settings.Model, err
}

// budgetReached records that a budget has no room for an action. A person decides
// then; if the task cannot ask, it ends with a message about the budget.
func (x *Executor) budgetReached(ctx context.Context, v *tasks.View, a planner.Action, r tasks.Reservation, over planner.Overdraft) error {
	over.Extend = roundExtension(over)
	x.Log.InfoContext(ctx, "budget reached", "task", v.ID, "action", a.ID, "budget", over.Budget, "whose", over.Who, "limit", over.Limit, "spent", over.Spent, "wanted", over.Wanted)
	if x.Reached != nil {
		x.Reached(ctx, over)
	}
	asks, err := x.shouldAsk(ctx, v, a)
	if err != nil {
		return err
	}
	if asks {
		return x.askToExtend(ctx, v.ID, r)
	}
	if a.Kind == planner.KindTool {
		return x.returned(ctx, v, a, planner.Result{Text: x.Texts.Text(v.Opening().Language, "prompt.not_made", map[string]any{"Reason": "no budget is left for it. Say so to the person"}), Failed: true})
	}
	return x.Append(ctx, v.ID, planner.Event{
		Type: planner.CallFailed, Action: a.ID, Overdraft: &over,
		Problem: &planner.Problem{Code: planner.ReasonBudget, Reason: (&tasks.BudgetError{Overdraft: over}).Error()},
	})
}

// ErrHeld is the error of Do for an action that waits because a budget is reached, or
// a person reviews. The machine lists it with Hold until then.
var ErrHeld = errors.New("a budget holds the action")

// askToExtend asks a person to extend the budget. Of several actions without room
// only the first one asks, and no action asks if the budget got room meanwhile.
func (x *Executor) askToExtend(ctx context.Context, id tasks.ID, r tasks.Reservation) error {
	for {
		state, err := x.Store.State(ctx, id)
		if err != nil {
			return err
		}
		if state.Budget != "" {
			return ErrHeld
		}
		r.Day = x.rules.Load().Budget.Day(x.Wall())
		err = x.Store.Room(ctx, id, r)
		reached, ok := errors.AsType[*tasks.BudgetError](err)
		if !ok {
			return cmp.Or(err, ErrHeld) // there is room, and the engine starts the action again
		}
		over := reached.Overdraft
		over.Extend, over.Expires = roundExtension(over), x.rules.Load().Approvals.ExpiresAt(x.Now())
		err = x.Store.Append(ctx, id, state.Seq, 0, planner.Event{Type: planner.BudgetReached, At: x.Now(), Budget: over.Budget, Overdraft: &over})
		if !errors.Is(err, tasks.ErrConflict) {
			return cmp.Or(err, ErrHeld)
		}
	}
}

// shouldAsk reports whether to ask a person about a reached budget. It does not ask
// when the task ends anyway. Before the first plan it asks only in the private chat
// of a person who may extend the budget, and only if no other task asks there
// already.
func (x *Executor) shouldAsk(ctx context.Context, v *tasks.View, a planner.Action) (bool, error) {
	s, opening := v.State, v.Opening()
	if a.Role == llm.RoleAnswer {
		return s.Reason == "" || s.Reason == planner.ReasonRounds, nil
	}
	if s.Round > 0 {
		return true, nil
	}
	if !opening.Chat.Private || !x.rules.Load().Budget.AskerExtends && !tasks.IsAdmin(ctx, x.Store, x.rules.Load().Admins, opening.From.Key()) {
		return false, nil
	}
	live, err := x.Store.Live(ctx, opening.Chat.Key())
	if err != nil {
		return false, err
	}
	for _, l := range live {
		if other, err := x.Store.State(ctx, l.Task); err == nil && l.Task != v.ID && other.Budget != "" {
			return false, nil
		}
	}
	return true, nil
}

// roundExtension rounds up the amount by which a yes extends a budget, so that the
// amount on the button is exact: money to cents, or to two digits if it is less, and
// tokens to thousands.
func roundExtension(over planner.Overdraft) int64 {
	step := int64(10_000)
	if tasks.InTokens(over.Budget) {
		step = 1000
	}
	for step > 1 && over.Extend < 10*step {
		step /= 10
	}
	return (over.Extend + step - 1) / step * step
}
