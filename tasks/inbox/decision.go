package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"legwork/bot"
	"legwork/internal/form"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/policy"
)

// answerHandler takes words that answer a question: a reply to it, or in private chats
// any of the asker's.
func answerHandler(ctx context.Context, in *Inbox, r *Request) (Outcome, error) {
	m := r.Message
	if m.Text == "" || strings.HasPrefix(m.Text, "/") || m.Standalone || len(m.Text) > MaxGoal {
		return Outcome{}, nil
	}
	w, ok := r.answers(r.Live)
	if !ok && m.Chat.Private {
		away, err := askedElsewhere(ctx, in, r)
		if err != nil {
			return Outcome{}, err
		}
		w, ok = r.answers(away)
	}
	if !ok {
		there, err := askingHere(ctx, in, r)
		if err != nil {
			return Outcome{}, err
		}
		w, ok = r.answers(there)
	}
	if !ok {
		return Outcome{}, nil
	}
	var reply Reply
	var err error
	switch w.action.Subject {
	case planner.SubjectReview, planner.SubjectCalls:
		reply = decideCard(in, r, w.task, w.action, planner.Decision{Text: m.Text})
	case planner.SubjectForm:
		out, err := fill(ctx, in, r, w)
		if err != nil || !out.Taken {
			return Outcome{}, err
		}
		reply = out.Reply
	default:
		if reply, err = answerModel(ctx, in, r, w.task.Task, w.action); err != nil {
			return Outcome{}, err
		}
	}
	return took(closingCard(in, r, w.task, w.action, reply), nil)
}

// answerModel takes words for the answer to a model's question. Words that come
// too late are a question of their own, of people who may ask.
func answerModel(ctx context.Context, in *Inbox, r *Request, id tasks.ID, action planner.ActionID) (Reply, error) {
	m := r.Message
	o, err := in.opening(ctx, r, m.Text)
	if err != nil {
		return Reply{}, err
	}
	item := in.OpeningDelivery(m.Key, m.Chat, o)
	if m.Overheard && !r.MayAsk {
		item.ID, item.Open = "", nil
	}
	item.To, item.Event = id, planner.Event{
		Type: planner.Decided, At: in.Now(), Action: action, By: m.From.Key(), Message: m.ID,
		Decision: &planner.Decision{Approve: true, Text: m.Text, Name: m.From.Name},
	}
	// The question's message says that it was answered.
	return Reply{Store: []tasks.Inbound{item}, Say: func(context.Context, []tasks.Receipt) Notice { return Notice{} }}, nil
}

// words are what a message says to a question.
type words struct {
	task   LiveTask
	action planner.ActionID
	reply  bool // it replies to the question's message
}

// answers finds the question that a message's words answer: the one it replies
// to, otherwise one of its author's in a private chat, or in a thread of its own,
// where admins may answer too: the one that a denial's reason was asked for last,
// or else the oldest.
func (r *Request) answers(list []LiveTask) (best words, ok bool) {
	for _, t := range list {
		for _, a := range planner.Todo(t.State) {
			w, takes := r.speaksTo(t, a)
			if takes && w.reply {
				return w, true
			}
			if takes && (!ok || w.action.Subject == planner.SubjectCalls) {
				best, ok = w, true
			}
		}
	}
	return best, ok
}

// speaksTo reports that the message's words answer an ask action. They are no
// decision about calls, unless a reason was asked for.
func (r *Request) speaksTo(t LiveTask, a planner.Action) (w words, ok bool) {
	if a.Kind != planner.KindAsk {
		return w, false
	}
	m, s := r.Message, t.State
	w = words{task: t, action: a.ID}
	slot := a.ID.String()
	if m.Chat.Key() != t.Chat.Key() { // there are messages of the same id in other chats
		slot = cards.Privately + a.ID.String()
	}
	messages := []string{s.Slot(slot).Message}
	if t.shows(m.Chat, a.ID, m.ReplyTo) {
		messages = append(messages, m.ReplyTo)
	}
	switch w.action.Subject {
	case planner.SubjectCalls:
		why := s.Slot(cards.WhySlot(w.action.Seq))
		if why.Name == "" {
			return w, false
		}
		messages = append(messages, why.Message)
	case planner.SubjectForm, planner.SubjectReview:
	default:
		if a.ID.Subject != planner.SubjectQuestion {
			return w, false
		}
	}
	if w.reply = m.ReplyTo != "" && slices.Contains(messages, m.ReplyTo) && r.Steers(t); w.reply {
		return w, true
	}
	if tasks.Decides(w.action) && t.speaks(m.ReplyTo) { // to something else of the task
		return w, false
	}
	if tasks.Decides(w.action) && m.At.Sub(s.Last) > planFresh { // they may be about anything by now
		return w, false
	}
	own := t.From.Key() == m.From.Key()
	if w.action.Subject == planner.SubjectReview && !r.Ephemeral { // words that reply to nothing may be about anything
		return w, false
	}
	if m.Chat.Key() != t.Chat.Key() {
		return w, own && s.Slot(cards.Privately+a.ID.String()).Name != ""
	}
	return w, m.Chat.Private && own || m.InThread && r.Steers(t)
}

// choosePress takes the press of a choice under a question.
func choosePress(ctx context.Context, in *Inbox, r *Request, t LiveTask, rest string) (Reply, error) {
	about, choice, ok := cards.ReadAnswer(rest)
	for _, a := range planner.Todo(t.State) {
		if !ok || a.Kind != planner.KindAsk || tasks.Decides(a.ID) || a.ID != about {
			continue
		}
		if a.ID.Subject == planner.SubjectBudget {
			return closingCard(in, r, t, a.ID, overdraftPress(in, r, t, a, choice)), nil
		}
		if about.Subject == planner.SubjectPlan && choice == cards.ChoiceEdit {
			return editPlan(in, r, t, about.Seq), nil
		}
		decision := planner.Decision{Approve: choice == cards.ChoiceRun}
		if q, err := questionOf(ctx, in, t, a); err != nil {
			return Reply{}, err
		} else if choice >= 0 && choice < len(q.Choices) {
			decision = planner.Decision{Approve: true, Text: q.Choices[choice]}
		}
		return closingCard(in, r, t, a.ID, withMessage(in, r, t, a.ID, decideQuestion(in, r, t.Task, a.ID, decision))), nil
	}
	return in.ReplyText(r, "error.too_late", nil), nil
}

// questionOf reads what an ask action asks.
func questionOf(ctx context.Context, in *Inbox, t LiveTask, a planner.Action) (planner.Question, error) {
	if a.ID.Subject != planner.SubjectQuestion {
		return planner.Question{}, nil
	}
	e, err := in.Store.Event(ctx, t.Task, a.ID.Seq)
	if err != nil {
		return planner.Question{}, fmt.Errorf("reading question: %w", err)
	}
	return planner.QuestionOf(e, a.ID), nil
}

func decideQuestion(in *Inbox, r *Request, id tasks.ID, action planner.ActionID, d planner.Decision) Reply {
	m := r.Message
	d.Name = m.From.Name
	e := planner.Event{Type: planner.Decided, At: in.Now(), Action: action, By: m.From.Key(), Decision: &d}
	return Reply{Store: []tasks.Inbound{{Key: m.Key, Chat: m.Chat, To: id, Event: e}}, Say: func(_ context.Context, receipts []tasks.Receipt) Notice {
		if receipts[0].Err != nil {
			return in.Notice(r, "error.too_late", nil)
		}
		return Notice{}
	}}
}

// withMessage adds to a reply which message a question is, when its button was
// pressed before the platform had said that it was sent: so it can be closed.
func withMessage(in *Inbox, r *Request, t LiveTask, action planner.ActionID, reply Reply) Reply {
	if m, slot := r.Message, t.State.Slot(action.String()); m.ID != "" && slot.Name != "" && slot.Message == "" {
		reply.Add(r, t.Task, planner.Event{Type: planner.Sent, At: in.Now(), Slot: action.String(), Message: m.ID})
	}
	return reply
}

// editPlan asks, once for each plan, what should be different about it. The
// message that asks belongs to the task, so that a reply to it is guidance.
func editPlan(in *Inbox, r *Request, t LiveTask, plan int) Reply {
	slot := fmt.Sprintf("edit.%d", plan)
	if t.State.Slot(slot).Message != "" {
		return in.ReplyAside(r, "notice.edit_plan")
	}
	s := in.Notice(r, "notice.edit_plan", nil)
	s.Audience = ToChat
	s.Sent = func(ctx context.Context, id string) {
		if id == "" || r.Ephemeral {
			return
		}
		err := in.Store.Append(ctx, t.Task, -1, 0,
			planner.Event{Type: planner.SendStarted, Slot: slot}, planner.Event{Type: planner.Sent, Slot: slot, Message: id})
		if err != nil && ctx.Err() == nil {
			in.Log.WarnContext(ctx, "storing question about a plan failed", "task", t.Task, "cause", err)
		}
	}
	return in.Reply(r, s)
}

// Ephemeral reports that a chat's messages do not last.
func (in *Inbox) Ephemeral(chat bot.Chat) bool {
	p, err := in.Chats.Platform(chat)
	return err == nil && p.Limits().Ephemeral
}

// decisionPress takes the press of a button under an approval or a server's
// question, in whatever chat it stands: who pressed it decides.
func decisionPress(ctx context.Context, in *Inbox, r *Request, kind planner.Subject, id tasks.ID, rest string) (Reply, error) {
	about, verb, ok := cards.ReadDecisionData(kind, rest)
	t, known, err := anyTask(ctx, in, r, id)
	switch {
	case err != nil:
		return Reply{}, err
	case !ok || !known:
		return in.ReplyText(r, "error.too_late", nil), nil
	case !r.Steers(t):
		return in.ReplyAside(r, "error.not_yours"), nil
	}
	if !tasks.OpenAsk(t.State, about) {
		late := in.ReplyLater(r, func(ctx context.Context) Notice { return howDecided(ctx, in, r, id, about) })
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
	if t, ok = r.Task(id); ok {
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
		in.Log.WarnContext(ctx, "reading end of question failed", "task", id, "cause", err)
		return in.Notice(r, "error.too_late", nil)
	}
	if v.Decided(about) == nil && !v.DecisionExpired(about) {
		return in.Notice(r, "error.too_late", nil)
	}
	return in.Notice(r, "error.decided", map[string]any{"Text": cards.OutcomeOf(v, in.Texts, r.Lang, about)})
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
			return in.ReplyAside(r, "error.admin_needed")
		}
	case cards.VerbDeny:
		d = planner.Decision{Text: r.Message.Text} // a terminal without a person says so
	case cards.VerbWhy:
		return askWhy(in, r, t, about)
	default:
		ok = false
	}
	if !ok {
		return in.ReplyText(r, "error.too_late", nil)
	}
	reply := decideCard(in, r, t, about, d)
	if d.Scope != planner.ScopeChat {
		return reply
	}
	decided := reply.Say
	reply.Say = func(ctx context.Context, receipts []tasks.Receipt) Notice {
		if receipts[0].Err == nil {
			if err := addGrants(ctx, in, t.Chat, r.Message.From, d.Grants); err != nil {
				in.Log.ErrorContext(ctx, "storing permanent grant failed", "chat", t.Chat.Key(), "cause", err)
				return in.Notice(r, "problem.internal", nil)
			}
			for _, g := range d.Grants {
				in.Audit(ctx, r, "grant.give", t.Chat.Room(), g.Tool)
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
	if t.State.Slot(slot).Message != "" && !r.Ephemeral {
		return in.ReplyAside(r, "approval.why")
	}
	key := "approval.why"
	if r.Ephemeral {
		key = "approval.why_here"
	}
	s := in.Notice(r, key, nil)
	s.Audience = ToChat
	if r.Ephemeral { // the question has left the screen with the press
		s.Kind, s.Task = bot.KindQuestion, string(t.Task)
		deny := in.Button(r.Lang, "button.deny", cards.DecisionData(cards.PressApproval, t.Task, about.Seq, 0, cards.VerbDeny))
		deny.Style = bot.StyleDanger
		s.Buttons, s.FreeText = []bot.Button{deny}, true
	}
	s.Sent = func(ctx context.Context, id string) {
		if id == "" || r.Ephemeral {
			return
		}
		err := in.Store.Append(ctx, t.Task, -1, 0, planner.Event{Type: planner.Sent, At: in.Now(), Slot: slot, Message: id})
		if err != nil && ctx.Err() == nil {
			in.Log.WarnContext(ctx, "storing question about a denial failed", "task", t.Task, "cause", err)
		}
	}
	reply := in.Reply(r, s)
	if t.State.Slot(slot).Name == "" {
		reply.Store = nil
		reply.Add(r, t.Task, planner.Event{Type: planner.SendStarted, At: in.Now(), Slot: slot})
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
		return in.ReplyText(r, "error.too_late", nil)
	}
}

// overdraftPress takes the press of a button under the question about a reached
// budget, of somebody who may steer the task.
func overdraftPress(in *Inbox, r *Request, t LiveTask, a planner.Action, choice int) Reply {
	if choice != cards.ChoiceExtend && choice != cards.ChoiceConclude {
		return in.ReplyText(r, "error.too_late", nil)
	}
	if choice == cards.ChoiceExtend && !r.Rules.Budget.CanExtend(r.Admin) {
		return in.ReplyAside(r, "error.admin_needed")
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
	if yes && in.BudgetExtended != nil {
		in.BudgetExtended()
	}
}

// What people answer to the forms of servers.

// fillPress answers a server's question by a button.
func fillPress(in *Inbox, r *Request, t LiveTask, about planner.ActionID, verb string, e planner.Event) Reply {
	_, field := tasks.FormOf(e, about)
	d := planner.Decision{Approve: true}
	switch n, bad := strconv.Atoi(verb); {
	case verb == cards.VerbDecline:
		d = planner.Decision{Text: r.Message.Text}
	case verb == cards.VerbYes && field == nil:
	case verb == cards.VerbOmit && field != nil && cards.MayOmit(*field):
		d.Value = field.Default
	case bad == nil && field != nil && n >= 0 && n < len(cards.ChoicesOf(in.Texts, r.Lang, *field)):
		d.Value = cards.ChoicesOf(in.Texts, r.Lang, *field)[n].Value
	default:
		return in.ReplyText(r, "error.too_late", nil)
	}
	return decideCard(in, r, t, about, d)
}

// fill answers a field of a server's question by words. The author is told when
// they do not fit, and the field stays open. The words are no answer where there is
// no field and they do not reply to the question.
func fill(ctx context.Context, in *Inbox, r *Request, w words) (Outcome, error) {
	e, err := in.Store.Event(ctx, w.task.Task, w.action.Seq)
	if err != nil {
		return Outcome{}, fmt.Errorf("reading question: %w", err)
	}
	_, field := tasks.FormOf(e, w.action)
	if field == nil {
		if !w.reply {
			return Outcome{}, nil
		}
		return took(in.ReplyText(r, "form.press", nil), nil)
	}
	chosen := *field
	chosen.Choices = cards.ChoicesOf(in.Texts, r.Lang, chosen)
	zone, err := in.ZoneOf(ctx, r)
	if err != nil {
		return Outcome{}, err
	}
	value, err := chosen.Read(r.Message.Text, zone)
	if err != nil {
		return took(in.ReplyText(r, "form.wrong", map[string]any{"Reason": valueProblem(in, r, err)}), nil)
	}
	return took(decideCard(in, r, w.task, w.action, planner.Decision{Approve: true, Value: value}), nil)
}

// valueProblem says why an answer does not fit its field.
func valueProblem(in *Inbox, r *Request, err error) string {
	why, limit := form.Other, ""
	if bad, ok := errors.AsType[*form.ValueError](err); ok {
		why, limit = bad.Key, cards.InCode(bad.Limit)
	}
	if why == form.DateTime {
		why = "time"
	}
	return in.Texts.Text(r.Lang, "form.bad_"+why, map[string]any{"Text": limit})
}
