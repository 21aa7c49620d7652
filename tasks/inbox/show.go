package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
)

// Tasks of programs may ask in no chat. Admins have their questions shown in
// their private chats, from an alert or from /approvals, and decide there.

// pressCard begins what a button carries that shows a question: the task's id
// and the question's Ask follow.
const pressCard = "k"

func CardData(id tasks.ID, ask tasks.Ask) string {
	return fmt.Sprintf("%s:%s:%d.%d", pressCard, id, ask.Seq, ask.Call)
}

// shown begins the slots of questions that are shown to admins: a number and the
// action follow. Programs read the names of slots, so the chat is in the message:
// its key, and the message's own id.
const shown = "shown "

func shownAs(chat bot.Chat, message string) string { return chat.Key() + " " + message }

// shows reports that a message of a chat shows an admin the ask action of that
// id; an empty one is any.
func (t LiveTask) shows(chat bot.Chat, action planner.ActionID, message string) bool {
	return message != "" && chat.Private && slices.ContainsFunc(t.State.Slots, func(s planner.Slot) bool {
		return s.Message == shownAs(chat, message) && strings.HasPrefix(s.Name, shown) && strings.HasSuffix(s.Name, action.String())
	})
}

// cardPress shows a question of a program's task to an admin.
func cardPress(ctx context.Context, in *Inbox, r *Request, id tasks.ID, rest string) (Reply, error) {
	if !r.Admin || !r.Message.Chat.Private {
		return in.ReplyAside(r, "error.not_yours"), nil
	}
	var ask tasks.Ask
	n, _ := fmt.Sscanf(rest, "%d.%d", &ask.Seq, &ask.Call)
	t, ok, err := anyTask(ctx, in, r, id)
	if err != nil {
		return Reply{}, err
	}
	if !ok || n != 2 || t.Chat.Platform != tasks.PlatformAPI {
		return in.ReplyText(r, "error.too_late", nil), nil
	}
	for _, a := range planner.Todo(t.State) {
		if a.Kind == planner.KindAsk && tasks.AskOf(a.ID) == ask {
			return in.ReplyLater(r, func(ctx context.Context) Notice { return questionCard(ctx, in, r, id, a.ID) }), nil
		}
	}
	return in.ReplyLater(r, func(ctx context.Context) Notice { return howRuled(ctx, in, r, id, ask) }), nil
}

// questionCard is an open question of a task as its own chat would have it, in the
// language of who reads it.
func questionCard(ctx context.Context, in *Inbox, r *Request, id tasks.ID, action planner.ActionID) Notice {
	to := r.Message.Chat
	platform, err := in.Chats.Platform(to)
	v := tasks.NewView(in.Store, id)
	if err == nil {
		err = v.Refresh(ctx)
	}
	todo := planner.Todo(v.State)
	i := slices.IndexFunc(todo, func(a planner.Action) bool { return a.Kind == planner.KindAsk && a.ID == action })
	if err != nil || i < 0 {
		in.Log.WarnContext(ctx, "a question could not be shown", "task", id, "action", action, "cause", err)
		return in.Notice(r, "error.too_late", nil)
	}
	filer, ok := platform.(bot.Filer)
	card := cards.Card{
		View: v.ForOtherChat(r.Lang), Texts: in.Texts, Lasts: !platform.Limits().Ephemeral, WithoutBoard: true,
		Files: ok && filer.Files(to), AskerExtends: r.Rules.Budget.AskerExtends,
	}
	d, plain := card.Question(todo[i]), card.PlainQuestion(todo[i])
	buttons := slices.DeleteFunc(plain.Buttons, func(b bot.Button) bool { // the reason is asked for where the task is
		return strings.HasPrefix(b.Data, cards.PressApproval+":") && strings.HasSuffix(b.Data, ":"+cards.VerbWhy)
	})
	return Notice{
		Draft: bot.Draft{Kind: bot.KindQuestion, Task: string(id), Text: plain.Text, File: d.File, FreeText: plain.FreeText, Buttons: buttons},
		Brief: d.Text, Audience: ToChat,
		Sent: func(ctx context.Context, message string) { noteCard(ctx, in, v.State, id, action, to, message) },
	}
}

// noteCard keeps which message shows a question, so that replies to it are
// answers.
func noteCard(ctx context.Context, in *Inbox, s planner.State, id tasks.ID, action planner.ActionID, to bot.Chat, message string) {
	if message == "" {
		return
	}
	n, before := 1, planner.Slot{}
	for _, slot := range s.Slots {
		if !strings.HasPrefix(slot.Name, shown) || !strings.HasSuffix(slot.Name, " "+action.String()) {
			continue
		}
		n++
		if strings.HasPrefix(slot.Message, shownAs(to, "")) {
			before = slot
		}
	}
	e := planner.Event{Type: planner.Sent, Slot: before.Name, Message: shownAs(to, message), Instead: before.Message}
	events := []planner.Event{e}
	if before.Name == "" {
		e.Slot = fmt.Sprintf("%s%d %s", shown, n, action)
		events = []planner.Event{{Type: planner.SendStarted, Slot: e.Slot}, e}
	}
	err := in.Store.Append(ctx, id, -1, 0, events...)
	if err != nil && !errors.Is(err, tasks.ErrRefused) && ctx.Err() == nil {
		in.Log.WarnContext(ctx, "storing shown question failed", "task", id, "cause", err)
	}
}

// howRuled tells how a question ended that is open no more.
func howRuled(ctx context.Context, in *Inbox, r *Request, id tasks.ID, ask tasks.Ask) Notice {
	v := tasks.NewView(in.Store, id)
	if err := v.Refresh(ctx); err != nil {
		in.Log.WarnContext(ctx, "reading end of question failed", "task", id, "cause", err)
		return in.Notice(r, "error.too_late", nil)
	}
	for _, e := range slices.Backward(v.Events) {
		if e.Type != planner.Decided && e.Type != planner.Expired {
			continue
		}
		if e.Action.Kind == planner.KindAsk && tasks.AskOf(e.Action) == ask {
			return in.Notice(r, "error.decided", map[string]any{"Text": cards.OutcomeOf(v, in.Texts, r.Lang, e.Action)})
		}
	}
	return in.Notice(r, "error.too_late", nil)
}

// closingCard makes the reply to a decision by an admin in private tell how the
// question ended, also in place of the message that shows the question there. It
// leaves the message alone that the task's presenter posted: the presenter closes it.
func closingCard(in *Inbox, r *Request, t LiveTask, action planner.ActionID, reply Reply) Reply {
	m, before := r.Message, reply.Say
	slot, pressed := t.State.Slot(action.String()), m.Kind == bot.MessagePress
	if t.Chat.Platform != tasks.PlatformAPI || !r.Admin || !m.Chat.Private || before == nil ||
		pressed && slot.Name != "" && (slot.Message == "" || slot.Message == m.ID) && !t.shows(m.Chat, action, m.ID) {
		return reply
	}
	card := "" // that words have settled
	if !pressed && t.shows(m.Chat, action, m.ReplyTo) {
		card = m.ReplyTo
	}
	reply.Say = func(ctx context.Context, receipts []tasks.Receipt) Notice {
		n := before(ctx, receipts)
		v := tasks.NewView(in.Store, t.Task)
		if err := v.Refresh(ctx); err != nil || n.Text != "" {
			n.Replace.Pressed = pressed && n.Audience != ToAuthor
			if err == nil && !tasks.OpenAsk(v.State, action) {
				n.Replace.Message = card
			}
			return n
		}
		over := cards.OutcomeOf(v, in.Texts, r.Lang, action)
		if next, ok := nextField(v.State, action); ok {
			n := questionCard(ctx, in, r, t.Task, next)
			n.Replace = Replace{Pressed: pressed, Message: card, With: &bot.Draft{Kind: bot.KindNotice, Text: over}}
			return n
		}
		n = TextNotice(over)
		n.Replace = Replace{Pressed: pressed, Message: card}
		return n
	}
	return reply
}

// nextField is the ask action of the field that is open of a form after an earlier
// one was filled in; ok is false when there is none.
func nextField(s planner.State, action planner.ActionID) (next planner.ActionID, ok bool) {
	for _, a := range planner.Todo(s) {
		if a.ID.Subject == planner.SubjectForm && a.ID.Seq == action.Seq {
			return a.ID, true
		}
	}
	return planner.ActionID{}, false
}

// askedOf finds a program's task by its id when its questions stand in the chat of
// a message, or are shown there to an admin.
func askedOf(ctx context.Context, in *Inbox, r *Request, id tasks.ID) (t LiveTask, ok bool, err error) {
	t, ok, err = askedHere(ctx, in, r, id)
	if ok || err != nil || !r.Admin || !r.Message.Chat.Private {
		return t, ok, err
	}
	t, ok, err = anyTask(ctx, in, r, id)
	return t, ok && t.Chat.Platform == tasks.PlatformAPI && !t.State.Finished(), err
}
