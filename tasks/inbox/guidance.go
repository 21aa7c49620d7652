package inbox

import (
	"context"
	"slices"
	"strconv"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
)

// questionPartGap is the time after a question within which a further message of the same
// person counts as a part of it.
const questionPartGap = time.Second

// questionPartMaxAge is the maximum age of a message that counts as a part of an earlier
// question by the time of delivery. Messages from before an outage are older: they
// arrive all at once and are questions of their own.
const questionPartMaxAge = 10 * time.Second

// plainReplyTime is the time within which a plain message belongs to an open plan,
// question or prompt of its conversation. A reply to the message belongs to it at
// any time.
const plainReplyTime = time.Hour

// guidedTask finds the running task that a plain message is guidance for. These are,
// in this order: the task whose message it replies to; a task that its author
// opened within the last second; a task with a plan, in the task's own thread, or
// in a private chat if the author opened it. continues reports that the message is
// a further part of a question that was sent in several messages: the decision is
// made again with it, and nothing is said about it.
func (r *Request) guidedTask(sent, now time.Time) (task tasks.ID, continues bool) {
	m := r.Message
	for _, t := range r.Live {
		if !t.State.Settled() && t.sent(m.ReplyTo) && r.Steers(t) {
			return t.Task, false
		}
	}
	for _, t := range slices.Backward(r.Batch.questionsOf(m)) {
		if sent.Sub(t.at) <= questionPartGap { // some platforms send times in whole seconds
			return t.id, true
		}
	}
	for _, t := range slices.Backward(r.Live) {
		own := t.From.Key() == m.From.Key()
		near := m.InThread && r.Admin
		if t.State.Settled() || !own && !near {
			continue
		}
		if own && t.State.Round == 0 && now.Sub(t.lastPart()) < questionPartGap && now.Sub(sent) < questionPartMaxAge {
			return t.Task, true
		}
		if t.State.Round > 0 && (m.Chat.Private && own && !t.planExpired(now) || m.InThread) {
			return t.Task, false
		}
	}
	return "", false
}

// planExpired reports whether a plan was shown long ago and its person did nothing
// about it. A new message is then about something else.
func (t LiveTask) planExpired(now time.Time) bool {
	return t.State.Phase == planner.PhaseProposed && now.Sub(t.State.Last) > plainReplyTime
}

// lastPart is the time of the last event of a task that has guidance, or else the
// time when the task was opened.
func (t LiveTask) lastPart() time.Time {
	if len(t.State.Guidance) > 0 {
		return t.State.Last
	}
	return t.State.Opened
}

// sent reports whether the task sent the message of that id.
func (t LiveTask) sent(message string) bool {
	return message != "" && slices.ContainsFunc(t.State.Slots, func(s planner.Slot) bool { return s.Message == message })
}

// mayAsk reports whether a message that is not addressed to the bot may still be a
// question to it. That is so when its author has a live task in the conversation,
// or asked the last question there.
func mayAsk(ctx context.Context, in *Inbox, r *Request) (bool, error) {
	author := r.Message.From.Key()
	if len(r.Batch.questionsOf(r.Message)) > 0 || slices.ContainsFunc(r.Live, func(t LiveTask) bool { return t.From.Key() == author }) {
		return true, nil
	}
	turns, err := in.Store.History(ctx, r.Message.Chat.Key(), "", lastTurnBytes)
	if err != nil || len(turns) == 0 {
		return false, err
	}
	first, err := in.Store.Event(ctx, turns[len(turns)-1].Task, 1)
	return err == nil && first.Opening != nil && first.Opening.From.Key() == author, nil
}

// lastTurnBytes is the size of history that holds at least the newest turn,
// shortened.
const lastTurnBytes = 64

// Data of the buttons under "Added to the running task". The task's id and the seq
// of the guidance follow.
const (
	pressRemoveGuidance = "u"
	pressAskSeparately  = "x"
)

// addedNotice is the notice that a message was added to a running task, with buttons to
// undo that.
func addedNotice(in *Inbox, r *Request, to tasks.ID, receipt tasks.Receipt) Notice {
	if to == "" || receipt.Opened || receipt.Err != nil {
		return Notice{}
	}
	s := in.Notice(r, "notice.added", nil)
	s.Audience = ToChat
	if receipt.Seq > 0 {
		rest := ":" + string(receipt.Task) + ":" + strconv.Itoa(receipt.Seq)
		s.Buttons = []bot.Button{
			in.Button(r.Lang, "button.separate", pressAskSeparately+rest),
			in.Button(r.Lang, "button.undo", pressRemoveGuidance+rest),
		}
	}
	return s
}
