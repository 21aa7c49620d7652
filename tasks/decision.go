package tasks

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"legwork/bot"
	"legwork/planner"
)

// pressData names one choice of a question for a button: at most 64 bytes, as
// the narrowest platform wants it.
func pressData(id ID, about planner.ActionID, choice int) string {
	return fmt.Sprintf("%s:%s:%s.%d.%d:%d", pressAnswer, id, about.Subject, about.Seq, about.Call, choice)
}

// readAnswer is the opposite of pressData for what follows the task's id.
func readAnswer(rest string) (about planner.ActionID, choice int, ok bool) {
	question, number, _ := strings.Cut(rest, ":")
	subject, numbers, _ := strings.Cut(question, ".")
	about = planner.ActionID{Kind: planner.KindAsk, Subject: planner.Subject(subject)}
	n, err := fmt.Sscanf(numbers, "%d.%d", &about.Seq, &about.Call)
	choice, bad := strconv.Atoi(number)
	return about, choice, n == 2 && err == nil && bad == nil
}

// The choices about a plan, in the order of their buttons.
const (
	choiceRun = iota
	choiceEdit
	choiceCancel
)

// answered routes words that answer a question: a reply to it, or in private
// chats any of the asker's. It reports false when the message is no answer.
func (in *Inbox) answered(ctx context.Context, r *routed) (bool, error) {
	m := r.message
	if m.Text == "" || strings.HasPrefix(m.Text, "/") || m.Standalone || len(m.Text) > MaxGoal {
		return false, nil
	}
	r.passing = in.passing(m.Chat)
	w, ok := r.answers(r.live)
	if !ok && m.Chat.Private {
		away, err := in.away(ctx, r)
		if err != nil {
			return true, err
		}
		w, ok = r.answers(away)
	}
	if !ok {
		there, err := in.askingHere(ctx, r)
		if err != nil {
			return true, err
		}
		w, ok = r.answers(there)
	}
	if !ok {
		return false, nil
	}
	switch w.action.Subject {
	case planner.SubjectReview, planner.SubjectCalls:
		in.settle(r, w.task, w.action, planner.Decision{Text: m.Text})
		in.decidedHere(r, w.task, w.action)
		return true, nil
	case planner.SubjectForm:
		done, err := in.fill(ctx, r, w)
		in.decidedHere(r, w.task, w.action)
		return done, err
	}
	if err := in.answer(ctx, r, w.task.Task, w.action); err != nil {
		return true, err
	}
	in.decidedHere(r, w.task, w.action)
	return true, nil
}

// answer takes words for the answer to a model's question. Those that come too
// late are a question of their own, of those who may ask.
func (in *Inbox) answer(ctx context.Context, r *routed, id ID, action planner.ActionID) error {
	m := r.message
	o, err := in.opening(ctx, r, m.Text)
	if err != nil {
		return err
	}
	item := in.opens(m.Key, m.Chat, o)
	if m.Overheard && !r.asker {
		item.ID, item.Open = "", nil
	}
	item.To, item.Event = id, planner.Event{
		Type: planner.Decided, At: in.Now(), Action: action, By: m.From.Key(), Message: m.ID,
		Decision: &planner.Decision{Approve: true, Text: m.Text, Name: m.From.Name},
	}
	r.store = []Inbound{item}
	r.reply = func(context.Context, []Receipt) said { return said{} } // the question's message says it
	return nil
}

// words are what a message says to a question.
type words struct {
	task   liveTask
	action planner.ActionID
	reply  bool // it replies to the question's message
}

// answers finds the question that a message's words answer: the one it replies
// to, otherwise one of its author's in a private chat, or in a thread of its own,
// where admins may answer too: the one that a denial's reason was asked for last,
// or else the oldest.
func (r *routed) answers(list []liveTask) (best words, ok bool) {
	for _, t := range list {
		for _, a := range planner.Todo(t.state) {
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
func (r *routed) speaksTo(t liveTask, a planner.Action) (w words, ok bool) {
	if a.Kind != planner.KindAsk {
		return w, false
	}
	m, s := r.message, t.state
	w = words{task: t, action: a.ID}
	slot := a.ID.String()
	if m.Chat.Key() != t.Chat.Key() { // there are messages of the same id in other chats
		slot = privately + a.ID.String()
	}
	messages := []string{s.Slot(slot).Message}
	if t.shows(m.Chat, a.ID, m.ReplyTo) {
		messages = append(messages, m.ReplyTo)
	}
	switch w.action.Subject {
	case planner.SubjectCalls:
		why := s.Slot(whySlot(w.action.Seq))
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
	if decides(w.action) && t.speaks(m.ReplyTo) { // to something else of the task
		return w, false
	}
	if decides(w.action) && m.At.Sub(s.Last) > planFresh { // they may be about anything by now
		return w, false
	}
	own := t.From.Key() == m.From.Key()
	if w.action.Subject == planner.SubjectReview && !r.passing { // words that reply to nothing may be about anything
		return w, false
	}
	if m.Chat.Key() != t.Chat.Key() {
		return w, own && s.Slot(privately+a.ID.String()).Name != ""
	}
	return w, m.Chat.Private && own || m.InThread && r.steers(t)
}

// choose takes the press of a choice under a question.
func (in *Inbox) choose(ctx context.Context, r *routed, t liveTask, rest string) error {
	about, choice, ok := readAnswer(rest)
	for _, a := range planner.Todo(t.state) {
		if !ok || a.Kind != planner.KindAsk || decides(a.ID) || a.ID != about {
			continue
		}
		if a.ID.Subject == planner.SubjectBudget {
			in.overdraftPress(r, t, a, choice)
			in.decidedHere(r, t, a.ID)
			return nil
		}
		if about.Subject == planner.SubjectPlan && choice == choiceEdit {
			in.editPlan(r, t, about.Seq)
			return nil
		}
		decision := planner.Decision{Approve: choice == choiceRun}
		if q, err := in.asked(ctx, t, a); err != nil {
			return err
		} else if choice >= 0 && choice < len(q.Choices) {
			decision = planner.Decision{Approve: true, Text: q.Choices[choice]}
		}
		in.decide(r, t.Task, a.ID, decision)
		in.located(r, t, a.ID)
		in.decidedHere(r, t, a.ID)
		return nil
	}
	in.say(r, "error.too_late", nil)
	return nil
}

// asked reads what an ask action asks.
func (in *Inbox) asked(ctx context.Context, t liveTask, a planner.Action) (planner.Question, error) {
	if a.ID.Subject != planner.SubjectQuestion {
		return planner.Question{}, nil
	}
	e, err := in.Store.Event(ctx, t.Task, a.ID.Seq)
	if err != nil {
		return planner.Question{}, fmt.Errorf("reading question: %w", err)
	}
	return planner.QuestionOf(e, a.ID), nil
}

func (in *Inbox) decide(r *routed, id ID, action planner.ActionID, d planner.Decision) {
	m := r.message
	d.Name = m.From.Name
	r.store = []Inbound{{Key: m.Key, Chat: m.Chat, To: id, Event: planner.Event{
		Type: planner.Decided, At: in.Now(), Action: action, By: m.From.Key(), Decision: &d,
	}}}
	r.reply = in.unless(*r, "error.too_late")
}

// located notes which message a question is whose button was pressed before the
// platform's word that it was sent had come, so that it can be closed.
func (in *Inbox) located(r *routed, t liveTask, action planner.ActionID) {
	if m := r.message; m.ID != "" && t.state.Slot(action.String()).Name != "" && t.state.Slot(action.String()).Message == "" {
		r.add(t.Task, planner.Event{Type: planner.Shown, At: in.Now(), Slot: action.String(), Message: m.ID})
	}
}

// unless says a sentence when the message came too late, and nothing otherwise.
func (in *Inbox) unless(r routed, key string) func(context.Context, []Receipt) said {
	return func(_ context.Context, receipts []Receipt) said {
		if receipts[0].Err != nil {
			return in.sentence(r, key, nil)
		}
		return said{}
	}
}

// editPlan asks, once for each plan, what should be different about it. The
// message that asks belongs to the task, so that a reply to it is guidance.
func (in *Inbox) editPlan(r *routed, t liveTask, plan int) {
	slot := fmt.Sprintf("edit.%d", plan)
	if t.state.Slot(slot).Message != "" {
		in.aside(r, "notice.edit_plan")
		return
	}
	s := in.sentence(*r, "notice.edit_plan", nil)
	s.aloud = true
	s.sent = func(ctx context.Context, id string) {
		if id == "" || in.passing(r.message.Chat) {
			return
		}
		err := in.Store.Append(ctx, t.Task, -1, 0,
			planner.Event{Type: planner.Began, Slot: slot}, planner.Event{Type: planner.Shown, Slot: slot, Message: id})
		if err != nil && ctx.Err() == nil {
			in.Log.WarnContext(ctx, "a question about a plan could not be noted", "task", t.Task, "cause", err)
		}
	}
	in.reply(r, s)
}

// passing reports that a chat's messages do not last.
func (in *Inbox) passing(chat bot.Chat) bool {
	p, err := in.Chats.Platform(chat)
	return err == nil && p.Limits().Passing
}
