package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/policy"
)

// Request is a message with what is known about it before a handler sees it.
// Handlers read it and change nothing in it.
type Request struct {
	Message   bot.Message // its text made clean
	Rules     *Rules
	Lang      string
	Admin     bool       // its author is one
	MayAsk    bool       // its author may ask a question with it; false only for some messages that are not addressed to the bot
	Ephemeral bool       // its chat's messages do not last
	Live      []LiveTask // of its conversation, oldest first
	Batch     *batch     // what the messages before it in the same delivery do
}

// LiveTask is a live task with its state.
type LiveTask struct {
	tasks.Live
	State planner.State
}

// liveIn lists the live tasks of a conversation, oldest first. A damaged one is
// left out.
func (in *Inbox) liveIn(ctx context.Context, conversation string) ([]LiveTask, error) {
	list, err := in.Store.Live(ctx, conversation)
	if err != nil {
		return nil, fmt.Errorf("listing tasks: %w", err)
	}
	return in.WithStates(ctx, list)
}

// WithStates reads the states of live tasks. A task whose journal is damaged or
// gone is left out.
func (in *Inbox) WithStates(ctx context.Context, list []tasks.Live) ([]LiveTask, error) {
	out := make([]LiveTask, 0, len(list))
	for _, l := range list {
		s, err := in.Store.State(ctx, l.Task)
		if errors.Is(err, tasks.ErrDamaged) || errors.Is(err, tasks.ErrNoTask) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading task %s: %w", l.Task, err)
		}
		out = append(out, LiveTask{l, s})
	}
	return out, nil
}

// Task returns the live task of that id.
func (r *Request) Task(id tasks.ID) (LiveTask, bool) {
	for _, t := range r.Live {
		if t.Task == id {
			return t, true
		}
	}
	return LiveTask{}, false
}

// Steers reports that the message's author may steer a task.
func (r *Request) Steers(t LiveTask) bool {
	return policy.MaySteer(r.Admin, r.Message.From.Key(), t.From.Key())
}

// Stoppable lists the task to whose message a stop replies, otherwise every one
// that the person has running in the conversation, also those that the batch
// at hand opens.
func (r *Request) Stoppable() []tasks.ID {
	var ids []tasks.ID
	for _, t := range r.Live {
		if t.State.Settled() {
			continue
		}
		if t.speaks(r.Message.ReplyTo) && r.Steers(t) {
			return []tasks.ID{t.Task}
		}
		if t.From.Key() == r.Message.From.Key() || r.Admin && r.Message.InThread {
			ids = append(ids, t.Task)
		}
	}
	for _, t := range r.Batch.of(r.Message) {
		if !slices.Contains(ids, t.id) {
			ids = append(ids, t.id)
		}
	}
	return ids
}

// batch remembers the tasks that the questions of the batch at hand go to.
type batch struct {
	said   map[speaker][]opened
	pieces map[tasks.ID]int    // messages that went to a task so far
	new    map[tasks.ID]string // tasks that the batch opens, with their conversation
	counts map[string]int
}

// speaker is somebody in a conversation.
type speaker struct{ from, chat string }

// opened is a task that a question went to.
type opened struct {
	id tasks.ID
	at time.Time // when the question was sent
}

func newBatch() *batch {
	return &batch{said: map[speaker][]opened{}, pieces: map[tasks.ID]int{}, new: map[tasks.ID]string{}, counts: map[string]int{}}
}

// add notes that a question goes to a task, which may be one that it opens.
func (r *batch) add(m bot.Message, id tasks.ID, opens bool, at time.Time) {
	who := speaker{m.From.Key(), m.Chat.Key()}
	r.said[who] = append(r.said[who], opened{id, at})
	r.pieces[id]++
	if opens {
		r.new[id] = who.chat
		r.counts[who.chat]++
	}
}

// drop forgets the task that a message opens, since it does not after all.
func (r *batch) drop(m bot.Message, id tasks.ID) {
	chat, known := r.new[id]
	if !known {
		return
	}
	delete(r.new, id)
	delete(r.pieces, id)
	r.counts[chat]--
	who := speaker{m.From.Key(), chat}
	r.said[who] = slices.DeleteFunc(r.said[who], func(o opened) bool { return o.id == id })
}

// opened is how many tasks the batch opens in a conversation, or in all of them
// when none is named; except is not counted.
func (r *batch) opened(chat string, except tasks.ID) int {
	n := len(r.new)
	if chat != "" {
		n = r.counts[chat]
	}
	if at, known := r.new[except]; known && (chat == "" || chat == at) {
		n--
	}
	return n
}

// of returns those of a message's author in its chat, oldest first.
func (r *batch) of(m bot.Message) []opened { return r.said[speaker{m.From.Key(), m.Chat.Key()}] }
