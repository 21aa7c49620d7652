package inbox

import (
	"context"
	"errors"
	"fmt"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/policy"
)

// decisionPress takes the press of a button under an approval or a server's
// question, in whatever chat it stands: who pressed it decides.
func decisionPress(ctx context.Context, in *Inbox, r *Request, kind planner.Subject, id tasks.ID, rest string) (Reply, error) {
	about, verb, ok := cards.ReadDecisionData(kind, rest)
	t, known, err := anyTask(ctx, in, r, id)
	switch {
	case err != nil:
		return Reply{}, err
	case !ok || !known:
		return in.replyText(r, "error.too_late", nil), nil
	case !r.steers(t):
		return in.replyAside(r, "error.not_yours"), nil
	}
	if !tasks.OpenAsk(t.State, about) {
		late := in.replyLater(r, func(ctx context.Context) Notice { return howDecided(ctx, in, r, id, about) })
		return closingCard(in, r, t, about, late), nil
	}
	e, err := in.Store.Event(ctx, id, about.Seq)
	if err != nil {
		return Reply{}, fmt.Errorf("reading question: %w", err)
	}
	var reply Reply
	switch kind {
	case planner.SubjectForm:
		reply = fillPress(in, r, t, about, verb, e)
	case planner.SubjectReview:
		reply = reviewPress(in, r, t, about, verb)
	default:
		reply = approvalPress(in, r, t, about, verb, e)
	}
	return closingCard(in, r, t, about, reply), nil
}

// anyTask finds a task by its id, also one of another chat or one that is over.
func anyTask(ctx context.Context, in *Inbox, r *Request, id tasks.ID) (t LiveTask, ok bool, err error) {
	if t, ok = r.task(id); ok {
		return t, true, nil
	}
	first, err := in.Store.Event(ctx, id, 1)
	if errors.Is(err, tasks.ErrNoTask) || errors.Is(err, tasks.ErrDamaged) || err == nil && first.Opening == nil {
		return t, false, nil
	}
	if err != nil {
		return t, false, fmt.Errorf("reading task %s: %w", id, err)
	}
	state, err := in.Store.State(ctx, id)
	if errors.Is(err, tasks.ErrNoTask) || errors.Is(err, tasks.ErrDamaged) {
		return t, false, nil
	}
	if err != nil {
		return t, false, fmt.Errorf("reading task %s: %w", id, err)
	}
	return LiveTask{tasks.Live{Task: id, Chat: first.Opening.Chat, From: first.Opening.From}, state}, true, nil
}

// howDecided tells who comes too late how a question ended.
func howDecided(ctx context.Context, in *Inbox, r *Request, id tasks.ID, about planner.ActionID) Notice {
	v := tasks.NewView(in.Store, id)
	if err := v.Refresh(ctx); err != nil {
		in.Log.WarnContext(ctx, "it cannot be told how a question ended", "task", id, "cause", err)
		return in.notice(r, "error.too_late", nil)
	}
	if v.Decided(about) == nil && !v.Lapsed(about) {
		return in.notice(r, "error.too_late", nil)
	}
	return in.notice(r, "error.decided", map[string]any{"Text": cards.OutcomeOf(v, in.Texts, r.Lang, about)})
}

// approvalPress decides about calls.
func approvalPress(in *Inbox, r *Request, t LiveTask, about planner.ActionID, verb string, e planner.Event) Reply {
	var d planner.Decision
	ok := true
	switch verb {
	case cards.VerbOnce:
		d, ok = policy.Allows(e.Question, "")
	case cards.VerbTask:
		d, ok = policy.Allows(e.Question, planner.ScopeTask)
	case cards.VerbAlways:
		if d, ok = policy.Allows(e.Question, planner.ScopeChat); ok && !r.Admin {
			return in.replyAside(r, "error.admin_needed")
		}
	case cards.VerbDeny:
		d = planner.Decision{Text: r.Message.Text} // a terminal without a person says so
	case cards.VerbWhy:
		return askWhy(in, r, t, about)
	default:
		ok = false
	}
	if !ok {
		return in.replyText(r, "error.too_late", nil)
	}
	reply := decideCard(in, r, t, about, d)
	if d.Scope != planner.ScopeChat {
		return reply
	}
	decided := reply.Say
	reply.Say = func(ctx context.Context, receipts []tasks.Receipt) Notice {
		if receipts[0].Err == nil {
			if err := addGrants(ctx, in, t.Chat, r.Message.From, d.Grants); err != nil {
				in.Log.ErrorContext(ctx, "a permanent grant could not be kept", "chat", t.Chat.Key(), "cause", err)
				return in.notice(r, "problem.internal", nil)
			}
			for _, g := range d.Grants {
				in.audit(ctx, r, "grant.give", t.Chat.Room(), g.Tool)
			}
		}
		return decided(ctx, receipts)
	}
	return reply
}

// decideCard stores a decision about a question. A person who comes too late
// learns how it was decided.
func decideCard(in *Inbox, r *Request, t LiveTask, about planner.ActionID, d planner.Decision) Reply {
	m := r.Message
	d.Name = m.From.Name
	e := planner.Event{Type: planner.Decided, At: in.Now(), Action: about, By: m.From.Key(), Decision: &d}
	if about.Subject == planner.SubjectReview {
		e.Values = planner.ReviewValues(d.Approve)
	}
	if m.Kind != bot.MessagePress {
		e.Message = m.ID // it may be edited
	}
	reply := Reply{Store: []tasks.Inbound{{Key: m.Key, Chat: m.Chat, To: t.Task, Event: e}}}
	reply.Say = func(ctx context.Context, receipts []tasks.Receipt) Notice {
		if receipts[0].Err != nil {
			return howDecided(ctx, in, r, t.Task, about)
		}
		noteDecision(ctx, in, t.Task, about, m.From.Key(), d)
		return Notice{}
	}
	if m.Kind == bot.MessagePress && m.Chat.Key() == t.Chat.Key() {
		reply = withMessage(in, r, t, about, reply)
	}
	return reply
}

// noteDecision tells operators of a decision.
func noteDecision(ctx context.Context, in *Inbox, id tasks.ID, action planner.ActionID, by string, d planner.Decision) {
	what := "a person decided"
	switch action.Subject {
	case planner.SubjectForm:
		what = "a person answered a server"
	case planner.SubjectCalls:
		what = "a person decided about calls"
	}
	in.Log.InfoContext(ctx, what, "task", id, "action", action, "by", by, "approved", d.Approve, "scope", d.Scope)
}

// askWhy asks for the reason of a denial. Words in reply to that message, and in
// a private chat or a thread of its own the next ones, are the reason.
func askWhy(in *Inbox, r *Request, t LiveTask, about planner.ActionID) Reply {
	slot := cards.WhySlot(about.Seq)
	if t.State.Slot(slot).Message != "" && !r.Passing {
		return in.replyAside(r, "approval.why")
	}
	key := "approval.why"
	if r.Passing {
		key = "approval.why_here"
	}
	s := in.notice(r, key, nil)
	s.Audience = ToChat
	if r.Passing { // the question has left the screen with the press
		s.Kind, s.Task = bot.KindQuestion, string(t.Task)
		deny := in.button(r.Lang, "button.deny", cards.DecisionData(cards.PressApproval, t.Task, about.Seq, 0, cards.VerbDeny))
		deny.Style = bot.StyleDanger
		s.Buttons, s.FreeText = []bot.Button{deny}, true
	}
	s.Sent = func(ctx context.Context, id string) {
		if id == "" || r.Passing {
			return
		}
		err := in.Store.Append(ctx, t.Task, -1, 0, planner.Event{Type: planner.Sent, At: in.Now(), Slot: slot, Message: id})
		if err != nil && ctx.Err() == nil {
			in.Log.WarnContext(ctx, "a question about a denial could not be noted", "task", t.Task, "cause", err)
		}
	}
	reply := in.reply(r, s)
	if t.State.Slot(slot).Name == "" {
		reply.Store = nil
		reply.add(r, t.Task, planner.Event{Type: planner.SendStarted, At: in.Now(), Slot: slot})
	}
	return reply
}

// reviewPress decides about a review by a button.
func reviewPress(in *Inbox, r *Request, t LiveTask, about planner.ActionID, verb string) Reply {
	switch verb {
	case cards.VerbYes:
		return decideCard(in, r, t, about, planner.Decision{Approve: true})
	case cards.VerbDecline:
		return decideCard(in, r, t, about, planner.Decision{Text: r.Message.Text}) // a terminal without a person says so
	default:
		return in.replyText(r, "error.too_late", nil)
	}
}

// overdraftPress takes the press of a button under the question about a reached
// budget, of somebody who may steer the task.
func overdraftPress(in *Inbox, r *Request, t LiveTask, a planner.Action, choice int) Reply {
	if choice != cards.ChoiceExtend && choice != cards.ChoiceConclude {
		return in.replyText(r, "error.too_late", nil)
	}
	if choice == cards.ChoiceExtend && !r.Rules.Budget.Extends(r.Admin) {
		return in.replyAside(r, "error.admin_needed")
	}
	reply := withMessage(in, r, t, a.ID, decideQuestion(in, r, t.Task, a.ID, planner.Decision{Approve: choice == cards.ChoiceExtend}))
	over, decided := t.State.Overdraft, reply.Say
	reply.Say = func(ctx context.Context, receipts []tasks.Receipt) Notice {
		if receipts[0].Err == nil {
			extended(ctx, in, t.Task, r.Message.From.Key(), over, choice == cards.ChoiceExtend)
		}
		return decided(ctx, receipts)
	}
	return reply
}

// extended tells operators of a decision about a budget, and lets tasks go on
// that wait for it.
func extended(ctx context.Context, in *Inbox, id tasks.ID, by string, over planner.Overdraft, yes bool) {
	in.Log.InfoContext(ctx, "a person decided about a budget", "task", id, "by", by, "budget", over.Budget, "extended", yes, "amount", over.Extend)
	if yes {
		in.budgets.ring()
	}
}
