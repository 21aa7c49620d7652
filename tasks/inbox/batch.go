package inbox

import (
	"slices"
	"time"

	"legwork/bot"
	"legwork/tasks"
)

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
