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
func (q *asker) closeQuestions(ctx context.Context, v *tasks.View, tries int) {
	if !q.platform.Limits().Edits {
		return
	}
	open := map[planner.ActionID]bool{}
	for _, a := range planner.Todo(v.State) {
		open[a.ID] = true
	}
	if !q.Lasts() {
		q.closeEphemeral(ctx, v, open)
		return
	}
	for _, slot := range v.State.Slots {
		asked := cards.ReadAskSlot(slot.Name)
		if asked.Action.Kind != planner.KindAsk || slot.Message == cards.SettledWords || open[asked.Action] || q.closed[slot.Name] {
			continue
		}
		if tries == 1 && q.closeFailures[slot.Name] >= closeTries {
			continue
		}
		message := slot.Message
		if message == "" {
			message = q.findUnrecorded(ctx, v, asked.Private, slot.Name)
		}
		if message == "" {
			q.closeFailures[slot.Name]++
			continue
		}
		err := q.closeQuestion(ctx, v, asked, message, tries)
		if ctx.Err() != nil {
			return
		}
		if q.closed[slot.Name] = err == nil; err != nil {
			q.closeFailures[slot.Name]++
			tries = 1 // the chat may be down: try the other messages once only
			q.ps.Log.WarnContext(ctx, "question not closed", "task", q.id, "cause", err)
		}
	}
}

// findUnrecorded finds the message of a question that is over and has no stored id,
// because the process was killed between sending the message and storing the id;
// empty for none.
func (q *asker) findUnrecorded(ctx context.Context, v *tasks.View, private bool, slot string) string {
	to := q.chat
	if private && q.mayBeSent(slot) {
		var err error
		if to, err = q.privateChat(ctx, v); err != nil {
			return ""
		}
	}
	return q.find(ctx, to, slot, cards.MarkOf(q.id, slot))
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
func (q *asker) closeEphemeral(ctx context.Context, v *tasks.View, open map[planner.ActionID]bool) {
	q.ephemeralMu.Lock()
	over := map[planner.ActionID]string{}
	for action, asked := range q.ephemeral {
		if !open[action] && v.State.Seq >= asked.seq {
			over[action] = asked.id
			delete(q.ephemeral, action)
		}
	}
	q.ephemeralMu.Unlock()
	for _, action := range slices.SortedFunc(maps.Keys(over), func(a, b planner.ActionID) int { return cmp.Compare(a.Seq, b.Seq) }) {
		d := bot.Draft{Kind: bot.KindNotice, Task: string(q.id), Text: cards.OutcomeOf(v, q.ps.Texts, v.Opening().Language, action)}
		if err := q.platform.Edit(ctx, q.chat, over[action], d); err != nil && ctx.Err() == nil {
			q.ps.Log.WarnContext(ctx, "question not closed", "task", q.id, "cause", err)
		}
	}
}

// closeQuestion edits one message to show how its question ended. It ignores a
// message that was deleted or moved.
func (q *asker) closeQuestion(ctx context.Context, v *tasks.View, asked cards.AskSlot, message string, tries int) error {
	to, d := q.chat, bot.Draft{Kind: bot.KindNotice, Task: string(q.id)}
	if asked.Words {
		d.Text = q.ps.Texts.Text(v.Opening().Language, "form.words_over", map[string]any{"Server": cards.InCode(v.Event(asked.Action.Seq).Question.Server)})
	} else {
		d.Text = q.card(v).Decision(asked.Action)
	}
	if asked.Private {
		var err error
		if to, err = q.privateChat(ctx, v); err != nil {
			return err
		}
	} else {
		d.ReplyTo = v.Opening().Message
	}
	err := q.edit(ctx, to, message, d, tries)
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
func (q *asker) closeIfOver(ctx context.Context, slot, message string) {
	asked := cards.ReadAskSlot(slot)
	if asked.Action.Kind != planner.KindAsk {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	state, err := q.ps.Store.State(ctx, q.id)
	if tasks.OpenAsk(state, asked.Action) {
		return
	}
	v := tasks.NewView(q.ps.Store, q.id)
	if err == nil {
		err = v.Refresh(ctx)
	}
	if err == nil {
		err = q.closeQuestion(ctx, v, asked, message, closeTries)
	}
	if err != nil {
		q.ps.Log.WarnContext(ctx, "question not closed", "task", q.id, "cause", err)
	}
}

// closeTimeout is how long closing a message may take when no action waits for it.
const closeTimeout = 10 * time.Second
