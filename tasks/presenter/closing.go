package presenter

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
)

// closeTries is how often frames try to close the message of a question that is
// over.
const closeTries = 5

// closeQuestions removes the buttons from questions that are over and shows how they
// ended. With one try it leaves a failure to the next frames; with more tries, which
// is for the end of the task, it repeats each edit so often. A message that stays
// open does no harm: the inbox refuses a late press.
func (p *Presenter) closeQuestions(ctx context.Context, v *tasks.View, tries int) {
	if !p.platform.Limits().Edits {
		return
	}
	open := map[planner.ActionID]bool{}
	for _, a := range planner.Todo(v.State) {
		open[a.ID] = true
	}
	if !p.Lasts() {
		p.closeEphemeral(ctx, v, open)
		return
	}
	for _, slot := range v.State.Slots {
		asked := cards.ReadAskSlot(slot.Name)
		if asked.Action.Kind != planner.KindAsk || slot.Message == cards.SettledWords || open[asked.Action] || p.closed[slot.Name] {
			continue
		}
		if tries == 1 && p.closeFailures[slot.Name] >= closeTries {
			continue
		}
		message := slot.Message
		if message == "" {
			message = p.findUnrecorded(ctx, v, asked.Private, slot.Name)
		}
		if message == "" {
			p.closeFailures[slot.Name]++
			continue
		}
		err := p.closeQuestion(ctx, v, asked, message, tries)
		if ctx.Err() != nil {
			return
		}
		if p.closed[slot.Name] = err == nil; err != nil {
			p.closeFailures[slot.Name]++
			tries = 1 // the chat may be down: try the other messages once only
			p.ps.Log.WarnContext(ctx, "question not closed", "task", p.id, "cause", err)
		}
	}
}

// findUnrecorded finds the message of a question that is over and has no stored id,
// because the process was killed between sending the message and storing the id;
// empty for none.
func (p *Presenter) findUnrecorded(ctx context.Context, v *tasks.View, private bool, slot string) string {
	to := p.chat
	if private && p.mayBeSent(slot) {
		var err error
		if to, err = p.privateChat(ctx, v); err != nil {
			return ""
		}
	}
	return p.find(ctx, to, slot, cards.MarkOf(p.id, slot))
}

// ephemeralQuestion is the message of a question in a chat whose messages do not
// last, and the last event when it was asked.
type ephemeralQuestion struct {
	id  string
	seq int
}

// closeEphemeral shows how questions ended, in a chat whose messages do not last. It
// skips a question that was asked after v was read, since v cannot say whether it is
// open.
func (p *Presenter) closeEphemeral(ctx context.Context, v *tasks.View, open map[planner.ActionID]bool) {
	p.mu.Lock()
	over := map[planner.ActionID]string{}
	for action, asked := range p.ephemeral {
		if !open[action] && v.State.Seq >= asked.seq {
			over[action] = asked.id
			delete(p.ephemeral, action)
		}
	}
	p.mu.Unlock()
	for _, action := range slices.SortedFunc(maps.Keys(over), func(a, b planner.ActionID) int { return cmp.Compare(a.Seq, b.Seq) }) {
		d := bot.Draft{Kind: bot.KindNotice, Task: string(p.id), Text: cards.OutcomeOf(v, p.ps.Texts, v.Opening().Language, action)}
		if err := p.platform.Edit(ctx, p.chat, over[action], d); err != nil && ctx.Err() == nil {
			p.ps.Log.WarnContext(ctx, "question not closed", "task", p.id, "cause", err)
		}
	}
}

// closeQuestion edits one message to show how its question ended. It ignores a
// message that was deleted or moved.
func (p *Presenter) closeQuestion(ctx context.Context, v *tasks.View, asked cards.AskSlot, message string, tries int) error {
	to, d := p.chat, bot.Draft{Kind: bot.KindNotice, Task: string(p.id)}
	if asked.Words {
		d.Text = p.ps.Texts.Text(v.Opening().Language, "form.words_over", map[string]any{"Server": cards.InCode(v.Event(asked.Action.Seq).Question.Server)})
	} else {
		d.Text = p.card(v).Decision(asked.Action)
	}
	if asked.Private {
		var err error
		if to, err = p.privateChat(ctx, v); err != nil {
			return err
		}
	} else {
		d.ReplyTo = v.Opening().Message
	}
	err := p.edit(ctx, to, message, d, tries)
	var moved *bot.MovedError
	if errors.As(err, &moved) || errors.Is(err, bot.ErrGone) {
		return nil
	}
	return err
}

// closeIfOver closes a question's message if the question is over when the id of the
// message becomes known: the task was stopped while the message was being sent, or
// somebody pressed a button of a message that an earlier process sent. It continues
// after ctx ends, because the task no longer wants the action that asks.
func (p *Presenter) closeIfOver(ctx context.Context, slot, message string) {
	asked := cards.ReadAskSlot(slot)
	if asked.Action.Kind != planner.KindAsk {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	state, err := p.ps.Store.State(ctx, p.id)
	if tasks.OpenAsk(state, asked.Action) {
		return
	}
	v := tasks.NewView(p.ps.Store, p.id)
	if err == nil {
		err = v.Refresh(ctx)
	}
	if err == nil {
		err = p.closeQuestion(ctx, v, asked, message, closeTries)
	}
	if err != nil {
		p.ps.Log.WarnContext(ctx, "question not closed", "task", p.id, "cause", err)
	}
}

// closeTimeout is how long closing a message may take when no action waits for it.
const closeTimeout = 10 * time.Second
