package presenter

import (
	"context"
	"errors"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
)

// People are reminded of a question when it has waited for remindAfter, unless it
// expires within remindBefore then.
const (
	remindAfter  = 24 * time.Hour
	remindBefore = time.Hour
)

// RemindAt returns when people are to be reminded of a question that was asked; zero
// for never. Questions without an expiry time have no reminder.
func (q *asker) RemindAt(v *tasks.View, a planner.Action) time.Time {
	expires := planner.ExpiryOf(v.State, a)
	if a.Kind != planner.KindAsk || expires.IsZero() || q.isHeadless() || q.reminded(v, a) {
		return time.Time{}
	}
	at, latest := v.Event(a.ID.Seq).At.Add(remindAfter), expires.Add(-remindBefore)
	if !at.Before(latest) || !q.ps.Now().Before(latest) {
		return time.Time{}
	}
	return at
}

// reminded reports that people were reminded of a question, or that its card is not in
// the chat. Where messages do not last, an intended reminder counts as sent.
func (q *asker) reminded(v *tasks.View, a planner.Action) bool {
	if !q.Lasts() {
		return v.State.Slot(cards.ReminderSlot(a.ID, false)).Name != ""
	}
	card, private := cardOf(v, a)
	return card == "" || v.State.Slot(cards.ReminderSlot(a.ID, private)).Message != ""
}

// cardOf returns the message that asks a question, and whether it is in the private
// chat of the person who asked; empty when there is none.
func cardOf(v *tasks.View, a planner.Action) (message string, private bool) {
	if message = v.State.Slot(cards.PrivateSlot + a.ID.String()).Message; message != "" {
		return message, true
	}
	return v.State.Slot(a.ID.String()).Message, false
}

// Remind reminds people once of a question that waits, in a reply to its card. It
// leaves out a reminder that the chat can never show.
func (q *asker) Remind(ctx context.Context, v *tasks.View, a planner.Action) (err error) {
	defer tasks.Catch(&err)
	d := q.card(v).Reminder(a)
	if q.Lasts() {
		err = q.remindOnce(ctx, v, a, d)
	} else if err = q.recordSendStarted(ctx, cards.ReminderSlot(a.ID, false)); err == nil {
		_, err = q.platform.Post(ctx, q.chat, d)
	}
	switch {
	case err == nil || tasks.Superseded(err):
		return nil
	case errors.Is(err, bot.ErrGone) || !q.Lasts():
		q.ps.Log.InfoContext(ctx, "reminder not shown", "task", q.id, "cause", err)
		return nil
	}
	return err
}

// remindOnce sends a reminder where messages last, and records its message.
func (q *asker) remindOnce(ctx context.Context, v *tasks.View, a planner.Action, d bot.Draft) (err error) {
	to := q.chat
	card, private := cardOf(v, a)
	if private {
		if to, err = q.privateChat(ctx, v); err != nil {
			return err
		}
	}
	d.ReplyTo = card
	return q.postPart(ctx, v, to, cards.ReminderSlot(a.ID, private), d)
}
