package presenter

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
)

// closeTries is how often the frames of a task try to close the message of a
// question that is over.
const closeTries = 5

// closeQuestions takes the buttons off questions that are over and says how
// they were decided. What fails is tried again with the next frames, and at the
// end, when tries is more than 1, so often; left after that, since a late press
// is refused anyway.
func (p *Presenter) closeQuestions(ctx context.Context, v *tasks.View, tries int) {
	if !p.platform.Limits().Edits {
		return
	}
	open := map[planner.ActionID]bool{}
	for _, a := range planner.Todo(v.State) {
		open[a.ID] = true
	}
	if !p.lasting() {
		p.closeEphemeral(ctx, v, open)
		return
	}
	for _, slot := range v.State.Slots {
		action, private := askOfSlot(slot.Name)
		if action.Kind != planner.KindAsk || open[action] || p.closed[slot.Name] {
			continue
		}
		if tries == 1 && p.closeFailures[slot.Name] >= closeTries {
			continue
		}
		message := slot.Message
		if message == "" {
			message = p.findUnrecorded(ctx, v, private, slot.Name)
		}
		if message == "" {
			p.closeFailures[slot.Name]++
			continue
		}
		err := p.closeQuestion(ctx, v, private, action, message, tries)
		if ctx.Err() != nil {
			return
		}
		if p.closed[slot.Name] = err == nil; err != nil {
			p.closeFailures[slot.Name]++
			tries = 1 // the chat may be down: the others need not wait as long
			p.ps.Log.WarnContext(ctx, "closing question's message failed", "task", p.id, "cause", err)
		}
	}
}

// askOfSlot is the ask action whose message a slot is, and whether that is asked
// in private; the zero value when the slot is another message.
func askOfSlot(slot string) (action planner.ActionID, private bool) {
	name, private := strings.CutPrefix(slot, cards.Privately)
	action, err := planner.ParseActionID(name)
	if err != nil || action.Kind != planner.KindAsk {
		return planner.ActionID{}, false
	}
	return action, private
}

// findUnrecorded finds the message of a question that is over and whose id is not known,
// since a kill fell between its sending and that; empty when there is none.
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

// ephemeralQuestion is the message of a question that does not last, and the last event that
// was known when it was asked.
type ephemeralQuestion struct {
	id  string
	seq int
}

// closeEphemeral says of questions that are over how they ended, where they do
// not last. One that was asked since the view was read is not over for that.
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
			p.ps.Log.WarnContext(ctx, "closing question's message failed", "task", p.id, "cause", err)
		}
	}
}

// closeQuestion brings one message to what stays of its question. One that is
// gone needs nothing more.
func (p *Presenter) closeQuestion(ctx context.Context, v *tasks.View, private bool, action planner.ActionID, message string, tries int) error {
	to, d := p.chat, bot.Draft{Kind: bot.KindNotice, Task: string(p.id), Text: p.card(v).Decision(action)}
	if private {
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

// closeIfOver closes a question's message that became known when the question
// was over: the task was stopped while it was on its way, or a button was
// pressed under the message of an earlier life. It outlives the action that
// asks, which is not wanted any more.
func (p *Presenter) closeIfOver(ctx context.Context, slot, message string) {
	action, private := askOfSlot(slot)
	if action.Kind != planner.KindAsk {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	state, err := p.ps.Store.State(ctx, p.id)
	if tasks.OpenAsk(state, action) {
		return
	}
	v := tasks.NewView(p.ps.Store, p.id)
	if err == nil {
		err = v.Refresh(ctx)
	}
	if err == nil {
		err = p.closeQuestion(ctx, v, private, action, message, closeTries)
	}
	if err != nil {
		p.ps.Log.WarnContext(ctx, "closing question's message failed", "task", p.id, "cause", err)
	}
}

// closeTimeout is how long closing a message may take when no action waits for it.
const closeTimeout = 10 * time.Second
