package store

import (
	"slices"
	"sync"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"legwork/planner"
	"legwork/tasks"
)

// Bounds of the cache.
const (
	cachedLive    = 4096     // folded tasks that have not ended
	cachedBytes   = 16 << 20 // of them, about
	cachedEnded   = 32       // folded tasks that have ended
	cachedAltered = 4096     // conversations
	cachedLanes   = 4096     // conversations
)

// cache holds folds of journals, as far as they are durable. It may be behind the
// journals, never ahead of them: who uses a fold adds the events after it.
type cache struct {
	mu    sync.Mutex // of the next four
	live  *simplelru.LRU[tasks.ID, cachedState]
	size  int // of live
	ended *simplelru.LRU[tasks.ID, planner.State]
	drops int // how many tasks were dropped from the cache

	fed     atomic.Uint64 // cursor that was given last
	altered *lru.Cache[string, uint64]
	lanes   *lru.Cache[string, cachedLane]
}

// cachedState is a folded task that has not ended, and its approximate size in
// bytes.
type cachedState struct {
	planner.State
	size int
}

// cachedLane is a version of a lane, durable or not: the stored version tells who may
// use it. Its rows are never changed.
type cachedLane struct {
	version uint64
	rows    []*liveRow
}

func newCache() *cache {
	c := &cache{}
	c.live = must(simplelru.NewLRU(cachedLive, func(_ tasks.ID, s cachedState) { c.size -= s.size }))
	c.ended = must(simplelru.NewLRU[tasks.ID, planner.State](cachedEnded, nil))
	c.altered = must(lru.New[string, uint64](cachedAltered))
	c.lanes = must(lru.New[string, cachedLane](cachedLanes))
	return c
}

// must is for an error that only a size below 1 causes.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// state returns the fold of a task, if the cache holds it.
func (c *cache) state(id tasks.ID) (planner.State, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.find(id)
}

func (c *cache) find(id tasks.ID) (planner.State, bool) {
	if s, ok := c.live.Get(id); ok {
		return s.State, true
	}
	return c.ended.Get(id)
}

// mark returns a mark for keepSince. Take it before the journal is read.
func (c *cache) mark() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.drops
}

// keepSince keeps a state that was folded after mark was taken, unless a task was
// deleted meanwhile: it may have been this one.
func (c *cache) keepSince(mark int, id tasks.ID, s planner.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.drops == mark {
		c.keep(id, s)
	}
}

// keep keeps a state, unless the cache holds a newer one.
func (c *cache) keep(id tasks.ID, s planner.State) {
	if known, ok := c.find(id); ok && known.Seq > s.Seq {
		return
	}
	c.live.Remove(id)
	if s.Finished() {
		c.ended.Add(id, s)
		return
	}
	added := cachedState{s, stateSize(&s)}
	c.size += added.size
	c.live.Add(id, added)
	for c.size > cachedBytes && c.live.Len() > 1 {
		c.live.RemoveOldest()
	}
}

// publish takes over what a durable transaction did.
func (c *cache) publish(e *effects) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range slices.Backward(e.folded) { // of a task, the newest state comes first
		c.keep(f.id, f.state)
	}
	for _, id := range e.deleted {
		c.drops++
		c.live.Remove(id)
		c.ended.Remove(id)
	}
	if e.fed > 0 {
		c.fed.Store(e.fed)
	}
}

// alter notes that turns of a conversation are deleted, or moved to it, up to an
// order. It does so before the transaction is durable: when that fails, a summary is
// refused in vain, which is made again. Only updates call it, one after the other.
func (c *cache) alter(conversation string, upTo uint64) {
	c.altered.Add(conversation, max(c.alteredUpTo(conversation), upTo))
}

// alteredUpTo returns the order up to which turns of a conversation were altered
// since the store was opened; 0 for none. Somebody who read the turns before that
// may know deleted ones, or not know moved ones.
func (c *cache) alteredUpTo(conversation string) uint64 {
	order, _ := c.altered.Get(conversation)
	return order
}

// stateSize is the approximate size of a state in bytes. It counts what programs
// can make large: texts, keys, turns, and a number for each change.
func stateSize(s *planner.State) int {
	n := 1 << 10
	for _, seqs := range [][]int{s.Planned, s.Rejected, s.Guidance, s.Notes, s.BadReplies, s.Changes} {
		n += 8 * cap(seqs)
	}
	for _, slot := range s.Slots {
		n += 64 + len(slot.Name) + len(slot.Message)
	}
	n += sharedSize(s.Shared)
	for i := range s.Subtasks {
		w := &s.Subtasks[i]
		n += 256
		for _, turn := range w.Turns {
			n += 64 + 256*len(turn.Calls)
			for j := range turn.Calls {
				n += sharedSize(turn.Calls[j].Shared)
			}
		}
	}
	return n
}

func sharedSize(shared map[string]planner.Value) (n int) {
	for key := range shared {
		n += 64 + len(key)
	}
	return n
}

// maxWatched bounds the channels kept for tasks whose next event has not come.
const maxWatched = 1 << 16

// watch wakes waiters of changed tasks by closing a channel for each task. Its
// zero value is ready. It is safe for concurrent use.
//
// It forgets a task at its next event. When very many tasks are watched that never
// change, it closes the channel of an arbitrary one: its waiters look once in
// vain, and memory stays bounded.
type watch struct {
	mu      sync.Mutex
	wait    map[tasks.ID]chan struct{}
	follows map[*func(tasks.ID)]bool
}

// Follow calls heard for each changed task, until stop was called.
func (w *watch) Follow(heard func(tasks.ID)) (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.follows == nil {
		w.follows = map[*func(tasks.ID)]bool{}
	}
	w.follows[&heard] = true
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.follows, &heard)
	}
}

// Changed returns a channel that is closed at the task's next event.
func (w *watch) Changed(id tasks.ID) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c, ok := w.wait[id]; ok {
		return c
	}
	if len(w.wait) >= maxWatched {
		for other, c := range w.wait {
			close(c)
			delete(w.wait, other)
			break
		}
	}
	c := make(chan struct{})
	if w.wait == nil {
		w.wait = map[tasks.ID]chan struct{}{}
	}
	w.wait[id] = c
	return c
}

// notify wakes the watchers of tasks.
func (w *watch) notify(ids []tasks.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids {
		for heard := range w.follows {
			(*heard)(id)
		}
		if c, ok := w.wait[id]; ok {
			close(c)
			delete(w.wait, id)
		}
	}
}

// Len is how many tasks are watched.
func (w *watch) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.wait) + len(w.follows)
}
