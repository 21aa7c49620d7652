package engine

import (
	"container/heap"
	"sync"
	"sync/atomic"
	"time"

	"legwork/bot"
	"legwork/tasks"
	"legwork/tasks/presenter"
)

// dispatcher knows every live task and decides which of them have a runner: of
// each platform as many as may be in memory. Conversations take turns, and the
// tasks of one conversation start in the order of their arrival. A parked task
// counts for nothing: it waits for people, for the task before it, or for a time.
type dispatcher struct {
	inMemory int // tasks of one platform
	now      func() time.Time
	wake     chan struct{} // tells Engine.Run that the dispatcher has changed

	mu      sync.Mutex
	entries map[tasks.ID]*entry
	unread  []tasks.ID // woken; the dispatcher does not know their chats yet
	queues  map[string]*queue
	timers  timers
}

// entry is a live task. The dispatcher's mu guards it; while the task has a
// runner, the fields from live on belong to that goroutine.
type entry struct {
	id        tasks.ID
	chat      bot.Chat
	queue     *queue
	changed   chan struct{} // tells the runner that the task has changed; holds one
	stage     stage
	queuedAt  time.Time
	heapIndex int // among the timers; -1 for none

	wantsSlotSince atomic.Int64 // runner.waitingSince in Unix nanoseconds, for queueDelay; 0: it needs no slot

	live    bool // it was not over when the engine looked at it first
	resumed bool // it was live before this process
	parked  parked
}

// parked is what the engine remembers of a task without a runner.
type parked struct {
	until        time.Time // when it needs a runner; zero: when it changes
	queued       bool      // the task before it is not over
	shared       bool      // agents from outside work on it
	waitingSince time.Time // as runner.waitingSince
	backoff      time.Duration
	seen         presenter.Frame // what its chat shows
}

type stage uint8

const (
	stageQueued  stage = iota // waits for a runner
	stageRunning              // has a runner
	stageParked               // needs no runner until it changes, or until a time
)

// queue holds the tasks of one platform that wait for a runner.
type queue struct {
	urgent  []*entry            // a person or a timer woke them
	turns   []string            // conversations that have waiting tasks, in turn
	waiting map[string][]*entry // by conversation
	idle    map[*entry]bool     // have a runner and can be parked when another task needs one
	running int
}

func newDispatcher(inMemory int, now func() time.Time) *dispatcher {
	return &dispatcher{inMemory: inMemory, now: now, wake: make(chan struct{}, 1), entries: map[tasks.ID]*entry{}, queues: map[string]*queue{}}
}

// signal leaves a value in a channel that holds one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// notify has a task looked at. An unknown task is ignored unless it is new.
func (d *dispatcher) notify(id tasks.ID, isNew bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.entries[id]
	switch {
	case e == nil && !isNew:
		return
	case e == nil:
		d.entries[id] = &entry{id: id, queuedAt: d.now(), heapIndex: -1}
		d.unread = append(d.unread, id)
		signal(d.wake)
	case e.stage == stageRunning:
		signal(e.changed)
	case e.stage == stageParked:
		d.unpark(e, !e.parked.queued)
	}
}

// notifyAll has every task looked at.
func (d *dispatcher) notifyAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.entries {
		switch e.stage {
		case stageRunning:
			signal(e.changed)
		case stageParked:
			d.unpark(e, false)
		case stageQueued:
		}
	}
}

// notifyQueued has the parked tasks looked at that wait in the queue of a conversation.
func (d *dispatcher) notifyQueued(conversation string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.entries {
		if e.stage == stageParked && e.parked.queued && e.chat.Key() == conversation {
			d.unpark(e, false)
		}
	}
}

// unpark puts a parked task into its queue. d.mu is held.
func (d *dispatcher) unpark(e *entry, urgent bool) {
	if e.heapIndex >= 0 {
		heap.Remove(&d.timers, e.heapIndex)
	}
	d.enqueue(e, urgent)
}

// enqueue puts a task at the end of its queue. d.mu is held.
func (d *dispatcher) enqueue(e *entry, urgent bool) {
	e.stage, e.queuedAt = stageQueued, d.now()
	q := e.queue
	if urgent {
		q.urgent = append(q.urgent, e)
	} else {
		key := e.chat.Key()
		if len(q.waiting[key]) == 0 {
			q.turns = append(q.turns, key)
		}
		q.waiting[key] = append(q.waiting[key], e)
	}
	if q.running >= d.inMemory {
		for other := range q.idle {
			signal(other.changed)
		}
		clear(q.idle)
	}
	signal(d.wake)
}

// takeUnread returns the woken tasks whose chats the dispatcher does not know.
func (d *dispatcher) takeUnread() []tasks.ID {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.unread
	d.unread = nil
	return list
}

// admit puts a task that was opened in that chat into its queue.
func (d *dispatcher) admit(id tasks.ID, chat bot.Chat, resumed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.entries[id]
	if e == nil {
		e = &entry{id: id, heapIndex: -1}
		d.entries[id] = e
	} else if e.queue != nil {
		return
	}
	q := d.queues[chat.Platform]
	if q == nil {
		q = &queue{waiting: map[string][]*entry{}, idle: map[*entry]bool{}}
		d.queues[chat.Platform] = q
	}
	e.chat, e.queue, e.resumed, e.changed = chat, q, resumed, make(chan struct{}, 1)
	d.enqueue(e, false)
}

// next takes a task that may have a runner now; nil when there is none. Urgent
// tasks may use as much memory again.
func (d *dispatcher) next() *entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, q := range d.queues {
		if e := q.next(d.inMemory); e != nil {
			e.stage = stageRunning
			q.running++
			return e
		}
	}
	return nil
}

func (q *queue) next(inMemory int) *entry {
	if len(q.urgent) > 0 && q.running < 2*inMemory {
		e := q.urgent[0]
		q.urgent = q.urgent[1:]
		return e
	}
	if len(q.turns) == 0 || q.running >= inMemory {
		return nil
	}
	key := q.turns[0]
	list := q.waiting[key]
	q.turns = q.turns[1:]
	if len(list) == 1 {
		delete(q.waiting, key)
	} else {
		q.waiting[key] = list[1:]
		q.turns = append(q.turns, key)
	}
	return list[0]
}

// mustYield reports that a task of the same platform waits for a runner. When
// none does, e is noted as a task that can be parked later.
func (d *dispatcher) mustYield(e *entry) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if q := e.queue; q.running < d.inMemory || len(q.turns) == 0 && len(q.urgent) == 0 {
		q.idle[e] = true
		return false
	}
	return true
}

// park takes a task's runner away until the task changes or a time comes. A task
// that has changed meanwhile is queued at once.
func (d *dispatcher) park(e *entry, p parked) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.release(e)
	e.resumed, e.parked = false, p
	select {
	case <-e.changed:
		d.enqueue(e, !p.queued)
		return
	default:
	}
	e.stage = stageParked
	if !p.until.IsZero() {
		heap.Push(&d.timers, e)
		signal(d.wake)
	}
}

// remove drops a task that had a runner and is over.
func (d *dispatcher) remove(e *entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.release(e)
	delete(d.entries, e.id)
}

// release makes room for the runner of another task. d.mu is held.
func (d *dispatcher) release(e *entry) {
	e.queue.running--
	delete(e.queue.idle, e)
	signal(d.wake)
}

// forget drops a woken task that does not exist.
func (d *dispatcher) forget(id tasks.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.entries, id)
}

// maxTimer is the longest time between two looks at the clock. Timers stand still
// while the machine is suspended, and the clock does not.
const maxTimer = time.Minute

// fireTimers queues the tasks whose time has come, and returns how long to wait
// for the next one.
func (d *dispatcher) fireTimers() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	for len(d.timers) > 0 {
		e := d.timers[0]
		if wait := e.parked.until.Sub(now); wait > 0 {
			return min(wait, maxTimer)
		}
		d.unpark(e, true)
	}
	return maxTimer
}

// load is how many tasks there are for which legwork works.
func (d *dispatcher) load() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, e := range d.entries {
		if !e.parked.shared {
			n++
		}
	}
	return n
}

// queueDelay is how long the first of the tasks has been waiting that wait for a
// runner or for a slot.
func (d *dispatcher) queueDelay() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	var longest time.Duration
	for _, e := range d.entries {
		switch since := e.wantsSlotSince.Load(); {
		case e.stage == stageQueued:
			longest = max(longest, now.Sub(e.queuedAt))
		case e.stage == stageRunning && since != 0:
			longest = max(longest, now.Sub(time.Unix(0, since)))
		}
	}
	return longest
}

// timers is a heap of the tasks that are parked until a time, the earliest first.
type timers []*entry

// Len implements heap.Interface.
func (t *timers) Len() int { return len(*t) }

// Less implements heap.Interface.
func (t *timers) Less(i, j int) bool { return (*t)[i].parked.until.Before((*t)[j].parked.until) }

// Swap implements heap.Interface.
func (t *timers) Swap(i, j int) {
	list := *t
	list[i], list[j] = list[j], list[i]
	list[i].heapIndex, list[j].heapIndex = i, j
}

// Push implements heap.Interface.
func (t *timers) Push(e any) {
	last := e.(*entry) //nolint:forcetypeassert // nothing else is pushed
	last.heapIndex = len(*t)
	*t = append(*t, last)
}

// Pop implements heap.Interface.
func (t *timers) Pop() any {
	last := (*t)[len(*t)-1]
	last.heapIndex = -1
	(*t)[len(*t)-1] = nil
	*t = (*t)[:len(*t)-1]
	return last
}
