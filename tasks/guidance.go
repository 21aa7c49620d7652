package tasks

import (
	"context"
	"slices"
	"strconv"
	"time"

	"legwork/bot"
	"legwork/planner"
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

// guided finds the running task that a plain message speaks to: one to whose
// messages it replies, one that its author opened within the last second, one
// that works by a plan in the message's own thread or, if it is its author's,
// in a private chat.
func (r *routed) guided(sent, now time.Time) ID {
	m := r.message
	for _, t := range r.live {
		if !t.state.Settled() && t.speaks(m.ReplyTo) && r.steers(t) {
			return t.Task
		}
	}
	for _, t := range slices.Backward(r.fresh.of(m)) {
		if sent.Sub(t.at) <= burst { // some platforms tell whole seconds only
			_, before := r.find(t.id) // then what the batch at hand has of it was added
			r.pasted = before || r.fresh.pieces[t.id] > 1
			return t.id
		}
	}
	for _, t := range slices.Backward(r.live) {
		own := t.From.Key() == m.From.Key()
		near := m.InThread && r.admin
		if t.state.Settled() || !own && !near {
			continue
		}
		if own && t.state.Round == 0 && now.Sub(t.lastSaid()) < burst && now.Sub(sent) < prompt {
			r.pasted = len(t.state.Heard) > 0
			return t.Task
		}
		if t.state.Round > 0 && (m.Chat.Private && own && !t.shelved(now) || m.InThread) {
			return t.Task
		}
	}
	return ""
}

// shelved reports that a plan was shown long ago and its person did nothing
// about it: what they write next is about something else.
func (t liveTask) shelved(now time.Time) bool {
	return t.state.Phase == planner.PhaseProposed && now.Sub(t.state.Last) > planFresh
}

// lastSaid is when the newest part of a question that is not decided came, or
// something that happened to the task since.
func (t liveTask) lastSaid() time.Time {
	if len(t.state.Heard) > 0 {
		return t.state.Last
	}
	return t.state.Opened
}

// speaks reports that the task sent the message of that id.
func (t liveTask) speaks(message string) bool {
	return message != "" && slices.ContainsFunc(t.state.Slots, func(s planner.Slot) bool { return s.Message == message })
}

// meant decides whether a message that is not addressed to the bot speaks to it
// all the same: its author has a task running here, may steer one as an admin,
// or asked last in this conversation. It notes who may ask on.
func (in *Inbox) meant(ctx context.Context, r *routed) (bool, error) {
	running := false
	r.asker = len(r.fresh.of(r.message)) > 0
	for _, t := range r.live {
		running = running || !t.state.Settled()
		r.asker = r.asker || t.From.Key() == r.message.From.Key()
	}
	if r.asker {
		return true, nil
	}
	turns, err := in.Store.History(ctx, r.message.Chat.Key(), "", lastTurnBytes)
	if err != nil || len(turns) == 0 {
		return running && r.admin, err
	}
	first, err := in.Store.Event(ctx, turns[len(turns)-1].Task, 1)
	r.asker = err == nil && first.Opening != nil && first.Opening.From.Key() == r.message.From.Key()
	return r.asker || running && r.admin, nil
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
// about it. Of a long text that an app sent in pieces, it is said once.
func (in *Inbox) added(r routed, to ID, receipt Receipt) said {
	if to == "" || receipt.Opened || receipt.Err != nil || r.pasted {
		return said{}
	}
	s := in.sentence(r, "notice.added", nil)
	s.aloud = true
	if receipt.Seq > 0 {
		rest := ":" + string(receipt.Task) + ":" + strconv.Itoa(receipt.Seq)
		s.buttons = []bot.Button{
			in.button(r.lang, "button.separate", pressSeparate+rest),
			in.button(r.lang, "button.undo", pressUndo+rest),
		}
	}
	return s
}
