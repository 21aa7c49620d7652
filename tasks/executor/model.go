package executor

import (
	"context"
	"errors"
	"strings"

	"legwork/bot/markdown"
	"legwork/internal/clip"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/policy"
	"legwork/tools"
)

// model makes one model call and appends the reply.
func (x *Executor) model(ctx context.Context, v *tasks.View, a planner.Action, p Display) error {
	if v.State.PromptPending {
		return x.expandPrompt(ctx, v, a)
	}
	promptInput, tools, err := prompting{x, v, a}.input(ctx)
	if err != nil {
		return err
	}
	if promptInput.Missing != "" {
		if wait := x.signInTurn(v, a); wait != nil {
			return x.Append(ctx, v.ID, *wait)
		}
	}
	request, err := planner.Prompt(v.State, v.Journal(ctx), a, promptInput)
	if errors.Is(err, planner.ErrTooLong) {
		return x.callFailed(ctx, v, a, nil, nil, &llm.Error{Problem: llm.TooLong, Err: err, Hint: "a model with more context_tokens would take it"})
	}
	if err != nil {
		return err
	}
	leave, err := x.budget.enter(ctx, x.budget.price, request)
	if err != nil {
		return err
	}
	defer leave()
	request, reserved, release, err := x.reserveOrShrink(ctx, v, a, promptInput, request)
	if over, reached := errors.AsType[*tasks.BudgetError](err); reached {
		return x.budgetReached(ctx, v, a, reserved, over.Overdraft)
	}
	if err != nil {
		return err
	}
	defer release()
	request.BeforeRetry = x.budget.reserveRetries(ctx, v.ID, reserved)
	known := policy.Linkable(v, promptInput)
	var stream func(llm.Delta)
	if a.Final {
		write, end := p.Stream(a, known)
		defer end()
		stream = write
	}
	request, reply, tools, err := x.call(ctx, v, a, request, tools, stream)
	sent := request.Hash()
	switch {
	case err == nil:
		err = x.replied(ctx, v, a, reply, sent, tools, promptInput.Labels(), known)
	case ctx.Err() != nil:
		err = ctx.Err()
	case !errors.Is(err, tasks.ErrPaused): // a paused call is made again after the pause
		err = x.failedOrCut(ctx, v, a, &sent, tools, known, err)
	}
	if err != nil { // no event holds the cost
		x.budget.settle(ctx, v.ID, tasks.ReservationID{Action: a.ID}, reply.Usage)
	}
	return err
}

// replied appends the reply of a model, with the labels of the earlier conversation
// in its prompt. A text in which known does not report all addresses gets a form for
// chats: opening such a link may carry private data out.
func (x *Executor) replied(ctx context.Context, v *tasks.View, a planner.Action, reply llm.Reply, sent llm.RequestHash, tools []tools.Tool, past planner.Labels, known func(string) bool) error {
	rules := x.rules.Load()
	e := reading{
		v: v, a: a, groups: x.groups(ctx, v), tools: tools, expires: rules.Approvals.ExpiresAt(x.Now()), delegate: rules.Delegate,
		makes: rules.Makes != nil, fileTools: planner.FileTools(v.State, v.Event, a, rules.Makes != nil),
	}.read(reply)
	setThought(e, reply)
	e.Request = &sent
	if e.Reply != nil {
		e.Reply.Past = past
		if shown := markdown.Unlinked(e.Reply.Text, known); shown != e.Reply.Text {
			e.Reply.Shown = shown
		}
	}
	if err := x.earlier.fetch(ctx, v, e); err != nil {
		return err
	}
	if err := (looking{x, v, a}).all(ctx, e); err != nil {
		return err
	}
	switch e.Type {
	case planner.Malformed:
		x.Log.InfoContext(ctx, "reply not usable", "task", v.ID, "action", a.ID, "model", reply.Model, "cause", e.Problem.Reason)
	case planner.CallFailed:
		x.Log.ErrorContext(ctx, "model call failed", "task", v.ID, "action", a.ID, "model", reply.Model, "cause", e.Problem.Reason)
	}
	if e.Reply != nil {
		for _, c := range e.Reply.Calls {
			if c.Refusal != "" {
				logWithCause(ctx, x.Log, c.Refusal).InfoContext(ctx, "tool call not possible", "task", v.ID, "action", a.ID, "tool", clip.Marked(c.Name, 100))
			}
		}
	}
	if e.Reply != nil && len(e.Reply.Plan) > 0 {
		if err := x.estimatePlan(ctx, v, e.Reply); err != nil {
			x.Log.WarnContext(ctx, "estimating cost of plan failed", "task", v.ID, "cause", err)
		}
	}
	events := []planner.Event{e}
	if next := planner.Apply(v.State, e); next.Phase == planner.PhaseShowing && next.Slot(planner.SlotAnswer).Name == "" {
		// One transaction stores the answer and that it is about to be sent.
		events = append(events, planner.Event{Type: planner.SendStarted, Slot: planner.SlotAnswer})
	}
	err := x.Append(ctx, v.ID, events...)
	if len(events) > 1 && tasks.Superseded(err) {
		err = x.Append(ctx, v.ID, e)
	}
	if err == nil {
		x.averages.record(v, a, e)
	}
	return err
}

// expandPrompt asks the server for the text of the prompt that is the task's goal.
func (x *Executor) expandPrompt(ctx context.Context, v *tasks.View, a planner.Action) error {
	want := v.Opening().Prompt
	err := errRevoked
	text := ""
	if hasGroup(x.groups(ctx, v), want.Group) {
		text, err = x.Tools.Prompt(ctx, want.Group, want.Name, want.Arguments)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil && strings.TrimSpace(text) != "" {
		return x.Append(ctx, v.ID, planner.Event{Type: planner.PromptExpanded, Action: a.ID, Text: text})
	}
	if err == nil {
		err = errors.New("the server's prompt is empty")
	}
	x.Log.WarnContext(ctx, "writing out server's prompt failed", "task", v.ID, "prompt", want.Name, "cause", err)
	return x.Append(ctx, v.ID, planner.Event{Type: planner.CallFailed, Action: a.ID, Problem: &planner.Problem{Code: "prompt", Reason: err.Error()}})
}
