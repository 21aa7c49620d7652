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

// reserveOrShrink sets aside what the call of a model action may take. A closing answer
// for which there is not enough is cut to what is kept back for it. The error is
// a *BudgetError when there is no room.
func (x *Executor) reserveOrShrink(ctx context.Context, v *tasks.View, a planner.Action, promptInput planner.PromptInput, request llm.Request) (_ llm.Request, r tasks.Reservation, leave func(), err error) {
	r = x.budget.reservation(v, tasks.ReservationID{Action: a.ID}, request)
	model, err := x.decisionModel(ctx, v)
	if err != nil {
		return request, r, nil, err
	}
	if a.Role != llm.RoleAnswer {
		r.Hold = x.budget.closingHold(model)
		if r.Hold != nil && a.Role == llm.RolePlan {
			if leave, err = x.budget.reserveNow(ctx, v.ID, r); !errors.Is(err, tasks.ErrBudget) {
				return request, r, leave, err
			}
			r.Hold = nil // it may be answered at once
		}
		leave, err = x.budget.reserve(ctx, v.ID, r, nil)
		return request, r, leave, err
	}
	r.Closing = true
	patience, end := context.WithTimeout(context.WithoutCancel(ctx), closingMaxWait)
	defer end()
	leave, err = x.budget.reserve(ctx, v.ID, r, patience.Done())
	input, output, ok := x.budget.closingSize(model)
	for try := 0; ok && errors.Is(err, tasks.ErrBudget) && try < closingTries; try++ {
		small, failed := x.closingRequest(ctx, v, a, promptInput, input>>try, max(output>>try, minOutput))
		if failed != nil {
			return request, r, nil, err
		}
		// A prompt may not get as short as it should: whether it fits, the store says.
		request, r.Most = small, x.budget.price.Quote(small)
		leave, err = x.budget.reserve(ctx, v.ID, r, patience.Done())
	}
	return request, r, leave, err
}

// A closing answer is cut by half so many times, and waits so long in all for
// others' calls before it is: there may be little time for it.
const (
	closingTries   = 5
	closingMaxWait = 30 * time.Second
)

// closingRequest is the closing answer's request with so many tokens to read and to
// write.
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

// decisionModel is the configured model that decides and answers for a task in place
// of the roles'; empty for those.
func (x *Executor) decisionModel(ctx context.Context, v *tasks.View) (string, error) {
	opening := v.Opening()
	if slices.Contains(x.rules.Load().Models, opening.Model) {
		return opening.Model, nil
	}
	settings, err := x.settings(ctx, opening.Chat)
	return settings.Model, err
}

// budgetReached records that a budget has no room for an action: a person decides
// then, or the task ends with a sentence about it where a question would help
// no one.
func (x *Executor) budgetReached(ctx context.Context, v *tasks.View, a planner.Action, r tasks.Reservation, over planner.Overdraft) error {
	over.Extend = roundExtension(over)
	x.Log.InfoContext(ctx, "a budget is reached", "task", v.ID, "action", a.ID, "budget", over.Budget, "whose", over.Who, "limit", over.Limit, "spent", over.Spent, "wanted", over.Wanted)
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
	return x.Append(ctx, v.ID, planner.Event{
		Type: planner.CallFailed, Action: a.ID, Overdraft: &over,
		Problem: &planner.Problem{Code: planner.ReasonBudget, Reason: (&tasks.BudgetError{Overdraft: over}).Error()},
	})
}

// ErrHeld is what Do returns for an action that waits because a budget is
// reached: it is listed with Hold until there is room again.
var ErrHeld = errors.New("a budget holds the action")

// askToExtend notes that a person is to decide about a budget. Of several actions
// that have no room, only the first one raises a question, and none does when
// room was made meanwhile.
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
			return cmp.Or(err, ErrHeld) // it begins anew
		}
		over := reached.Overdraft
		over.Extend, over.Expires = roundExtension(over), x.rules.Load().Approvals.ExpiresAt(x.Now())
		err = x.Store.Append(ctx, id, state.Seq, 0, planner.Event{Type: planner.BudgetReached, At: x.Now(), Budget: over.Budget, Overdraft: &over})
		if !errors.Is(err, tasks.ErrConflict) {
			return cmp.Or(err, ErrHeld)
		}
	}
}

// shouldAsk reports that somebody is to be asked about a reached budget: not
// when the task ends anyway, and not about a question that nothing was done for
// yet, unless it stands in the private chat of somebody who may extend the
// budget, and they are not asked there already.
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

// roundExtension rounds up by how much a yes extends a budget, so that its amount can
// be written on a button as it is: to cents, or to two digits below them, and to
// thousands of tokens.
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
