package tasks

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"legwork/bot"
	"legwork/planner"
)

// decisionData names one way to decide about a question for a button: the event
// that asks, the field of a form, and what is done.
func decisionData(press string, id ID, seq, field int, verb string) string {
	return fmt.Sprintf("%s:%s:%d.%d:%s", press, id, seq, field, verb)
}

// readDecisionData is the opposite of decisionData for what follows the task's id.
func readDecisionData(kind planner.Subject, rest string) (about planner.ActionID, verb string, ok bool) {
	numbers, verb, _ := strings.Cut(rest, ":")
	seq, field, _ := strings.Cut(numbers, ".")
	n, bad := strconv.Atoi(seq)
	f, worse := strconv.Atoi(field)
	return planner.ActionID{Kind: planner.KindAsk, Subject: kind, Seq: n, Field: f}, verb, bad == nil && worse == nil
}

// decisionPress takes the press of a button under an approval or a server's
// question, in whatever chat it stands: who pressed it decides.
func decisionPress(ctx context.Context, in *Inbox, r *Request, kind planner.Subject, id ID, rest string) (Reply, error) {
	about, verb, ok := readDecisionData(kind, rest)
	t, known, err := anyTask(ctx, in, r, id)
	switch {
	case err != nil:
		return Reply{}, err
	case !ok || !known:
		return in.replyText(r, "error.too_late", nil), nil
	case !r.steers(t):
		return in.replyAside(r, "error.not_yours"), nil
	}
	if !openAsk(t.State, about) {
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
func anyTask(ctx context.Context, in *Inbox, r *Request, id ID) (t LiveTask, ok bool, err error) {
	if t, ok = r.task(id); ok {
		return t, true, nil
	}
	first, err := in.Store.Event(ctx, id, 1)
	if errors.Is(err, ErrNoTask) || errors.Is(err, ErrDamaged) || err == nil && first.Opening == nil {
		return t, false, nil
	}
	if err != nil {
		return t, false, fmt.Errorf("reading task %s: %w", id, err)
	}
	state, err := in.Store.State(ctx, id)
	if errors.Is(err, ErrNoTask) || errors.Is(err, ErrDamaged) {
		return t, false, nil
	}
	if err != nil {
		return t, false, fmt.Errorf("reading task %s: %w", id, err)
	}
	return LiveTask{Live{id, first.Opening.Chat, first.Opening.From}, state}, true, nil
}

// howDecided tells who comes too late how a question ended.
func howDecided(ctx context.Context, in *Inbox, r *Request, id ID, about planner.ActionID) Notice {
	v := NewView(in.Store, id)
	if err := v.Refresh(ctx); err != nil {
		in.Log.WarnContext(ctx, "it cannot be told how a question ended", "task", id, "cause", err)
		return in.notice(r, "error.too_late", nil)
	}
	if v.decided(about) == nil && !v.lapsed(about) {
		return in.notice(r, "error.too_late", nil)
	}
	return in.notice(r, "error.decided", map[string]any{"Text": outcomeOf(v, in.Texts, r.Lang, about)})
}

// approvalPress decides about calls.
func approvalPress(in *Inbox, r *Request, t LiveTask, about planner.ActionID, verb string, e planner.Event) Reply {
	var d planner.Decision
	ok := true
	switch verb {
	case verbOnce:
		d, ok = allows(e.Question, "")
	case verbTask:
		d, ok = allows(e.Question, planner.ScopeTask)
	case verbAlways:
		if d, ok = allows(e.Question, planner.ScopeChat); ok && !r.Admin {
			return in.replyAside(r, "error.admin_needed")
		}
	case verbDeny:
		d = planner.Decision{Text: r.Message.Text} // a terminal where nobody sits says so
	case verbWhy:
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
	reply.Say = func(ctx context.Context, receipts []Receipt) Notice {
		if receipts[0].Err == nil {
			if err := addGrants(ctx, in, t.Chat, r.Message.From, d.Grants); err != nil {
				in.Log.ErrorContext(ctx, "what is always allowed could not be kept", "chat", t.Chat.Key(), "cause", err)
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

// decideCard stores a decision about a question. Who comes too late learns how it
// was decided.
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
	reply := Reply{Store: []Inbound{{Key: m.Key, Chat: m.Chat, To: t.Task, Event: e}}}
	reply.Say = func(ctx context.Context, receipts []Receipt) Notice {
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
func noteDecision(ctx context.Context, in *Inbox, id ID, action planner.ActionID, by string, d planner.Decision) {
	what := "a person decided"
	switch action.Subject {
	case planner.SubjectForm:
		what = "a person answered a server"
	case planner.SubjectCalls:
		what = "a person decided about calls"
	}
	in.Log.InfoContext(ctx, what, "task", id, "action", action, "by", by, "approved", d.Approve, "scope", d.Scope)
}

// whySlot names the message that asks for the reason of a denial.
func whySlot(seq int) string { return fmt.Sprintf("why.%d", seq) }

// askWhy asks for the reason of a denial. Words in reply to that message, and in
// a private chat or a thread of its own the next ones, are the reason.
func askWhy(in *Inbox, r *Request, t LiveTask, about planner.ActionID) Reply {
	slot := whySlot(about.Seq)
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
		deny := in.button(r.Lang, "button.deny", decisionData(pressApproval, t.Task, about.Seq, 0, verbDeny))
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
	case verbYes:
		return decideCard(in, r, t, about, planner.Decision{Approve: true})
	case verbDecline:
		return decideCard(in, r, t, about, planner.Decision{Text: r.Message.Text}) // a terminal where nobody sits says so
	default:
		return in.replyText(r, "error.too_late", nil)
	}
}
