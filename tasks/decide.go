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
func (in *Inbox) decisionPress(ctx context.Context, r *routed, kind planner.Subject, id ID, rest string) error {
	about, verb, ok := readDecisionData(kind, rest)
	t, known, err := in.anyTask(ctx, r, id)
	switch {
	case err != nil:
		return err
	case !ok || !known:
		in.say(r, "error.too_late", nil)
		return nil
	case !r.steers(t):
		in.aside(r, "error.not_yours")
		return nil
	}
	if !openAsk(t.state, about) {
		in.replyLater(r, func(ctx context.Context) said { return in.howDecided(ctx, r, id, about) })
		in.decidedHere(r, t, about)
		return nil
	}
	e, err := in.Store.Event(ctx, id, about.Seq)
	if err != nil {
		return fmt.Errorf("reading question: %w", err)
	}
	switch kind {
	case planner.SubjectForm:
		in.fillPress(r, t, about, verb, e)
	case planner.SubjectReview:
		in.reviewPress(r, t, about, verb)
	default:
		in.approvalPress(r, t, about, verb, e)
	}
	in.decidedHere(r, t, about)
	return nil
}

// anyTask finds a task by its id, also one of another chat or one that is over.
func (in *Inbox) anyTask(ctx context.Context, r *routed, id ID) (t liveTask, ok bool, err error) {
	if t, ok = r.find(id); ok {
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
	return liveTask{Live{id, first.Opening.Chat, first.Opening.From}, state}, true, nil
}

// replyLater only answers, with what is found out after the message is stored.
func (in *Inbox) replyLater(r *routed, find func(context.Context) said) {
	r.store = []Inbound{{Key: r.message.Key, Chat: r.message.Chat}}
	r.reply = func(ctx context.Context, _ []Receipt) said { return find(ctx) }
}

// howDecided tells who comes too late how a question ended.
func (in *Inbox) howDecided(ctx context.Context, r *routed, id ID, about planner.ActionID) said {
	v := NewView(in.Store, id)
	if err := v.Refresh(ctx); err != nil {
		in.Log.WarnContext(ctx, "it cannot be told how a question ended", "task", id, "cause", err)
		return in.sentence(*r, "error.too_late", nil)
	}
	if v.decided(about) == nil && !v.lapsed(about) {
		return in.sentence(*r, "error.too_late", nil)
	}
	return in.sentence(*r, "error.decided", map[string]any{"Text": outcomeOf(v, in.Texts, r.lang, about)})
}

// approvalPress decides about calls.
func (in *Inbox) approvalPress(r *routed, t liveTask, about planner.ActionID, verb string, e planner.Event) {
	var d planner.Decision
	ok := true
	switch verb {
	case verbOnce:
		d, ok = allows(e.Question, "")
	case verbTask:
		d, ok = allows(e.Question, planner.ScopeTask)
	case verbAlways:
		if d, ok = allows(e.Question, planner.ScopeChat); ok && !r.admin {
			in.aside(r, "error.admin_needed")
			return
		}
	case verbDeny:
		d = planner.Decision{Text: r.message.Text} // a terminal where nobody sits says so
	case verbWhy:
		in.askWhy(r, t, about)
		return
	default:
		ok = false
	}
	if !ok {
		in.say(r, "error.too_late", nil)
		return
	}
	in.settle(r, t, about, d)
	if d.Scope != planner.ScopeChat {
		return
	}
	decided := r.reply
	r.reply = func(ctx context.Context, receipts []Receipt) said {
		if receipts[0].Err == nil {
			if err := in.grant(ctx, t.Chat, r.message.From, d.Grants); err != nil {
				in.Log.ErrorContext(ctx, "what is always allowed could not be kept", "chat", t.Chat.Key(), "cause", err)
				return in.sentence(*r, "problem.internal", nil)
			}
			for _, g := range d.Grants {
				in.audit(ctx, r, "grant.give", t.Chat.Room(), g.Tool)
			}
		}
		return decided(ctx, receipts)
	}
}

// allows is the decision that lets calls be made, and more of them as far as the
// scope goes; false when nothing could be granted.
func allows(q *planner.Question, scope string) (planner.Decision, bool) {
	d := planner.Decision{Approve: true, Scope: scope}
	if scope != "" {
		d.Grants = grantsOf(q)
	}
	return d, scope == "" || len(d.Grants) > 0
}

// grantsOf are the standing grants that would cover the calls of an approval: not
// those that are asked about for another reason than that they change things,
// since that is asked about again whatever is granted.
func grantsOf(q *planner.Question) []planner.Grant {
	var list []planner.Grant
	seen := map[planner.Grant]bool{}
	if q == nil {
		return nil
	}
	for _, a := range q.Calls {
		g := planner.Grant{Tool: a.Tool, Definition: a.Definition}
		if !seen[g] && a.Reason == "" {
			list = append(list, g)
		}
		seen[g] = seen[g] || a.Reason == ""
	}
	return list
}

// settle stores a decision about a question. Who comes too late learns how it
// was decided.
func (in *Inbox) settle(r *routed, t liveTask, about planner.ActionID, d planner.Decision) {
	m := r.message
	d.Name = m.From.Name
	e := planner.Event{Type: planner.Decided, At: in.Now(), Action: about, By: m.From.Key(), Decision: &d}
	if about.Subject == planner.SubjectReview {
		e.Values = planner.ReviewValues(d.Approve)
	}
	if m.Kind != bot.MessagePress {
		e.Message = m.ID // it may be edited
	}
	r.store = []Inbound{{Key: m.Key, Chat: m.Chat, To: t.Task, Event: e}}
	r.reply = func(ctx context.Context, receipts []Receipt) said {
		if receipts[0].Err != nil {
			return in.howDecided(ctx, r, t.Task, about)
		}
		in.noteDecision(ctx, t.Task, about, m.From.Key(), d)
		return said{}
	}
	if m.Kind == bot.MessagePress && m.Chat.Key() == t.Chat.Key() {
		in.located(r, t, about)
	}
}

// noteDecision tells operators of a decision.
func (in *Inbox) noteDecision(ctx context.Context, id ID, action planner.ActionID, by string, d planner.Decision) {
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
func (in *Inbox) askWhy(r *routed, t liveTask, about planner.ActionID) {
	slot := whySlot(about.Seq)
	passing := in.passing(r.message.Chat)
	if t.state.Slot(slot).Message != "" && !passing {
		in.aside(r, "approval.why")
		return
	}
	key := "approval.why"
	if passing {
		key = "approval.why_here"
	}
	s := in.sentence(*r, key, nil)
	s.aloud = true
	if passing { // the question has left the screen with the press
		s.kind, s.task = bot.KindQuestion, string(t.Task)
		deny := in.button(r.lang, "button.deny", decisionData(pressApproval, t.Task, about.Seq, 0, verbDeny))
		deny.Style = bot.StyleDanger
		s.buttons, s.words = []bot.Button{deny}, true
	}
	s.sent = func(ctx context.Context, id string) {
		if id == "" || passing {
			return
		}
		err := in.Store.Append(ctx, t.Task, -1, 0, planner.Event{Type: planner.Shown, At: in.Now(), Slot: slot, Message: id})
		if err != nil && ctx.Err() == nil {
			in.Log.WarnContext(ctx, "a question about a denial could not be noted", "task", t.Task, "cause", err)
		}
	}
	in.reply(r, s)
	if t.state.Slot(slot).Name == "" {
		r.store = nil
		r.add(t.Task, planner.Event{Type: planner.Began, At: in.Now(), Slot: slot})
	}
}
