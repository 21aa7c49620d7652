package inbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/input"
	"legwork/tasks/policy"
)

// answerHandler handles a text that answers an open question. Such a text replies
// to the question's message. In a private chat any text of the asked person can be
// an answer. A voice message counts as a text, whose words the task hears. Other files
// without a text answer only the question of a model.
func answerHandler(ctx context.Context, in *Inbox, r *Request) (Outcome, error) {
	m := r.Message
	if m.Text == "" && len(m.Files) == 0 || strings.HasPrefix(m.Text, "/") || m.Standalone || len(m.Text) > MaxGoal {
		return Outcome{}, nil
	}
	w, ok := r.answeredAsk(r.Live)
	if !ok && m.Chat.Private {
		away, err := tasksAskingInPrivate(ctx, in, r)
		if err != nil {
			return Outcome{}, err
		}
		w, ok = r.answeredAsk(away)
	}
	if !ok {
		there, err := repliedProgramTask(ctx, in, r)
		if err != nil {
			return Outcome{}, err
		}
		w, ok = r.answeredAsk(there)
	}
	if !ok && m.Chat.Private && m.Chat.Thread != "" {
		var err error
		if w, ok, err = threadAnswer(ctx, in, r); err != nil {
			return Outcome{}, err
		}
	}
	if !ok || m.Text == "" && !isVoice(m) && w.action.Subject != planner.SubjectQuestion {
		return Outcome{}, nil
	}
	var reply Reply
	var err error
	switch w.action.Subject {
	case planner.SubjectReview, planner.SubjectCalls:
		reply = decideCard(in, r, w.task, w.action, planner.Decision{Text: cmp.Or(m.Text, fileKinds(in, r))})
	case planner.SubjectForm:
		out, err := formAnswer(ctx, in, r, w)
		if err != nil || !out.Taken {
			return Outcome{}, err
		}
		reply = out.Reply
	default:
		if reply, err = answerModel(ctx, in, r, w); err != nil {
			return Outcome{}, err
		}
	}
	return took(withOutcome(in, r, w.task, w.action, reply), nil)
}

// threadAnswer finds the question of a private chat under whose message a text
// stands in a thread. Such a text is a reply to that message.
func threadAnswer(ctx context.Context, in *Inbox, r *Request) (w textAnswer, ok bool, err error) {
	above := *r
	above.Message.ReplyTo, above.Message.Chat.Thread = r.Message.Chat.Thread, ""
	if above.Live, err = in.liveIn(ctx, above.Message.Chat.Key()); err != nil {
		return w, false, err
	}
	w, ok = above.answeredAsk(above.Live)
	return w, ok && w.reply, nil
}

// answerModel takes a text, or files without one, as the answer to a model's question.
func answerModel(ctx context.Context, in *Inbox, r *Request, w textAnswer) (Reply, error) {
	text := input.WithUnread(in.Texts, r.Lang, r.Message, r.Message.Text)
	d := planner.Decision{Approve: true, Text: cmp.Or(text, fileKinds(in, r)), Name: r.Message.From.Name}
	if r.Message.Unattended && w.action.Subject == planner.SubjectGoal {
		d.Approve = false // without a question there is no task
	}
	item, err := answerOrQuestion(ctx, in, r, w, text, planner.Event{Type: planner.Decided, Decision: &d})
	// No notice: the presenter edits the question's message.
	return Reply{Store: []tasks.Inbound{item}, Say: func(context.Context, []tasks.Receipt) Notice { return Notice{} }}, err
}

// answerOrQuestion is the delivery of an event about a question that a text may answer.
// When the question is closed by the time the text is stored, the text opens a task of
// its own, if its author may ask.
func answerOrQuestion(ctx context.Context, in *Inbox, r *Request, w textAnswer, text string, e planner.Event) (tasks.Inbound, error) {
	m := r.Message
	o, err := in.opening(ctx, r, cmp.Or(text, FilesGoal(in, r)))
	if err != nil {
		return tasks.Inbound{}, err
	}
	if text == "" {
		o.Wordless, o.Parts = true, []planner.Part{{Message: m.ID}}
	}
	item := in.OpeningDelivery(m.Key, m.Chat, o)
	if m.Overheard && !r.MayAsk {
		item.ID, item.Open = "", nil
	}
	e.At, e.Action, e.By, e.Message, e.Files = in.Now(), w.action, m.From.Key(), m.ID, m.Files
	item.To, item.Event = w.task.Task, e
	return item, nil
}

// textAnswer are a message's text as the answer to a question.
type textAnswer struct {
	task   LiveTask
	action planner.ActionID
	reply  bool // it replies to the question's message
}

// answeredAsk finds the question that a message answers. That is the question whose
// message it replies to. Otherwise it is a question to the author in a private
// chat, or one in a thread of the task, where admins may answer too. Among
// several, it is the one for which the reason of a denial was asked last, or else
// the oldest.
func (r *Request) answeredAsk(list []LiveTask) (best textAnswer, ok bool) {
	open := 0
	for _, t := range list {
		for _, a := range planner.Todo(t.State) {
			w, takes := r.answersAsk(t, a)
			if takes && w.reply {
				return w, true
			}
			if takes {
				open++
			}
			if takes && (!ok || w.action.Subject == planner.SubjectCalls) {
				best, ok = w, true
			}
		}
	}
	// Where messages disappear, their ids are not stored: the only open question is the
	// one that a reply is about.
	best.reply = open == 1 && r.Ephemeral && r.Message.ReplyTo != ""
	return best, ok
}

// answersAsk reports whether a message answers an ask action. A text decides about
// calls only while the task asks for the reason of a denial.
func (r *Request) answersAsk(t LiveTask, a planner.Action) (w textAnswer, ok bool) {
	if a.Kind != planner.KindAsk {
		return w, false
	}
	m, s := r.Message, t.State
	w = textAnswer{task: t, action: a.ID}
	slot, elsewhere := a.ID.String(), m.Chat.Key() != t.Chat.Key()
	if elsewhere { // message ids are unique only within a chat
		slot = cards.PrivateSlot + slot
	}
	messages := []string{s.Slot(slot).Message, s.Slot(cards.ReminderSlot(a.ID, elsewhere)).Message}
	if t.showsAsk(m.Chat, a.ID, m.ReplyTo) {
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
	case planner.SubjectGoal:
		if len(m.Files) > 0 { // they become a part of the question, with their words
			return w, false
		}
	default:
		if a.ID.Subject != planner.SubjectQuestion {
			return w, false
		}
	}
	asks := w.action.Subject == planner.SubjectForm || w.action.Subject == planner.SubjectQuestion
	if asked := s.Slot(slot); asks && asked.Name != "" && asked.Message == "" && !r.sentBefore(m.ReplyTo) {
		messages = append(messages, m.ReplyTo) // the platform has shown the question, and its id is not stored yet
	}
	if w.reply = m.ReplyTo != "" && slices.Contains(messages, m.ReplyTo) && r.Steers(t); w.reply {
		return w, true
	}
	if tasks.Decides(w.action) && t.sent(m.ReplyTo) { // it replies to another message of the task
		return w, false
	}
	if (tasks.Decides(w.action) || w.action.Subject == planner.SubjectGoal) && m.At.Sub(s.Last) > plainReplyTime { // too late: the text may be about something else
		return w, false
	}
	own := t.From.Key() == m.From.Key()
	if w.action.Subject == planner.SubjectReview && !r.Ephemeral { // only a reply decides a review
		return w, false
	}
	if elsewhere {
		return w, own && s.Slot(cards.PrivateSlot+a.ID.String()).Name != ""
	}
	return w, m.Chat.Private && own || m.InThread && r.Steers(t)
}

// sentBefore reports whether a live task of the conversation sent the message of that
// id.
func (r *Request) sentBefore(message string) bool {
	return slices.ContainsFunc(r.Live, func(t LiveTask) bool { return t.sent(message) })
}

// choosePress handles the press of a choice under a question.
func choosePress(ctx context.Context, in *Inbox, r *Request, t LiveTask, rest string) (Reply, error) {
	about, choice, ok := cards.ReadAnswer(rest)
	for _, a := range planner.Todo(t.State) {
		if !ok || a.Kind != planner.KindAsk || tasks.Decides(a.ID) || a.ID != about {
			continue
		}
		if a.ID.Subject == planner.SubjectBudget {
			return withOutcome(in, r, t, a.ID, overdraftPress(in, r, t, a, choice)), nil
		}
		if about.Subject == planner.SubjectPlan && choice == cards.ChoiceEdit {
			return editPlan(in, r, t, about.Seq), nil
		}
		decision := planner.Decision{Approve: choice == cards.ChoiceRun}
		if about.Subject == planner.SubjectPlan && decision.Approve && r.Message.Plan != nil {
			return revisePlan(ctx, in, r, t, a.ID)
		}
		if q, err := questionOf(ctx, in, t, a); err != nil {
			return Reply{}, err
		} else if choice >= 0 && choice < len(q.Choices) {
			decision = planner.Decision{Approve: true, Text: q.Choices[choice]}
		}
		return withOutcome(in, r, t, a.ID, withMessageID(in, r, t, a.ID, decideQuestion(in, r, t.Task, a.ID, decision))), nil
	}
	return in.ReplyText(r, "error.too_late", nil), nil
}

// questionOf reads the question of an ask action. It is empty for questions without
// choices of their own.
func questionOf(ctx context.Context, in *Inbox, t LiveTask, a planner.Action) (planner.Question, error) {
	switch a.ID.Subject {
	case planner.SubjectGoal:
		choices, err := goalChoices(ctx, in, t)
		return planner.Question{Choices: choices}, err
	case planner.SubjectQuestion:
	default:
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

// withMessageID stores the message id of a question with the decision. It is needed
// when a person pressed a button before the platform had reported the id. With the
// id, the presenter can close the message.
func withMessageID(in *Inbox, r *Request, t LiveTask, action planner.ActionID, reply Reply) Reply {
	if m, slot := r.Message, t.State.Slot(action.String()); m.ID != "" && slot.Name != "" && slot.Message == "" {
		reply.Add(r, t.Task, planner.Event{Type: planner.Sent, At: in.Now(), Slot: action.String(), Message: m.ID})
	}
	return reply
}

// revisePlan runs the plan as the person has changed it. It fits by the rules for the plans
// of models. The error is a *bot.RefusedError if it does not.
func revisePlan(ctx context.Context, in *Inbox, r *Request, t LiveTask, about planner.ActionID) (Reply, error) {
	groups, err := in.GroupsFor(ctx, r)
	if err != nil {
		return Reply{}, err
	}
	options, readOnly := planner.ParseOptions{Max: t.State.Limits.Subtasks, Groups: []string{}}, map[string]bool{}
	for _, g := range groups {
		options.Groups = append(options.Groups, g.Name)
		readOnly[g.Name] = g.ReadOnly
	}
	plan := make([]planner.Entry, len(r.Message.Plan))
	for i, item := range r.Message.Plan {
		plan[i] = planner.Entry(item)
	}
	plan, err = planner.ParseEntries(plan, options)
	if err == nil && len(plan) == 0 {
		err = errors.New(in.Texts.Text(r.Lang, "error.plan_empty", nil))
	}
	if err != nil {
		return Reply{}, &bot.RefusedError{Mistakes: []bot.Mistake{{Reason: err.Error()}}}
	}
	reply := decideQuestion(in, r, t.Task, about, planner.Decision{Approve: true})
	reply.Store[0].Event.Reply = &planner.Reply{IsPlan: true, Plan: planner.Qualify(plan, t.State.NextPlan()-1, nil, func(group string) bool { return readOnly[group] })}
	return withOutcome(in, r, t, about, withMessageID(in, r, t, about, reply)), nil
}

// editPlan asks the person, once for each plan, how the plan should change. The
// question's message belongs to the task, so a reply to it is guidance.
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
			in.Log.WarnContext(ctx, "plan question not stored", "task", t.Task, "cause", err)
		}
	}
	return in.Reply(r, s)
}

// CanReply reports whether people can reply to one particular message of a chat.
func (in *Inbox) CanReply(chat bot.Chat) bool {
	p, err := in.Chats.Platform(chat)
	return err == nil && p.Limits().CanReply
}

// Ephemeral reports whether the messages of a chat disappear, as in a terminal.
func (in *Inbox) Ephemeral(chat bot.Chat) bool {
	p, err := in.Chats.Platform(chat)
	return err == nil && p.Limits().Ephemeral
}

// decisionPress handles the press of a button under an approval, a review or a
// server's form, in any chat that shows it. The author of the press decides.
func decisionPress(ctx context.Context, in *Inbox, r *Request, kind planner.Subject, id tasks.ID, rest string) (Reply, error) {
	about, verb, ok := cards.ReadDecisionData(kind, rest)
	t, known, err := findTask(ctx, in, r, id)
	switch {
	case err != nil:
		return Reply{}, err
	case !ok || !known:
		return in.ReplyText(r, "error.too_late", nil), nil
	case !r.Steers(t):
		return in.ReplyAside(r, "error.not_yours"), nil
	}
	if !tasks.OpenAsk(t.State, about) {
		late := in.ReplyLater(r, func(ctx context.Context) Notice { return decidedNotice(ctx, in, r, id, about) })
		return withOutcome(in, r, t, about, late), nil
	}
	e, err := in.Store.Event(ctx, id, about.Seq)
	if err != nil {
		return Reply{}, fmt.Errorf("reading question: %w", err)
	}
	var reply Reply
	switch kind {
	case planner.SubjectForm:
		if reply, err = formPress(ctx, in, r, t, about, verb, e); err != nil {
			return Reply{}, err
		}
	case planner.SubjectReview:
		reply = reviewPress(in, r, t, about, verb)
	default:
		reply = approvalPress(in, r, t, about, verb, e)
	}
	return withOutcome(in, r, t, about, reply), nil
}

// findTask finds a task by its id. The task may belong to another chat, and it may
// have ended.
func findTask(ctx context.Context, in *Inbox, r *Request, id tasks.ID) (t LiveTask, ok bool, err error) {
	if t, ok = r.Task(id); ok {
		return t, true, nil
	}
	o, err := openingOf(ctx, in, id)
	if o == nil || err != nil {
		return t, false, err
	}
	t.Live = tasks.Live{Task: id, Chat: o.Chat, From: o.From}
	t.State, ok, err = stateOf(ctx, in, id)
	return t, ok, err
}

// decidedNotice is the notice to a person who decided too late: it says how the
// question ended.
func decidedNotice(ctx context.Context, in *Inbox, r *Request, id tasks.ID, about planner.ActionID) Notice {
	v := tasks.NewView(in.Store, id)
	if err := v.Refresh(ctx); err != nil {
		in.Log.WarnContext(ctx, "question outcome not read", "task", id, "cause", err)
		return in.Notice(r, "error.too_late", nil)
	}
	if v.Decided(about) == nil && !v.DecisionExpired(about) {
		return in.Notice(r, "error.too_late", nil)
	}
	return in.Notice(r, "error.decided", map[string]any{"Text": cards.OutcomeOf(v, in.Texts, r.Lang, about)})
}

// approvalPress decides about calls by a button.
func approvalPress(in *Inbox, r *Request, t LiveTask, about planner.ActionID, verb string, e planner.Event) Reply {
	var d planner.Decision
	ok := true
	if denies := verb == cards.VerbDeny || verb == cards.VerbWhy; !denies && e.Question.Person != "" && e.Question.Person != r.Message.From.Key() {
		return in.ReplyAside(r, "error.not_person")
	}
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
		d = planner.Decision{Text: r.Message.Text} // a terminal without a person gives this reason
	case cards.VerbWhy:
		return askDenialReason(in, r, t, about)
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
				in.Log.ErrorContext(ctx, "grant not stored", "chat", t.Chat.Key(), "cause", err)
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

// decideCard stores a decision about a question. When the question is closed
// already, the author gets a notice how it ended.
func decideCard(in *Inbox, r *Request, t LiveTask, about planner.ActionID, d planner.Decision) Reply {
	m := r.Message
	d.Name = m.From.Name
	e := planner.Event{Type: planner.Decided, At: in.Now(), Action: about, By: m.From.Key(), Decision: &d}
	if about.Subject == planner.SubjectReview {
		e.Values = planner.ReviewValues(d.Approve)
	}
	if m.Kind != bot.MessagePress {
		e.Message, e.Files = m.ID, m.Files // it may be edited
	}
	reply := Reply{Store: []tasks.Inbound{{Key: m.Key, Chat: m.Chat, To: t.Task, Event: e}}}
	reply.Say = func(ctx context.Context, receipts []tasks.Receipt) Notice {
		if receipts[0].Err != nil {
			return decidedNotice(ctx, in, r, t.Task, about)
		}
		by := m.From.Key()
		if m.Unattended {
			by = ""
		}
		logDecision(ctx, in, t.Task, about, by, d)
		return Notice{}
	}
	if m.Kind == bot.MessagePress && m.Chat.Key() == t.Chat.Key() {
		reply = withMessageID(in, r, t, about, reply)
	}
	return reply
}

// logDecision logs a decision.
func logDecision(ctx context.Context, in *Inbox, id tasks.ID, action planner.ActionID, by string, d planner.Decision) {
	what := "review decided"
	switch action.Subject {
	case planner.SubjectForm:
		what = "form answered"
	case planner.SubjectCalls:
		what = "calls decided"
	}
	in.Log.InfoContext(ctx, what, "task", id, "action", action, "by", by, "approved", d.Approve, "scope", d.Scope)
}

// askDenialReason asks for the reason of a denial. A reply to that question is the reason.
// In a private chat or a thread of the task, the next text is the reason, too.
func askDenialReason(in *Inbox, r *Request, t LiveTask, about planner.ActionID) Reply {
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
	if r.Ephemeral { // the press removed the question from the screen
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
			in.Log.WarnContext(ctx, "denial question not stored", "task", t.Task, "cause", err)
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
		return decideCard(in, r, t, about, planner.Decision{Text: r.Message.Text}) // a terminal without a person gives this reason
	default:
		return in.ReplyText(r, "error.too_late", nil)
	}
}

// overdraftPress handles a press under the question about a reached budget. Its
// author may steer the task.
func overdraftPress(in *Inbox, r *Request, t LiveTask, a planner.Action, choice int) Reply {
	if choice != cards.ChoiceExtend && choice != cards.ChoiceConclude {
		return in.ReplyText(r, "error.too_late", nil)
	}
	if choice == cards.ChoiceExtend && !r.Rules.Budget.CanExtend(r.Admin) {
		return in.ReplyAside(r, "error.admin_needed")
	}
	reply := withMessageID(in, r, t, a.ID, decideQuestion(in, r, t.Task, a.ID, planner.Decision{Approve: choice == cards.ChoiceExtend}))
	over, decided := t.State.Overdraft, reply.Say
	reply.Say = func(ctx context.Context, receipts []tasks.Receipt) Notice {
		if receipts[0].Err == nil {
			budgetDecided(ctx, in, t.Task, r.Message.From.Key(), over, choice == cards.ChoiceExtend)
		}
		return decided(ctx, receipts)
	}
	return reply
}

// budgetDecided logs a decision about a budget. After an extension it wakes the tasks
// that wait for the budget.
func budgetDecided(ctx context.Context, in *Inbox, id tasks.ID, by string, over planner.Overdraft, yes bool) {
	in.Log.InfoContext(ctx, "budget decided", "task", id, "by", by, "budget", over.Budget, "extended", yes, "amount", over.Extend)
	if yes && in.BudgetExtended != nil {
		in.BudgetExtended()
	}
}
