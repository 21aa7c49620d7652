package inbox

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
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
	item := in.opens(m.Key, m.Chat, o)
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
	if w.reply = m.ReplyTo != "" && slices.Contains(messages, m.ReplyTo) && r.steers(t); w.reply {
		return w, true
	}
	if tasks.Decides(w.action) && t.speaks(m.ReplyTo) { // to something else of the task
		return w, false
	}
	if tasks.Decides(w.action) && m.At.Sub(s.Last) > planFresh { // they may be about anything by now
		return w, false
	}
	own := t.From.Key() == m.From.Key()
	if w.action.Subject == planner.SubjectReview && !r.Passing { // words that reply to nothing may be about anything
		return w, false
	}
	if m.Chat.Key() != t.Chat.Key() {
		return w, own && s.Slot(cards.Privately+a.ID.String()).Name != ""
	}
	return w, m.Chat.Private && own || m.InThread && r.steers(t)
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
	return in.replyText(r, "error.too_late", nil), nil
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
			return in.notice(r, "error.too_late", nil)
		}
		return Notice{}
	}}
}

// withMessage adds to a reply which message a question is, when its button was
// pressed before the platform had said that it was sent: so it can be closed.
func withMessage(in *Inbox, r *Request, t LiveTask, action planner.ActionID, reply Reply) Reply {
	if m, slot := r.Message, t.State.Slot(action.String()); m.ID != "" && slot.Name != "" && slot.Message == "" {
		reply.add(r, t.Task, planner.Event{Type: planner.Sent, At: in.Now(), Slot: action.String(), Message: m.ID})
	}
	return reply
}

// editPlan asks, once for each plan, what should be different about it. The
// message that asks belongs to the task, so that a reply to it is guidance.
func editPlan(in *Inbox, r *Request, t LiveTask, plan int) Reply {
	slot := fmt.Sprintf("edit.%d", plan)
	if t.State.Slot(slot).Message != "" {
		return in.replyAside(r, "notice.edit_plan")
	}
	s := in.notice(r, "notice.edit_plan", nil)
	s.Audience = ToChat
	s.Sent = func(ctx context.Context, id string) {
		if id == "" || r.Passing {
			return
		}
		err := in.Store.Append(ctx, t.Task, -1, 0,
			planner.Event{Type: planner.SendStarted, Slot: slot}, planner.Event{Type: planner.Sent, Slot: slot, Message: id})
		if err != nil && ctx.Err() == nil {
			in.Log.WarnContext(ctx, "a question about a plan could not be noted", "task", t.Task, "cause", err)
		}
	}
	return in.reply(r, s)
}

// passing reports that a chat's messages do not last.
func (in *Inbox) passing(chat bot.Chat) bool {
	p, err := in.Chats.Platform(chat)
	return err == nil && p.Limits().Ephemeral
}
