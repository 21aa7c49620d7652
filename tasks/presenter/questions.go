package presenter

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"legwork/bot"
	"legwork/internal/failpoint"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
)

// asker asks the questions of one task, reminds people of them, and shows how they ended.
type asker struct {
	sender
	withoutBoard bool // the task shows only questions and the outcome

	ephemeralMu sync.Mutex
	ephemeral   map[planner.ActionID]ephemeralQuestion // questions whose messages do not last, by action

	// The token Presenter.drawing guards these.
	closed        map[string]bool // slots of questions whose messages show how they ended
	closeFailures map[string]int  // how often closing the message of a slot failed
}

// card returns the card of the task as v shows it.
func (q *asker) card(v *tasks.View) cards.Card {
	return cards.Card{
		View: v, Texts: q.ps.Texts, Lasts: q.Lasts(), CanReply: q.platform.Limits().CanReply, ShowsTasks: q.platform.Limits().ShowsTasks,
		WithoutBoard: q.withoutBoard,
		AskerExtends: q.ps.rules.Load().Budget.AskerExtends, Page: q.ps.Page.In(q.chat.Platform),
	}
}

// questionCard returns the card for questions that are asked in a chat.
func (q *asker) questionCard(ctx context.Context, v *tasks.View, to bot.Chat) cards.Card {
	c := q.card(v)
	f, ok := q.platform.(bot.Filer)
	c.Files = ok && f.Files(to)
	c.AskerIsAdmin = tasks.IsAdmin(ctx, q.ps.Store, q.ps.rules.Load().Admins, v.Opening().From.Key())
	c.OfferAlways = !q.chat.Private || c.AskerIsAdmin
	return c
}

// Ask asks a question of the task in its chat, or in the private chat of the person
// who asked. The inbox receives the answer. If the chat no longer exists, no answer
// can come, so Ask stops the task. It does not stop a program's task, because others
// can answer its question.
func (q *asker) Ask(ctx context.Context, v *tasks.View, a planner.Action) error {
	signIn := signInOf(v, a)
	if signIn != nil && signIn.Person == "" && q.ps.SignInWanted != nil {
		q.ps.SignInWanted(ctx, v.Event(a.ID.Seq).Question.Server)
	}
	if q.isHeadless() { // the list of approvals shows the question to programs
		return nil
	}
	if !q.Lasts() {
		d := q.questionCard(ctx, v, q.chat).Question(a)
		id, err := q.post(ctx, q.chat, a.ID.String(), d, postTries)
		if err == nil && a.ID.Subject != planner.SubjectQuestion {
			q.ephemeralMu.Lock()
			q.ephemeral[a.ID] = ephemeralQuestion{id, v.State.Seq}
			q.ephemeralMu.Unlock()
		}
		return err
	}
	err := q.askPrivately(ctx, v, a)
	if errors.Is(err, errNotPrivate) {
		err = q.askIn(ctx, v, a, q.chat, a.ID.String())
	}
	if errors.Is(err, bot.ErrGone) && q.withoutBoard {
		q.ps.Log.WarnContext(ctx, "asking in program's chat failed", "task", q.id, "chat", q.chat.Key(), "cause", err)
		return nil
	}
	if errors.Is(err, bot.ErrGone) {
		q.ps.Log.WarnContext(ctx, "no person to ask, task ends", "task", q.id, "cause", err)
		return q.append(ctx, planner.Event{Type: planner.Stopped})
	}
	return err
}

// signInOf is the sign-in that an ask action waits for; nil when it is about something else.
func signInOf(v *tasks.View, a planner.Action) *planner.SignIn {
	if q := v.Event(a.ID.Seq).Question; q != nil {
		return q.SignIn
	}
	return nil
}

// askIn asks in a chat, in as many messages as needed; the last message has the
// buttons and the slot. It does not send a message again.
func (q *asker) askIn(ctx context.Context, v *tasks.View, a planner.Action, to bot.Chat, slot string) error {
	if v.State.Slot(slot).Message != "" {
		return nil
	}
	d := q.questionCard(ctx, v, to).Question(a)
	err := q.postParts(ctx, v, to, slot, d)
	if d.File != nil && errors.Is(err, bot.ErrNoFiles) {
		err = q.postParts(ctx, v, to, slot, q.questionCard(ctx, v, to).PlainQuestion(a))
	}
	return err
}

func (q *asker) postParts(ctx context.Context, v *tasks.View, to bot.Chat, slot string, d bot.Draft) error {
	if to.Key() != q.chat.Key() {
		d.ReplyTo = "" // the message to reply to is in another chat
	}
	parts := []bot.Draft{d}
	if s, ok := q.platform.(bot.Splitter); ok {
		parts = s.Split(d)
	}
	for i := range parts {
		name := slot
		if i < len(parts)-1 {
			name = fmt.Sprintf("part %d of %s", i+1, slot)
		}
		if err := q.postPart(ctx, v, to, name, parts[i]); err != nil {
			return err
		}
	}
	return nil
}

func (q *asker) postPart(ctx context.Context, v *tasks.View, to bot.Chat, name string, part bot.Draft) error {
	slot := v.State.Slot(name)
	if slot.Message != "" {
		return nil
	}
	if slot.Name == "" {
		if err := q.recordSendStarted(ctx, name); err != nil && !tasks.Superseded(err) { // superseded: an earlier try recorded it
			return err
		}
	}
	part.Mark = cards.MarkOf(q.id, name)
	id, err := q.post(ctx, to, name, part, postTries)
	if err != nil {
		return err
	}
	err = q.recordSent(ctx, name, id, "", false)
	if err == nil {
		failpoint.Hit("keep.after.question")
	}
	if err == nil || tasks.Superseded(err) {
		q.closeIfOver(ctx, name, id)
	}
	return err
}

// errNotPrivate means that the question is asked in the task's own chat.
var errNotPrivate = errors.New("the question is not asked in private")

// askPrivately asks for an approval, or the answer to a server's question, in the
// private chat of the person who asked, and says so in the task's chat. A person who has
// to sign in is always asked there.
func (q *asker) askPrivately(ctx context.Context, v *tasks.View, a planner.Action) error {
	about, slot := a.ID, cards.PrivateSlot+a.ID.String()
	signIn := signInOf(v, a)
	asksPerson := signIn != nil && signIn.Person != ""
	switch {
	case !tasks.Decides(about) || q.chat.Private || tasks.OfProgram(v.Opening().From): // a program has no private chat
		return errNotPrivate
	case v.State.Slot(slot).Message != "":
	case !q.ps.rules.Load().Approvals.Private && !asksPerson || v.State.Slot(a.ID.String()).Name != "":
		return errNotPrivate
	}
	to, err := q.privateChat(ctx, v)
	if err == nil {
		err = q.askIn(ctx, v, a, to, slot)
	}
	if errors.Is(err, bot.ErrGone) {
		q.ps.Log.InfoContext(ctx, "asking in private failed", "task", q.id, "cause", err)
		return errNotPrivate
	}
	if err != nil {
		return err
	}
	return q.announcePrivate(ctx, v, about)
}

// announcePrivate says in the task's chat that a question waits in private, once for
// each question.
func (q *asker) announcePrivate(ctx context.Context, v *tasks.View, about planner.ActionID) error {
	opening := v.Opening()
	d := bot.Draft{
		Kind: bot.KindNotice, Task: string(q.id), ReplyTo: opening.Message,
		Text: q.ps.Texts.Text(opening.Language, "approval.elsewhere", map[string]any{"Name": cards.PlainText(cards.NameOf(opening.From.Name, opening.From.Key()))}),
	}
	err := q.postPart(ctx, v, q.chat, fmt.Sprintf("told %d", about.Seq), d)
	if errors.Is(err, errUnsendable) { // the question waits even without the notice
		q.ps.Log.WarnContext(ctx, "notice not shown", "task", q.id, "cause", err)
		return nil
	}
	return err
}
