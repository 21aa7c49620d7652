package inbox

import (
	"context"
	"fmt"
	"slices"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/policy"
)

// Request is a message with all facts that handlers need about it. Handlers do not
// change it.
type Request struct {
	Message   bot.Message // with a cleaned text
	Rules     *Rules
	Lang      string
	Admin     bool       // the author is an admin
	MayAsk    bool       // the message may be a question; false only for some messages that are not addressed to the bot
	Ephemeral bool       // the chat's messages disappear
	Live      []LiveTask // live tasks of the conversation, oldest first
	Batch     *batch     // the effects of earlier messages of the same delivery
}

// LiveTask is a live task with its state.
type LiveTask struct {
	tasks.Live
	State planner.State
}

// liveIn lists the live tasks of a conversation, oldest first. Damaged tasks are
// left out.
func (in *Inbox) liveIn(ctx context.Context, conversation string) ([]LiveTask, error) {
	list, err := in.Store.Live(ctx, conversation)
	if err != nil {
		return nil, fmt.Errorf("listing tasks: %w", err)
	}
	return in.WithStates(ctx, list)
}

// WithStates reads the states of live tasks. It leaves out a task whose journal is
// damaged or deleted.
func (in *Inbox) WithStates(ctx context.Context, list []tasks.Live) ([]LiveTask, error) {
	out := make([]LiveTask, 0, len(list))
	for _, l := range list {
		s, ok, err := stateOf(ctx, in, l.Task)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, LiveTask{l, s})
		}
	}
	return out, nil
}

// stateOf reads the state of a task; ok is false when its journal is damaged or gone.
func stateOf(ctx context.Context, in *Inbox, id tasks.ID) (s planner.State, ok bool, err error) {
	s, err = in.Store.State(ctx, id)
	if tasks.Unreadable(err) {
		return s, false, nil
	}
	if err != nil {
		return s, false, fmt.Errorf("reading task %s: %w", id, err)
	}
	return s, true, nil
}

// openingOf reads the opening of a task with the whole question; nil when its journal is damaged or gone.
func openingOf(ctx context.Context, in *Inbox, id tasks.ID) (*planner.Opening, error) {
	o, err := tasks.OpeningOf(ctx, in.Store, id)
	if tasks.Unreadable(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading task %s: %w", id, err)
	}
	return o, nil
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

// Steers reports whether the message's author may steer a task.
func (r *Request) Steers(t LiveTask) bool {
	return policy.MaySteer(r.Admin, r.Message.From.Key(), t.From.Key())
}

// Stoppable lists the tasks that a stop command ends. If the command replies to a
// message of a task, that is this task alone. Otherwise it is each running task of
// the author in the conversation, including tasks that the current batch opens. An
// admin in a thread stops all tasks of the thread.
func (r *Request) Stoppable() []tasks.ID {
	var ids []tasks.ID
	for _, t := range r.Live {
		if t.State.Settled() {
			continue
		}
		if t.sent(r.Message.ReplyTo) && r.Steers(t) {
			return []tasks.ID{t.Task}
		}
		if t.From.Key() == r.Message.From.Key() || r.Admin && r.Message.InThread {
			ids = append(ids, t.Task)
		}
	}
	for _, t := range r.Batch.questionsOf(r.Message) {
		if !slices.Contains(ids, t.id) {
			ids = append(ids, t.id)
		}
	}
	return ids
}

// batch remembers the tasks to which the questions of the current delivery go.
type batch struct {
	questions  map[authorInChat][]askedTask
	messages   map[tasks.ID]int    // number of messages that went to a task so far
	newTasks   map[tasks.ID]string // conversations of the tasks that the batch opens
	newPerChat map[string]int
}

// authorInChat is a person in a conversation.
type authorInChat struct{ from, chat string }

// askedTask is a task that received a message.
type askedTask struct {
	id    tasks.ID
	until time.Time // see partsUntil
	part  int       // number of the message among the parts of the question; 0: it is guidance
}

func newBatch() *batch {
	return &batch{questions: map[authorInChat][]askedTask{}, messages: map[tasks.ID]int{}, newTasks: map[tasks.ID]string{}, newPerChat: map[string]int{}}
}

// add records that a question goes to a task, which may be new.
func (r *batch) add(m bot.Message, to askedTask, opens bool) {
	who := authorInChat{m.From.Key(), m.Chat.Key()}
	r.questions[who] = append(r.questions[who], to)
	r.messages[to.id]++
	if opens {
		r.newTasks[to.id] = who.chat
		r.newPerChat[who.chat]++
	}
}

// drop removes the task that a message would have opened.
func (r *batch) drop(m bot.Message, id tasks.ID) {
	chat, known := r.newTasks[id]
	if !known {
		return
	}
	delete(r.newTasks, id)
	delete(r.messages, id)
	r.newPerChat[chat]--
	who := authorInChat{m.From.Key(), chat}
	r.questions[who] = slices.DeleteFunc(r.questions[who], func(o askedTask) bool { return o.id == id })
}

// newTasksIn is the number of tasks that the batch opens in a conversation, or in all
// conversations if chat is empty. The task except is not counted.
func (r *batch) newTasksIn(chat string, except tasks.ID) int {
	n := len(r.newTasks)
	if chat != "" {
		n = r.newPerChat[chat]
	}
	if at, known := r.newTasks[except]; known && (chat == "" || chat == at) {
		n--
	}
	return n
}

// questionsOf returns the tasks of a message's author in its chat, oldest first.
func (r *batch) questionsOf(m bot.Message) []askedTask {
	return r.questions[authorInChat{m.From.Key(), m.Chat.Key()}]
}
