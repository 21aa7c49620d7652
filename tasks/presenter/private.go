package presenter

import (
	"context"
	"errors"
	"fmt"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
)

// errNotPrivate says that a question belongs into the task's own chat.
var errNotPrivate = errors.New("it is not asked in private")

// askPrivately puts an approval, or a server's question, to the person of the
// task alone, and says so in the task's chat.
func (p *Presenter) askPrivately(ctx context.Context, v *tasks.View, a planner.Action) error {
	about, slot := a.ID, cards.Privately+a.ID.String()
	switch {
	case !tasks.Decides(about) || p.chat.Private || tasks.OfProgram(v.Opening().From): // it is not known who is behind one
		return errNotPrivate
	case v.State.Slot(slot).Message != "":
	case !p.ps.rules.Load().Approvals.Private || v.State.Slot(a.ID.String()).Name != "":
		return errNotPrivate
	}
	to, err := p.direct(ctx, v)
	if err == nil {
		err = p.put(ctx, v, a, &to, slot)
	}
	if errors.Is(err, bot.ErrGone) {
		p.ps.Log.InfoContext(ctx, "a person cannot be asked in private", "task", p.id, "cause", err)
		return errNotPrivate
	}
	if err != nil {
		return err
	}
	return p.tellPrivate(ctx, v, about)
}

// tellPrivate says in the task's chat, once for each question, that it waits in
// private.
func (p *Presenter) tellPrivate(ctx context.Context, v *tasks.View, about planner.ActionID) error {
	opening := v.Opening()
	d := bot.Draft{
		Kind: bot.KindNotice, Task: string(p.id), ReplyTo: opening.Message,
		Text: p.ps.Texts.Text(opening.Language, "approval.elsewhere", map[string]any{"Name": cards.PlainText(cards.NameOf(opening.From.Name, opening.From.Key()))}),
	}
	err := p.putPart(ctx, v, &p.chat, fmt.Sprintf("told %d", about.Seq), &d)
	if errors.Is(err, errUnsendable) { // it waits all the same
		p.ps.Log.WarnContext(ctx, "a notice could not be shown", "task", p.id, "cause", err)
		return nil
	}
	return err
}

// direct is the private chat of the task's person.
func (p *Presenter) direct(ctx context.Context, v *tasks.View) (bot.Chat, error) {
	director, ok := p.platform.(bot.Director)
	if !ok {
		return bot.Chat{}, errNotPrivate
	}
	chat, err := director.Direct(ctx, v.Opening().From.ID)
	if err != nil {
		return chat, fmt.Errorf("finding the private chat of who asked: %w", err)
	}
	return chat, nil
}
