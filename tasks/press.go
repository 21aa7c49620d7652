package tasks

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"legwork/planner"
)

// pressAnswer begins what the buttons under a question carry.
const pressAnswer = "a"

// press routes the press of a button of somebody who may talk to the bot.
func (in *Inbox) press(ctx context.Context, r *routed) error {
	data := r.message.Data
	for _, p := range []struct {
		prefix string
		take   func(ctx context.Context, r *routed, rest string) error
	}{
		{pressCommand, in.pressedCommand},
		{pressLanguage, in.lang},
		{pressZone, in.zone},
		{pressModel, in.pressedModel},
		{pressForget, func(ctx context.Context, r *routed, rest string) error { in.forgetPress(ctx, r, rest); return nil }},
		{pressAllow, func(ctx context.Context, r *routed, who string) error { return in.judge(ctx, r, pressAllow, who) }},
		{pressOnlyHere, func(ctx context.Context, r *routed, who string) error { return in.judge(ctx, r, pressOnlyHere, who) }},
		{pressIgnore, func(ctx context.Context, r *routed, who string) error { return in.judge(ctx, r, pressIgnore, who) }},
		{pressRevoke, in.revokes},
		{pressSchedule, in.pressedSchedule},
		{pressAccept, func(ctx context.Context, r *routed, id string) error { return in.change(ctx, r, pressAccept, id) }},
		{pressLeave, func(ctx context.Context, r *routed, id string) error { return in.change(ctx, r, pressLeave, id) }},
		{pressShow, func(ctx context.Context, r *routed, id string) error { return in.change(ctx, r, pressShow, id) }},
	} {
		if rest, ok := strings.CutPrefix(data, p.prefix); ok {
			return p.take(ctx, r, rest)
		}
	}
	if data == pressAsk { // somebody let them in meanwhile
		in.say(r, "notice.admitted", nil)
		return nil
	}
	return in.taskPress(ctx, r)
}

// pressedCommand runs a command that only tells something.
func (in *Inbox) pressedCommand(ctx context.Context, r *routed, name string) error {
	switch name {
	case "lang":
		return in.lang(ctx, r, "")
	case "model":
		return in.model(ctx, r, "")
	}
	in.say(r, "error.too_late", nil)
	return nil
}

// pressedModel chooses a model, or the usual one.
func (in *Inbox) pressedModel(ctx context.Context, r *routed, name string) error {
	if name == "" {
		name = usualModel
	}
	return in.model(ctx, r, name)
}

// taskPress routes the press of a button that belongs to a task: "VERB:TASK" and
// what the verb needs beyond it.
func (in *Inbox) taskPress(ctx context.Context, r *routed) error {
	verb, rest, _ := strings.Cut(r.message.Data, ":")
	name, rest, _ := strings.Cut(rest, ":")
	id := ID(name)
	switch verb {
	case pressApproval:
		return in.decisionPress(ctx, r, planner.SubjectCalls, id, rest)
	case pressField:
		return in.decisionPress(ctx, r, planner.SubjectForm, id, rest)
	case pressReview:
		return in.decisionPress(ctx, r, planner.SubjectReview, id, rest)
	case pressCard:
		return in.cardPress(ctx, r, id, rest)
	}
	t, live := r.find(id)
	if !live && verb == pressAnswer {
		var err error
		if t, live, err = in.askedOf(ctx, r, id); err != nil {
			return err
		}
	}
	if live {
		if !r.steers(t) {
			in.aside(r, "error.not_yours")
			return nil
		}
		switch {
		case verb == pressAnswer:
			return in.choose(ctx, r, t, rest)
		case verb == pressStop && !t.state.Settled():
			in.stopTask(r, id)
			return nil
		case verb == pressRetry && !t.state.Settled(): // its outcome may be seen before that is stored
			in.say(r, "error.still_running", nil)
			return nil
		}
	}
	switch verb {
	case pressDetails, pressRetry, pressUndo, pressSeparate:
		return in.pastPress(ctx, r, verb, id, rest)
	}
	in.say(r, "error.too_late", nil)
	return nil
}

// stopTask ends one task.
func (in *Inbox) stopTask(r *routed, id ID) {
	r.add(id, planner.Event{Type: planner.Stopped, At: in.Now(), By: r.message.From.Key()})
	r.reply = func(_ context.Context, receipts []Receipt) said {
		if receipts[0].Err != nil {
			return in.sentence(*r, "error.too_late", nil)
		}
		return in.stopping(*r)
	}
}

// pastPress takes presses about tasks that may be over.
func (in *Inbox) pastPress(ctx context.Context, r *routed, verb string, id ID, rest string) error {
	o, err := in.own(ctx, r, id)
	if err != nil {
		return err
	}
	switch {
	case o == nil:
		in.say(r, "error.task_gone", nil)
	case !r.admin && o.From.Key() != r.message.From.Key():
		in.aside(r, "error.not_yours")
	case verb == pressDetails:
		return in.details(ctx, r, id)
	case verb == pressRetry:
		return in.askAgain(ctx, r, o, "retry:"+string(id))
	default:
		return in.guidancePress(ctx, r, verb, id, rest)
	}
	return nil
}

// own reads the opening of a task of the conversation that the message is in,
// also when that was moved; nil when it has no such task.
func (in *Inbox) own(ctx context.Context, r *routed, id ID) (*planner.Opening, error) {
	first, err := in.Store.Event(ctx, id, 1)
	if errors.Is(err, ErrNoTask) || errors.Is(err, ErrDamaged) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading task %s: %w", id, err)
	}
	if first.Opening == nil {
		return nil, nil
	}
	if _, live := r.find(id); live || first.Opening.Chat.Key() == r.message.Chat.Key() || tellsHere(first.Opening, r) {
		return first.Opening, nil
	}
	var found *planner.Opening
	err = in.eachPast(ctx, r, func(t Turn, o *planner.Opening) bool {
		if t.Task == id {
			found = o
		}
		return found == nil
	})
	return found, err
}

// details tells in the chat how a task came to its answer.
func (in *Inbox) details(ctx context.Context, r *routed, id ID) error {
	v := NewView(in.Store, id)
	if err := v.Refresh(ctx); err != nil {
		return fmt.Errorf("reading task %s: %w", id, err)
	}
	in.reply(r, said{text: Details(v, in.Texts, r.lang), aloud: true})
	return nil
}

// guidancePress takes guidance back that nothing has heeded yet. Separately, it
// becomes a question of its own, whether it was heeded or not. Each counts once.
func (in *Inbox) guidancePress(ctx context.Context, r *routed, verb string, id ID, rest string) error {
	e, err := in.guidance(ctx, id, rest)
	if err != nil {
		return err
	}
	if e.Type != planner.Said {
		in.say(r, "error.too_late", nil)
		return nil
	}
	m := r.message
	at := fmt.Sprintf("%s:%d", id, e.Seq)
	back := Inbound{Key: "undo:" + at, Chat: m.Chat, To: id, Event: planner.Event{
		Type: planner.Unsaid, At: in.Now(), By: m.From.Key(), Of: e.Seq,
	}}
	if verb == pressUndo {
		r.store = []Inbound{back}
		r.reply = func(_ context.Context, receipts []Receipt) said {
			if receipts[0].Err != nil {
				return in.sentence(*r, "error.undo_late", nil)
			}
			s := in.sentence(*r, "notice.undone", nil)
			s.instead = true
			return s
		}
		return nil
	}
	o, err := in.opening(ctx, r, e.Text)
	if err != nil {
		return err
	}
	o.Message = e.Message
	r.store = []Inbound{in.opens("apart:"+at, m.Chat, o), back}
	r.reply = func(context.Context, []Receipt) said {
		s := in.sentence(*r, "notice.separate", nil)
		s.aside, s.instead = true, true
		return s
	}
	return nil
}

// guidance reads the event of that number, which a button named; a zero one when
// the task has none.
func (in *Inbox) guidance(ctx context.Context, id ID, number string) (planner.Event, error) {
	s, err := in.Store.State(ctx, id)
	if err != nil {
		return planner.Event{}, fmt.Errorf("reading task %s: %w", id, err)
	}
	seq, _ := strconv.Atoi(number) // 0 for what is none
	if seq < 1 || seq > s.Seq {
		return planner.Event{}, nil
	}
	e, err := in.Store.Event(ctx, id, seq)
	if err != nil {
		return planner.Event{}, fmt.Errorf("reading task %s: %w", id, err)
	}
	return e, nil
}
