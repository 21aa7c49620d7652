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

// desk knows every live task and lets few of them be worked on at a time: as
// many of each platform as there is room for, conversations in turn and those of
// one in the order of their arrival. A task that waits for people, for the one
// before it, or for a time to come takes no room.
type desk struct {
	room int // of each platform
	now  func() time.Time
	bell chan struct{} // rings when Run has something to look at

	mu     sync.Mutex
	files  map[tasks.ID]*file
	fresh  []tasks.ID // woken, and not known yet
	lines  map[string]*line
	asleep sleepers
}

// file is what is known of a live task.
type file struct {
	id    tasks.ID
	chat  bot.Chat
	line  *line
	poke  chan struct{} // tells the runner that the task has changed; holds one
	stage stage

	since   time.Time       // when it began to wait for room
	resumed bool            // it was live before this process
	live    bool            // it was not over when it was looked at
	held    bool            // it rests because the task before it is not over
	shared  bool            // it rested because agents from outside work on it
	until   time.Time       // when it has to be looked at, as it rests; zero: not before it changes
	place   int             // among the sleepers; -1 for none
	starved time.Time       // as runner.starved, from the last time
	hungry  atomic.Int64    // runner.starved while it has a runner, for others to read, in Unix nanoseconds; 0: it is not
	pause   time.Duration   // as runner.pause
	seen    presenter.Frame // what its chat shows
}

// stage is where a task is on the desk.
type stage uint8

const (
	waits   stage = iota // for room
	works                // it has a runner
	dormant              // nothing is to do until it changes, or until a time
)

// line is what waits for the room of one platform.
type line struct {
	urgent  []*file            // a person or a clock has woken them
	turns   []string           // conversations that have somebody waiting, in turn
	waiting map[string][]*file // by conversation
	idle    map[*file]bool     // have a runner and would make room
	busy    int                // runners
}

func newDesk(room int, now func() time.Time) *desk {
	return &desk{room: room, now: now, bell: make(chan struct{}, 1), files: map[tasks.ID]*file{}, lines: map[string]*line{}}
}

func (d *desk) ring() {
	select {
	case d.bell <- struct{}{}:
	default:
	}
}

// changed has a task looked at. One that is not known is ignored unless it is
// new.
func (d *desk) changed(id tasks.ID, isNew bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.files[id]
	switch {
	case f == nil && !isNew:
		return
	case f == nil:
		d.files[id] = &file{id: id, stage: waits, since: d.now(), place: -1}
		d.fresh = append(d.fresh, id)
		d.ring()
	case f.stage == works:
		f.stir()
	case f.stage == dormant:
		d.rouse(f, !f.held)
	}
}

// stir makes the runner of a task look at it.
func (f *file) stir() {
	select {
	case f.poke <- struct{}{}:
	default:
	}
}

// rouse lets a task that rests wait for room. d.mu is held.
func (d *desk) rouse(f *file, urgent bool) {
	if f.place >= 0 {
		heap.Remove(&d.asleep, f.place)
	}
	f.since, f.held = d.now(), false
	d.queue(f, urgent)
}

// queue puts a task at the end of its line. d.mu is held.
func (d *desk) queue(f *file, urgent bool) {
	f.stage = waits
	l := f.line
	if urgent {
		l.urgent = append(l.urgent, f)
	} else {
		key := f.chat.Key()
		if len(l.waiting[key]) == 0 {
			l.turns = append(l.turns, key)
		}
		l.waiting[key] = append(l.waiting[key], f)
	}
	if l.busy >= d.room {
		for other := range l.idle {
			other.stir()
		}
		clear(l.idle)
	}
	d.ring()
}

// unknown returns the tasks that were woken and are not known yet.
func (d *desk) unknown() []tasks.ID {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.fresh
	d.fresh = nil
	return list
}

// admit puts a task that was opened in that chat in its line.
func (d *desk) admit(id tasks.ID, chat bot.Chat, resumed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.files[id]
	if f == nil {
		f = &file{id: id, since: d.now()}
		d.files[id] = f
	} else if f.line != nil {
		return
	}
	l := d.lines[chat.Platform]
	if l == nil {
		l = &line{waiting: map[string][]*file{}, idle: map[*file]bool{}}
		d.lines[chat.Platform] = l
	}
	f.chat, f.line, f.resumed, f.place, f.poke = chat, l, resumed, -1, make(chan struct{}, 1)
	d.queue(f, false)
}

// next takes a task for which there is room; nil when there is none. Those that
// a person waits for may take as much again.
func (d *desk) next() *file {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range d.lines {
		if f := l.next(d.room); f != nil {
			f.stage = works
			l.busy++
			return f
		}
	}
	return nil
}

func (l *line) next(room int) *file {
	if len(l.urgent) > 0 && l.busy < 2*room {
		f := l.urgent[0]
		l.urgent = l.urgent[1:]
		return f
	}
	if len(l.turns) == 0 || l.busy >= room {
		return nil
	}
	key := l.turns[0]
	list := l.waiting[key]
	l.turns = l.turns[1:]
	if len(list) == 1 {
		delete(l.waiting, key)
	} else {
		l.waiting[key] = list[1:]
		l.turns = append(l.turns, key)
	}
	return list[0]
}

// crowded reports that a task of the same platform waits for the room that f
// takes. Otherwise f is noted as one that would leave.
func (d *desk) crowded(f *file) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := f.line; l.busy < d.room || len(l.turns) == 0 && len(l.urgent) == 0 {
		l.idle[f] = true
		return false
	}
	return true
}

// rest takes a task off the desk until it changes or a time has come. What has
// changed meanwhile waits for room at once.
func (d *desk) rest(f *file, r rest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left(f)
	f.resumed, f.held, f.shared, f.starved, f.pause, f.seen, f.until = false, r.held, r.shared, r.starved, r.pause, r.seen, r.until
	select {
	case <-f.poke:
		f.since = d.now()
		d.queue(f, !r.held)
		return
	default:
	}
	f.stage = dormant
	if !f.until.IsZero() {
		heap.Push(&d.asleep, f)
		d.ring()
	}
}

// close forgets a task that is over.
func (d *desk) close(f *file) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left(f)
	delete(d.files, f.id)
}

// left makes room. d.mu is held.
func (d *desk) left(f *file) {
	f.line.busy--
	delete(f.line.idle, f)
	d.ring()
}

// forget drops a task that is not there.
func (d *desk) forget(id tasks.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.files, id)
}

// longestWait is how long the desk looks at no clock at most: timers stand still
// while the machine is suspended, and times do not.
const longestWait = time.Minute

// due wakes the tasks whose time has come, and returns how long it is until the
// next one's.
func (d *desk) due() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	for len(d.asleep) > 0 {
		f := d.asleep[0]
		if wait := f.until.Sub(now); wait > 0 {
			return min(wait, longestWait)
		}
		d.rouse(f, true)
	}
	return longestWait
}

// stirAll has every task looked at.
func (d *desk) stirAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.files {
		switch f.stage {
		case works:
			f.stir()
		case dormant:
			d.rouse(f, false)
		case waits:
		}
	}
}

// load is how many tasks there are for which legwork works.
func (d *desk) load() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, f := range d.files {
		if !f.shared {
			n++
		}
	}
	return n
}
