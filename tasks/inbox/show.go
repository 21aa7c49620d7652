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

// Tasks of programs may have no chat for their questions. Admins open such a
// question in their private chat, from an alert or from /approvals, and decide
// there.

// pressCard begins the data of a button that shows a question. The task's id and
// the question's Ask follow.
const pressCard = "k"

// CardData is the data of a button that shows a question of a task.
func CardData(id tasks.ID, ask tasks.Ask) string {
	return fmt.Sprintf("%s:%s:%d.%d", pressCard, id, ask.Seq, ask.Call)
}

// shownSlot begins the names of the slots of questions that are shown to admins. A
// number and the action follow. Programs can read the names of slots, so the chat
// is stored in the slot's message: the chat's key and the message's own id.
const shownSlot = "shown "

func shownMessage(chat bot.Chat, message string) string { return chat.Key() + " " + message }

// showsAsk reports whether a message of a private chat shows the ask action of that
// id. The zero id stands for any action.
func (t LiveTask) showsAsk(chat bot.Chat, action planner.ActionID, message string) bool {
	return message != "" && chat.Private && slices.ContainsFunc(t.State.Slots, func(s planner.Slot) bool {
		return s.Message == shownMessage(chat, message) && strings.HasPrefix(s.Name, shownSlot) && strings.HasSuffix(s.Name, action.String())
	})
}

// cardPress shows a question of a program's task to an admin.
func cardPress(ctx context.Context, in *Inbox, r *Request, id tasks.ID, rest string) (Reply, error) {
	if !r.Admin || !r.Message.Chat.Private {
		return in.ReplyAside(r, "error.not_yours"), nil
	}
	var ask tasks.Ask
	n, _ := fmt.Sscanf(rest, "%d.%d", &ask.Seq, &ask.Call)
	t, ok, err := findTask(ctx, in, r, id)
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
	return in.ReplyLater(r, func(ctx context.Context) Notice { return outcomeNotice(ctx, in, r, id, ask) }), nil
}

// questionCard shows an open question of a task as the task's own chat would show
// it, in the language of the reader.
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
		in.Log.WarnContext(ctx, "question not shown", "task", id, "action", action, "cause", err)
		return in.Notice(r, "error.too_late", nil)
	}
	filer, ok := platform.(bot.Filer)
	card := cards.Card{
		View: v.ForOtherChat(r.Lang), Texts: in.Texts, Lasts: !platform.Limits().Ephemeral, CanReply: platform.Limits().CanReply, WithoutBoard: true,
		Files: ok && filer.Files(to), AskerExtends: r.Rules.Budget.AskerExtends, Page: in.Links.In(to.Platform),
	}
	d, plain := card.Question(todo[i]), card.PlainQuestion(todo[i])
	buttons := slices.DeleteFunc(plain.Buttons, func(b bot.Button) bool { // only the task's own chat asks for a reason
		return strings.HasPrefix(b.Data, cards.PressApproval+":") && strings.HasSuffix(b.Data, ":"+cards.VerbWhy)
	})
	return Notice{
		Draft: bot.Draft{Kind: bot.KindQuestion, Task: string(id), Text: plain.Text, File: d.File, FreeText: plain.FreeText, Buttons: buttons},
		Brief: d.Text, Audience: ToChat,
		Sent: func(ctx context.Context, message string) {
			storeShownMessage(ctx, in, v.State, id, action, to, message)
		},
	}
}

// storeShownMessage stores the id of the message that shows a question, so that replies to
// the message are answers.
func storeShownMessage(ctx context.Context, in *Inbox, s planner.State, id tasks.ID, action planner.ActionID, to bot.Chat, message string) {
	if message == "" {
		return
	}
	n, before := 1, planner.Slot{}
	for _, slot := range s.Slots {
		if !strings.HasPrefix(slot.Name, shownSlot) || !strings.HasSuffix(slot.Name, " "+action.String()) {
			continue
		}
		n++
		if strings.HasPrefix(slot.Message, shownMessage(to, "")) {
			before = slot
		}
	}
	e := planner.Event{Type: planner.Sent, Slot: before.Name, Message: shownMessage(to, message), Instead: before.Message}
	events := []planner.Event{e}
	if before.Name == "" {
		e.Slot = fmt.Sprintf("%s%d %s", shownSlot, n, action)
		events = []planner.Event{{Type: planner.SendStarted, Slot: e.Slot}, e}
	}
	err := in.Store.Append(ctx, id, -1, 0, events...)
	if err != nil && !errors.Is(err, tasks.ErrRefused) && ctx.Err() == nil {
		in.Log.WarnContext(ctx, "shown question not stored", "task", id, "cause", err)
	}
}

// outcomeNotice is the notice that says how a closed question ended.
func outcomeNotice(ctx context.Context, in *Inbox, r *Request, id tasks.ID, ask tasks.Ask) Notice {
	v := tasks.NewView(in.Store, id)
	if err := v.Refresh(ctx); err != nil {
		in.Log.WarnContext(ctx, "question outcome not read", "task", id, "cause", err)
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

// withOutcome adds the question's outcome to the reply to an admin's decision in
// private, and puts it in place of the message that shows the question there. It
// does not edit the message of the task's presenter, which closes that message
// itself.
func withOutcome(in *Inbox, r *Request, t LiveTask, action planner.ActionID, reply Reply) Reply {
	m, before := r.Message, reply.Say
	slot, pressed := t.State.Slot(action.String()), m.Kind == bot.MessagePress
	if t.Chat.Platform != tasks.PlatformAPI || !r.Admin || !m.Chat.Private || before == nil ||
		pressed && slot.Name != "" && (slot.Message == "" || slot.Message == m.ID) && !t.showsAsk(m.Chat, action, m.ID) {
		return reply
	}
	card := "" // the message that a text reply has settled
	if !pressed && t.showsAsk(m.Chat, action, m.ReplyTo) {
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

// nextField returns the next open field of a form after one was filled in. ok is
// false when there is none.
func nextField(s planner.State, action planner.ActionID) (next planner.ActionID, ok bool) {
	for _, a := range planner.Todo(s) {
		if a.ID.Subject == planner.SubjectForm && a.ID.Seq == action.Seq {
			return a.ID, true
		}
	}
	return planner.ActionID{}, false
}

// programTask finds a program's task by its id, if the chat of the message shows its
// questions, either as the chat that the program named or to an admin in private.
func programTask(ctx context.Context, in *Inbox, r *Request, id tasks.ID) (t LiveTask, ok bool, err error) {
	t, ok, err = taskAskingHere(ctx, in, r, id)
	if ok || err != nil || !r.Admin || !r.Message.Chat.Private {
		return t, ok, err
	}
	t, ok, err = findTask(ctx, in, r, id)
	return t, ok && t.Chat.Platform == tasks.PlatformAPI && !t.State.Finished(), err
}
