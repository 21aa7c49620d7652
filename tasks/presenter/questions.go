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

// Ask puts a question of the task to its chat, or where it is to be asked in
// private to the person's own. The answer comes by the inbox. Where the chat
// is gone no answer will come: the task is stopped, unless it is a program's,
// which others can answer.
func (p *Presenter) Ask(ctx context.Context, v *tasks.View, a planner.Action) error {
	if p.unseen() { // programs see it in the list of approvals
		return nil
	}
	if !p.lasting() {
		d := p.questionCard(ctx, v, p.chat).Question(a)
		id, err := p.post(ctx, &p.chat, a.ID.String(), &d, postTries)
		if err == nil && a.ID.Subject != planner.SubjectQuestion {
			p.mu.Lock()
			p.passing[a.ID] = passing{id, v.State.Seq}
			p.mu.Unlock()
		}
		return err
	}
	err := p.askPrivately(ctx, v, a)
	if errors.Is(err, errNotPrivate) {
		err = p.put(ctx, v, a, &p.chat, a.ID.String())
	}
	if errors.Is(err, bot.ErrGone) && p.quiet {
		p.ps.Log.WarnContext(ctx, "a question of a program's task cannot be asked in its chat", "task", p.id, "chat", p.chat.Key(), "cause", err)
		return nil
	}
	if errors.Is(err, bot.ErrGone) {
		p.ps.Log.WarnContext(ctx, "no person can be asked, the task ends", "task", p.id, "cause", err)
		return p.append(ctx, planner.Event{Type: planner.Stopped})
	}
	return err
}

// put asks in a chat, in as many messages as that takes; the last one has the
// buttons and the slot. A message that was sent before is not sent again.
func (p *Presenter) put(ctx context.Context, v *tasks.View, a planner.Action, to *bot.Chat, slot string) error {
	if v.State.Slot(slot).Message != "" {
		return nil
	}
	d := p.questionCard(ctx, v, *to).Question(a)
	err := p.putParts(ctx, v, to, slot, d)
	if d.File != nil && errors.Is(err, bot.ErrNoFiles) {
		err = p.putParts(ctx, v, to, slot, p.questionCard(ctx, v, *to).PlainQuestion(a))
	}
	return err
}

func (p *Presenter) putParts(ctx context.Context, v *tasks.View, to *bot.Chat, slot string, d bot.Draft) error {
	if to.Key() != p.chat.Key() {
		d.ReplyTo = "" // that message is in another chat
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
		if err := p.putPart(ctx, v, to, name, &parts[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *Presenter) putPart(ctx context.Context, v *tasks.View, to *bot.Chat, name string, part *bot.Draft) error {
	slot := v.State.Slot(name)
	if slot.Message != "" {
		return nil
	}
	if slot.Name == "" {
		if err := p.began(ctx, name); err != nil && !tasks.Superseded(err) { // begun by a try before this one
			return err
		}
	}
	part.Mark = cards.MarkOf(p.id, name)
	id, err := p.post(ctx, to, name, part, postTries)
	if err != nil {
		return err
	}
	err = p.shown(ctx, name, id, "", false)
	if err == nil {
		failpoint.Hit("keep.after.question")
	}
	if err == nil || tasks.Superseded(err) {
		p.closeLate(ctx, name, id)
	}
	return err
}
