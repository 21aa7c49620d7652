package presenter

import (
	"context"
	"errors"
	"fmt"

	"legwork/bot"
	"legwork/internal/failpoint"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
)

// Ask asks a question of the task in its chat, or in the private chat of the person
// who asked. The inbox receives the answer. If the chat no longer exists, no answer
// can come, so Ask stops the task. It does not stop a program's task, because others
// can answer its question.
func (p *Presenter) Ask(ctx context.Context, v *tasks.View, a planner.Action) error {
	if p.isHeadless() { // the list of approvals shows the question to programs
		return nil
	}
	if !p.Lasts() {
		d := p.questionCard(ctx, v, p.chat).Question(a)
		id, err := p.post(ctx, p.chat, a.ID.String(), d, postTries)
		if err == nil && a.ID.Subject != planner.SubjectQuestion {
			p.mu.Lock()
			p.ephemeral[a.ID] = ephemeralQuestion{id, v.State.Seq}
			p.mu.Unlock()
		}
		return err
	}
	err := p.askPrivately(ctx, v, a)
	if errors.Is(err, errNotPrivate) {
		err = p.askIn(ctx, v, a, p.chat, a.ID.String())
	}
	if errors.Is(err, bot.ErrGone) && p.withoutBoard {
		p.ps.Log.WarnContext(ctx, "asking in program's chat failed", "task", p.id, "chat", p.chat.Key(), "cause", err)
		return nil
	}
	if errors.Is(err, bot.ErrGone) {
		p.ps.Log.WarnContext(ctx, "no person to ask, task ends", "task", p.id, "cause", err)
		return p.append(ctx, planner.Event{Type: planner.Stopped})
	}
	return err
}

// askIn asks in a chat, in as many messages as needed; the last message has the
// buttons and the slot. It does not send a message again.
func (p *Presenter) askIn(ctx context.Context, v *tasks.View, a planner.Action, to bot.Chat, slot string) error {
	if v.State.Slot(slot).Message != "" {
		return nil
	}
	d := p.questionCard(ctx, v, to).Question(a)
	err := p.postParts(ctx, v, to, slot, d)
	if d.File != nil && errors.Is(err, bot.ErrNoFiles) {
		err = p.postParts(ctx, v, to, slot, p.questionCard(ctx, v, to).PlainQuestion(a))
	}
	return err
}

func (p *Presenter) postParts(ctx context.Context, v *tasks.View, to bot.Chat, slot string, d bot.Draft) error {
	if to.Key() != p.chat.Key() {
		d.ReplyTo = "" // the message to reply to is in another chat
	}
	parts := []bot.Draft{d}
	if s, ok := p.platform.(bot.Splitter); ok {
		parts = s.Split(d)
	}
	for i := range parts {
		name := slot
		if i < len(parts)-1 {
			name = fmt.Sprintf("part %d of %s", i+1, slot)
		}
		if err := p.postPart(ctx, v, to, name, parts[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *Presenter) postPart(ctx context.Context, v *tasks.View, to bot.Chat, name string, part bot.Draft) error {
	slot := v.State.Slot(name)
	if slot.Message != "" {
		return nil
	}
	if slot.Name == "" {
		if err := p.recordSendStarted(ctx, name); err != nil && !tasks.Superseded(err) { // superseded: an earlier try recorded it
			return err
		}
	}
	part.Mark = cards.MarkOf(p.id, name)
	id, err := p.post(ctx, to, name, part, postTries)
	if err != nil {
		return err
	}
	err = p.recordSent(ctx, name, id, "", false)
	if err == nil {
		failpoint.Hit("keep.after.question")
	}
	if err == nil || tasks.Superseded(err) {
		p.closeIfOver(ctx, name, id)
	}
	return err
}

// errNotPrivate means that the question is asked in the task's own chat.
var errNotPrivate = errors.New("the question is not asked in private")

// askPrivately asks for an approval, or the answer to a server's question, in the
// private chat of the person who asked, and says so in the task's chat.
func (p *Presenter) askPrivately(ctx context.Context, v *tasks.View, a planner.Action) error {
	about, slot := a.ID, cards.PrivateSlot+a.ID.String()
	switch {
	case !tasks.Decides(about) || p.chat.Private || tasks.OfProgram(v.Opening().From): // a program has no private chat
		return errNotPrivate
	case v.State.Slot(slot).Message != "":
	case !p.ps.rules.Load().Approvals.Private || v.State.Slot(a.ID.String()).Name != "":
		return errNotPrivate
	}
	to, err := p.privateChat(ctx, v)
	if err == nil {
		err = p.askIn(ctx, v, a, to, slot)
	}
	if errors.Is(err, bot.ErrGone) {
		p.ps.Log.InfoContext(ctx, "asking in private failed", "task", p.id, "cause", err)
		return errNotPrivate
	}
	if err != nil {
		return err
	}
	return p.announcePrivate(ctx, v, about)
}

// announcePrivate says in the task's chat that a question waits in private, once for
// each question.
func (p *Presenter) announcePrivate(ctx context.Context, v *tasks.View, about planner.ActionID) error {
	opening := v.Opening()
	d := bot.Draft{
		Kind: bot.KindNotice, Task: string(p.id), ReplyTo: opening.Message,
		Text: p.ps.Texts.Text(opening.Language, "approval.elsewhere", map[string]any{"Name": cards.PlainText(cards.NameOf(opening.From.Name, opening.From.Key()))}),
	}
	err := p.postPart(ctx, v, p.chat, fmt.Sprintf("told %d", about.Seq), d)
	if errors.Is(err, errUnsendable) { // the question waits even without the notice
		p.ps.Log.WarnContext(ctx, "notice not shown", "task", p.id, "cause", err)
		return nil
	}
	return err
}
