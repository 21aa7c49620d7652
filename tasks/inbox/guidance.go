package inbox

import (
	"context"
	"slices"
	"strconv"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
)

// questionPartGap is the time after a message within which a further message of the
// same person is a part of the same question. Some platforms send times in whole
// seconds.
const questionPartGap = time.Second

// fullPartGap takes its place after a message of almost the greatest length (bot.Message,
// Full): the client has cut a long text, and sends the next piece when this one is sent.
const fullPartGap = 5 * time.Second

// partsUntil is the time until which a message counts as a part of the same question as
// m, which was sent at a given time.
func partsUntil(m bot.Message, sent time.Time) time.Time {
	if m.Full {
		return sent.Add(fullPartGap)
	}
	return sent.Add(questionPartGap)
}

// follows reports whether a message that was sent at a given time is a part of a
// question. It may be somewhat older than the part before it.
func follows(until, sent time.Time) bool {
	return !until.IsZero() && !sent.After(until) && until.Sub(sent) <= questionPartGap+fullPartGap
}

// plainReplyTime is the time within which a plain message belongs to an open plan,
// question or prompt of its conversation. A reply to the message belongs to it at
// any time.
const plainReplyTime = time.Hour

// destination is where a message goes; zero: it is a question of its own.
type destination struct {
	task   tasks.ID
	part   int  // its number among the parts of the task's question, from 2 on; 0: it is guidance
	silent bool // guidance that belongs to a message before: nothing is said about it
}

// destination finds the task that a plain message belongs to. These are, in this order:
// the task whose message it replies to; the task of the message that its author sent
// just before; a task with a plan, in the task's own thread, or in a private chat if the
// author opened it.
func (r *Request) destination(sent, now time.Time) destination {
	m := r.Message
	for _, t := range r.Live {
		if !t.State.Settled() && t.sent(m.ReplyTo) && r.Steers(t) {
			return destination{task: t.Task}
		}
	}
	for _, t := range slices.Backward(r.Batch.questionsOf(m)) {
		if !follows(t.until, sent) {
			continue
		}
		if t.part > 0 && t.part < r.partsOf(t.id) {
			return destination{task: t.id, part: t.part + 1}
		}
		return destination{task: t.id, silent: true}
	}
	for _, t := range slices.Backward(r.Live) {
		own := t.From.Key() == m.From.Key()
		near := m.InThread && r.Admin
		if !own && !near {
			continue
		}
		if own && t.State.Wordless && now.Sub(t.State.Last) <= plainReplyTime && planner.Takes(t.State, joins(m)) {
			return destination{task: t.Task, part: len(t.State.Parts) + 2} // files are waiting for these words
		}
		if own && follows(t.State.PartsUntil, sent) {
			part := len(t.State.Parts) + 2
			switch {
			case planner.Takes(t.State, joins(m)):
				return destination{task: t.Task, part: part}
			case part > t.State.Limits.Parts && !t.State.Settled():
				return destination{task: t.Task, silent: true}
			}
		}
		if t.State.Round > 0 && !t.State.Settled() && (m.Chat.Private && own && !t.planExpired(now) || m.InThread) {
			return destination{task: t.Task}
		}
	}
	return destination{}
}

// joins is the event of a message that becomes a part of a question.
func joins(m bot.Message) planner.Event {
	return planner.Event{Type: planner.Joined, Text: m.Text, Earlier: m.Earlier, Files: m.Files}
}

// partsOf is the number of messages that a task's question may have.
func (r *Request) partsOf(id tasks.ID) int {
	if t, ok := r.Task(id); ok {
		return t.State.Limits.Parts
	}
	return r.Rules.Limits.Parts
}

// planExpired reports whether a plan was shown long ago and its person did nothing
// about it. A new message is then about something else.
func (t LiveTask) planExpired(now time.Time) bool {
	return t.State.Phase == planner.PhaseProposed && now.Sub(t.State.Last) > plainReplyTime
}

// sent reports whether the task sent the message of that id. The question for whom words
// are does not count: a reply to it says no more than the words.
func (t LiveTask) sent(message string) bool {
	return message != "" && slices.ContainsFunc(t.State.Slots, func(s planner.Slot) bool { return s.Message == message && !cards.ReadAskSlot(s.Name).Words })
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
	s.Audience, s.Adds = ToChat, true
	if receipt.Seq > 0 {
		rest := ":" + string(receipt.Task) + ":" + strconv.Itoa(receipt.Seq)
		s.Buttons = []bot.Button{
			in.Button(r.Lang, "button.separate", pressAskSeparately+rest),
			in.Button(r.Lang, "button.undo", pressRemoveGuidance+rest),
		}
	}
	return s
}
