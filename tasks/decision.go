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
func pressData(id ID, at planner.Place, choice int) string {
	return fmt.Sprintf("a:%s:%d.%d.%d:%d", id, at.Subtask, at.Turn, at.Call, choice)
}

// readPress is the opposite of pressData.
func readPress(data string) (id ID, at planner.Place, choice int, ok bool) {
	part := strings.Split(data, ":")
	if len(part) != 4 || part[0] != "a" {
		return "", at, 0, false
	}
	n, err := fmt.Sscanf(part[2], "%d.%d.%d", &at.Subtask, &at.Turn, &at.Call)
	choice, bad := strconv.Atoi(part[3])
	return ID(part[1]), at, choice, n == 3 && err == nil && bad == nil
}

// spot is what a button names an ask action by: its place, or for a budget the
// event that it is about, so that a late press never decides about the next.
func spot(s planner.State, a planner.Action) planner.Place {
	if a.Place.Subtask < 0 {
		return planner.Place{Subtask: -1, Turn: s.Over}
	}
	return a.Place
}

// decision routes presses, and words that answer a question: a reply to it, or
// in private chats any of the asker's. done is false when the message is no
// answer.
func (in *Inbox) decision(ctx context.Context, r *routed, m bot.Message, live []liveTask) (done bool, err error) {
	if m.Press != "" {
		return true, in.press(ctx, r, m, live)
	}
	if m.Text == "" || strings.HasPrefix(m.Text, "/") || m.Apart {
		return false, nil
	}
	id, action, ok := in.answers(m, live)
	if !ok {
		return false, nil
	}
	// Words that come too late are a question of their own.
	if err := in.question(ctx, r, m, nil, &recent{}); err != nil {
		return true, err
	}
	item := &r.store[0]
	item.To, item.Event = id, planner.Event{
		Type: planner.Decided, At: in.Now(), Action: action, By: m.From.Key(), Decision: &planner.Decision{Approve: true, Text: m.Text},
	}
	return true, nil
}

// answers finds the question that a message's words answer: the one it replies
// to, otherwise the oldest of its author's in a private chat.
func (in *Inbox) answers(m bot.Message, live []liveTask) (id ID, action string, ok bool) {
	for _, t := range live {
		for _, a := range planner.Todo(t.state) {
			if a.Kind != planner.KindAsk || a.Place.Subtask < 0 || !planner.AsksPerson(t.state, a.Place) {
				continue
			}
			if m.ReplyTo != "" && t.state.Slot(a.ID).Message == m.ReplyTo && in.steers(m, t) {
				return t.Task, a.ID, true
			}
			if !ok && m.Chat.Private && t.From.Key() == m.From.Key() {
				id, action, ok = t.Task, a.ID, true
			}
		}
	}
	return id, action, ok
}

func (in *Inbox) press(ctx context.Context, r *routed, m bot.Message, live []liveTask) error {
	id, at, choice, ok := readPress(m.Press)
	i := slices.IndexFunc(live, func(t liveTask) bool { return t.Task == id })
	if !ok || i < 0 {
		in.say(r, m, "error.too_late", nil)
		return nil
	}
	t := live[i]
	if !in.steers(m, t) {
		in.say(r, m, "error.not_yours", nil)
		return nil
	}
	for _, a := range planner.Todo(t.state) {
		if a.Kind != planner.KindAsk || spot(t.state, a) != at {
			continue
		}
		decision := planner.Decision{Approve: choice == 0}
		if q, err := in.asked(ctx, t, a); err != nil {
			return err
		} else if choice >= 0 && choice < len(q.Choices) {
			decision = planner.Decision{Approve: true, Text: q.Choices[choice]}
		}
		in.decide(r, m, t.Task, a.ID, decision)
		return nil
	}
	in.say(r, m, "error.too_late", nil)
	return nil
}

// asked reads what an ask action asks.
func (in *Inbox) asked(ctx context.Context, t liveTask, a planner.Action) (planner.Question, error) {
	if a.Place.Subtask < 0 {
		return planner.Question{}, nil
	}
	seq := planner.QuestionSeq(t.state, a.Place)
	e, err := in.Store.Event(ctx, t.Task, seq)
	if err != nil {
		return planner.Question{}, fmt.Errorf("reading question: %w", err)
	}
	return planner.QuestionOf(e, a.Place), nil
}

func (in *Inbox) decide(r *routed, m bot.Message, id ID, action string, d planner.Decision) {
	r.store = []Inbound{{Key: m.Key, Chat: m.Chat, To: id, Event: planner.Event{
		Type: planner.Decided, At: in.Now(), Action: action, By: m.From.Key(), Decision: &d,
	}}}
	lang := r.lang
	r.reply = func(_ context.Context, receipts []Receipt) string {
		if receipts[0].Err != nil {
			return in.Texts.Text(lang, "error.too_late", nil)
		}
		return ""
	}
}
