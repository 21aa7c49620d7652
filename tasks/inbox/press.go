package inbox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
)

// pressHandler handles a pressed button of a person with access.
func pressHandler(ctx context.Context, in *Inbox, r *Request) (Outcome, error) {
	if r.Message.Kind != bot.MessagePress {
		return Outcome{}, nil
	}
	data := r.Message.Data
	for _, p := range in.Presses {
		if rest, ok := strings.CutPrefix(data, p.Prefix); ok {
			return took(p.Run(ctx, in, r, rest))
		}
	}
	for _, verb := range []string{pressAllow, pressOnlyHere, pressIgnore} {
		if person, ok := strings.CutPrefix(data, verb); ok {
			return took(decideAccess(ctx, in, r, verb, person))
		}
	}
	if data == pressAsk { // an admin has admitted the person since
		return took(in.ReplyText(r, "notice.admitted", nil), nil)
	}
	return took(taskPress(ctx, in, r))
}

// taskPress handles the press of a button that belongs to a task. Its data is
// "VERB:TASK", followed by the arguments of the verb.
func taskPress(ctx context.Context, in *Inbox, r *Request) (Reply, error) {
	verb, rest, _ := strings.Cut(r.Message.Data, ":")
	name, rest, _ := strings.Cut(rest, ":")
	id := tasks.ID(name)
	switch verb {
	case cards.PressApproval:
		return decisionPress(ctx, in, r, planner.SubjectCalls, id, rest)
	case cards.PressField:
		return decisionPress(ctx, in, r, planner.SubjectForm, id, rest)
	case cards.PressReview:
		return decisionPress(ctx, in, r, planner.SubjectReview, id, rest)
	case pressCard:
		return cardPress(ctx, in, r, id, rest)
	case pressGiveWords, pressAskWords:
		return wordsPress(ctx, in, r, verb, id, rest)
	}
	t, live := r.Task(id)
	if !live && verb == cards.PressAnswer {
		var err error
		if t, live, err = programTask(ctx, in, r, id); err != nil {
			return Reply{}, err
		}
	}
	if live {
		if !r.Steers(t) {
			return in.ReplyAside(r, "error.not_yours"), nil
		}
		switch {
		case verb == cards.PressAnswer:
			return choosePress(ctx, in, r, t, rest)
		case verb == cards.PressStop && !t.State.Settled():
			return stopTaskPress(in, r, t), nil
		case verb == cards.PressRetry && !t.State.Settled(): // people may see the outcome before it is stored
			return in.ReplyText(r, "error.still_running", nil), nil
		}
	}
	switch verb {
	case cards.PressDetails, cards.PressRetry, pressRemoveGuidance, pressAskSeparately:
		return pastPress(ctx, in, r, verb, id, rest)
	case cards.PressStop:
		return lostBoardPress(ctx, in, r, id)
	}
	return in.ReplyText(r, "error.too_late", nil), nil
}

// lostBoardPress answers the stop button of a task that is over. A board that still
// has it was lost: the platform accepted it, but its id never arrived. The notice takes
// its place, so that it does not say for ever that the task works.
func lostBoardPress(ctx context.Context, in *Inbox, r *Request, id tasks.ID) (Reply, error) {
	n := in.Notice(r, "error.too_late", nil)
	o, err := openingHere(ctx, in, r, id)
	if err != nil {
		return Reply{}, err
	}
	if o != nil && (r.Admin || o.From.Key() == r.Message.From.Key()) {
		s, ok, err := stateOf(ctx, in, id)
		if err != nil {
			return Reply{}, err
		}
		n.Replace.Pressed = ok && !hasMessage(s, r.Message.ID)
	}
	return in.Reply(r, n), nil
}

// stopTaskPress stops one task. If the message with the button is a lost board, see
// lostBoardPress, the message says that the task was stopped: nothing else will
// change it.
func stopTaskPress(in *Inbox, r *Request, t LiveTask) Reply {
	var reply Reply
	reply.Add(r, t.Task, planner.Event{Type: planner.Stopped, At: in.Now(), By: r.Message.From.Key()})
	reply.Say = func(_ context.Context, receipts []tasks.Receipt) Notice {
		if receipts[0].Err != nil {
			return in.Notice(r, "error.too_late", nil)
		}
		n := StoppingNotice(in, r)
		if !hasMessage(t.State, r.Message.ID) {
			n.Replace = Replace{Pressed: true, With: &bot.Draft{Kind: bot.KindNotice, Text: in.Texts.Text(r.Lang, "notice.stopped", nil)}}
		}
		return n
	}
	return reply
}

// hasMessage reports whether a message belongs to a slot of the task.
func hasMessage(s planner.State, message string) bool {
	return slices.ContainsFunc(s.Slots, func(slot planner.Slot) bool { return slot.Message == message })
}

// pastPress handles presses about tasks that may have ended.
func pastPress(ctx context.Context, in *Inbox, r *Request, verb string, id tasks.ID, rest string) (Reply, error) {
	o, err := openingHere(ctx, in, r, id)
	if err != nil {
		return Reply{}, err
	}
	switch {
	case o == nil:
		return in.ReplyText(r, "error.task_gone", nil), nil
	case !r.Admin && o.From.Key() != r.Message.From.Key():
		return in.ReplyAside(r, "error.not_yours"), nil
	case verb == cards.PressDetails:
		return taskDetails(ctx, in, r, id)
	case verb == cards.PressRetry:
		return AskAgain(ctx, in, r, o, "retry:"+string(id))
	default:
		return guidancePress(ctx, in, r, verb, id, rest)
	}
}

// openingHere reads the opening of a task that belongs to the message's
// conversation, including a conversation that was moved. It returns nil for any
// other task.
func openingHere(ctx context.Context, in *Inbox, r *Request, id tasks.ID) (*planner.Opening, error) {
	o, err := openingOf(ctx, in, id)
	if o == nil || err != nil {
		return nil, err
	}
	if _, live := r.Task(id); live || o.Chat.Key() == r.Message.Chat.Key() || notifiesHere(o, r) {
		return o, nil
	}
	var found *planner.Opening
	err = EachEarlierTurn(ctx, in, r, func(t tasks.Turn, o *planner.Opening) bool {
		if t.Task == id {
			found = o
		}
		return found == nil
	})
	return found, err
}

// taskDetails shows in the chat how a task found its answer. In a chat whose messages
// last, further presses within noticeGap show nothing more.
func taskDetails(ctx context.Context, in *Inbox, r *Request, id tasks.ID) (Reply, error) {
	v := tasks.NewView(in.Store, id)
	if err := v.Refresh(ctx); err != nil {
		return Reply{}, fmt.Errorf("reading task %s: %w", id, err)
	}
	return in.ReplyLater(r, func(context.Context) Notice {
		if !r.Ephemeral && !in.notified.first("details "+string(id)+" "+r.Message.Chat.Key(), noticeGap, in.Now()) {
			return Notice{}
		}
		return Notice{Draft: bot.Draft{Text: cards.Details(v, in.Texts, r.Lang)}, Audience: ToChat}
	}), nil
}

// guidancePress removes guidance that the task has not used yet. With
// pressAskSeparately, the guidance also becomes a question of its own, whether it was
// used or not. Each press counts once.
func guidancePress(ctx context.Context, in *Inbox, r *Request, verb string, id tasks.ID, rest string) (Reply, error) {
	e, err := numberedEvent(ctx, in, id, rest)
	if err != nil {
		return Reply{}, err
	}
	if e.Type != planner.GuidanceAdded {
		return in.ReplyText(r, "error.too_late", nil), nil
	}
	m := r.Message
	back := tasks.Inbound{Key: fmt.Sprintf("undo:%s:%d", id, e.Seq), Chat: m.Chat, To: id, Event: planner.Event{
		Type: planner.GuidanceRemoved, At: in.Now(), By: m.From.Key(), Of: e.Seq,
	}}
	if verb == pressRemoveGuidance {
		return Reply{Store: []tasks.Inbound{back}, Say: func(_ context.Context, receipts []tasks.Receipt) Notice {
			if receipts[0].Err != nil {
				return in.Notice(r, "error.undo_late", nil)
			}
			n := in.Notice(r, "notice.undone", nil)
			n.Replace.Pressed = true
			return n
		}}, nil
	}
	reply, err := askApart(ctx, in, r, id, e)
	reply.Store = append(reply.Store, back)
	return reply, err
}

// askApart makes the words of an event a question of their own. Each press counts once.
func askApart(ctx context.Context, in *Inbox, r *Request, id tasks.ID, e planner.Event) (Reply, error) {
	o, err := in.opening(ctx, r, cmp.Or(e.Text+e.Unread, cards.FileNames(in.Texts, r.Lang, e.Files)))
	if err != nil {
		return Reply{}, err
	}
	o.Message, o.Earlier, o.Files = e.Message, e.Earlier, e.Files
	if e.Text == "" {
		o.Wordless, o.Parts = true, []planner.Part{{Message: e.Message}}
	}
	n := in.Notice(r, "notice.separate", nil)
	n.Audience, n.Replace.Pressed = ToAuthor, true
	reply := in.Reply(r, n)
	reply.Store = []tasks.Inbound{in.OpeningDelivery(fmt.Sprintf("apart:%s:%d", id, e.Seq), r.Message.Chat, o)}
	return reply, nil
}

// numberedEvent reads the event with the number from a button. It returns the zero
// event when the task has no such event.
func numberedEvent(ctx context.Context, in *Inbox, id tasks.ID, number string) (planner.Event, error) {
	s, err := in.Store.State(ctx, id)
	if err != nil {
		return planner.Event{}, fmt.Errorf("reading task %s: %w", id, err)
	}
	seq, _ := strconv.Atoi(number) // 0 when it is no number
	if seq < 1 || seq > s.Seq {
		return planner.Event{}, nil
	}
	e, err := in.Store.Event(ctx, id, seq)
	if err != nil {
		return planner.Event{}, fmt.Errorf("reading task %s: %w", id, err)
	}
	return e, nil
}

// StoppingNotice is the notice that a task is being stopped. Only the author of
// the stop sees it; the outcome follows for everybody.
func StoppingNotice(in *Inbox, r *Request) Notice {
	s := in.Notice(r, "notice.stopping", nil)
	s.Audience = ToAuthor
	return s
}
