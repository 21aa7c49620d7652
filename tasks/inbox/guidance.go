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

// burst is how long after a question a further message of the same person is
// taken for a part of it.
const burst = time.Second

// prompt is how long ago a message was sent at most that is taken for a part
// of a question which came just before it: those of an outage come all at once.
const prompt = 10 * time.Second

// planFresh is how long plain words in a private chat belong to a plan that waits
// for Run; a reply to it does at any time.
const planFresh = time.Hour

// guides finds the running task that a plain message is guidance for: one to whose
// messages it replies, one that its author opened within the last second, one
// that works by a plan in the message's own thread or, if it is its author's,
// in a private chat. continues says that the message is a further piece of a
// question that came in several.
func (r *Request) guides(sent, now time.Time) (task tasks.ID, continues bool) {
	m := r.Message
	for _, t := range r.Live {
		if !t.State.Settled() && t.speaks(m.ReplyTo) && r.Steers(t) {
			return t.Task, false
		}
	}
	for _, t := range slices.Backward(r.Batch.of(m)) {
		if sent.Sub(t.at) <= burst { // some platforms tell whole seconds only
			_, before := r.Task(t.id) // then what the batch at hand has of it was added
			return t.id, before || r.Batch.pieces[t.id] > 1
		}
	}
	for _, t := range slices.Backward(r.Live) {
		own := t.From.Key() == m.From.Key()
		near := m.InThread && r.Admin
		if t.State.Settled() || !own && !near {
			continue
		}
		if own && t.State.Round == 0 && now.Sub(t.lastSaid()) < burst && now.Sub(sent) < prompt {
			return t.Task, len(t.State.Guidance) > 0
		}
		if t.State.Round > 0 && (m.Chat.Private && own && !t.shelved(now) || m.InThread) {
			return t.Task, false
		}
	}
	return "", false
}

// shelved reports that a plan was shown long ago and its person did nothing
// about it: what they write next is about something else.
func (t LiveTask) shelved(now time.Time) bool {
	return t.State.Phase == planner.PhaseProposed && now.Sub(t.State.Last) > planFresh
}

// lastSaid is when the newest part of a question that is not decided came, or
// something that happened to the task since.
func (t LiveTask) lastSaid() time.Time {
	if len(t.State.Guidance) > 0 {
		return t.State.Last
	}
	return t.State.Opened
}

// speaks reports that the task sent the message of that id.
func (t LiveTask) speaks(message string) bool {
	return message != "" && slices.ContainsFunc(t.State.Slots, func(s planner.Slot) bool { return s.Message == message })
}

// mayAsk decides whether a message that is not addressed to the bot can be a
// question to it all the same: its author has a task running here, or asked last
// in this conversation.
func mayAsk(ctx context.Context, in *Inbox, r *Request) (bool, error) {
	author := r.Message.From.Key()
	if len(r.Batch.of(r.Message)) > 0 || slices.ContainsFunc(r.Live, func(t LiveTask) bool { return t.From.Key() == author }) {
		return true, nil
	}
	turns, err := in.Store.History(ctx, r.Message.Chat.Key(), "", lastTurnBytes)
	if err != nil || len(turns) == 0 {
		return false, err
	}
	first, err := in.Store.Event(ctx, turns[len(turns)-1].Task, 1)
	return err == nil && first.Opening != nil && first.Opening.From.Key() == author, nil
}

// lastTurnBytes is enough of the history to hold its newest turn, shortened.
const lastTurnBytes = 64

// What the buttons under "Added to the running task" begin with; the task's id
// and the seq of the guidance follow.
const (
	pressUndo     = "u"
	pressSeparate = "x"
)

// added says that a message was added to a running task, and what can be done
// about it.
func added(in *Inbox, r *Request, to tasks.ID, receipt tasks.Receipt) Notice {
	if to == "" || receipt.Opened || receipt.Err != nil {
		return Notice{}
	}
	s := in.Notice(r, "notice.added", nil)
	s.Audience = ToChat
	if receipt.Seq > 0 {
		rest := ":" + string(receipt.Task) + ":" + strconv.Itoa(receipt.Seq)
		s.Buttons = []bot.Button{
			in.Button(r.Lang, "button.separate", pressSeparate+rest),
			in.Button(r.Lang, "button.undo", pressUndo+rest),
		}
	}
	return s
}
