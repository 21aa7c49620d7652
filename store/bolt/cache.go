package bolt

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"legwork/planner"
	"legwork/store/rules"
	"legwork/tasks"
)

// Bounds of the cache.
const (
	cachedLive  = 4096     // folded tasks that have not ended
	cachedBytes = 16 << 20 // of them, about
	cachedOver  = 32       // folded tasks that have ended
	cachedLanes = 4096     // conversations
)

// cache holds a part of the committed data. Only the writer adds to it; everybody
// may read.
type cache struct {
	mu          sync.Mutex
	live        *simplelru.LRU[tasks.ID, cachedState]
	size        int // of live
	over        *simplelru.LRU[tasks.ID, planner.State]
	lanes       *simplelru.LRU[string, []liveRow] // lists that are never changed
	invalidated *simplelru.LRU[string, uint64]    // rules.Snapshot.Invalidated
	feedEnd     *uint64                           // cursor given last; nil: not read yet
}

// cachedState is a folded task that has not ended, and its approximate size in
// bytes.
type cachedState struct {
	planner.State
	weight int
}

func newCache() *cache {
	c := &cache{}
	c.live = newLRU(cachedLive, func(_ tasks.ID, w cachedState) { c.size -= w.weight })
	c.over = newLRU[tasks.ID, planner.State](cachedOver, nil)
	c.lanes, c.invalidated = newLRU[string, []liveRow](cachedLanes, nil), newLRU[string, uint64](cachedLanes, nil)
	return c
}

func newLRU[K comparable, V any](size int, gone func(K, V)) *simplelru.LRU[K, V] {
	lru, err := simplelru.NewLRU(size, gone)
	if err != nil {
		panic(err) // only a size below 1 is refused
	}
	return lru
}

func (c *cache) state(id tasks.ID) (planner.State, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w, ok := c.live.Get(id); ok {
		return w.State, true
	}
	return c.over.Get(id)
}

func (c *cache) keep(id tasks.ID, s planner.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live.Remove(id)
	if s.Finished() {
		c.over.Add(id, s)
		return
	}
	w := cachedState{s, stateSize(&s)}
	c.size += w.weight
	c.live.Add(id, w)
	for c.size > cachedBytes && c.live.Len() > 1 {
		c.live.RemoveOldest()
	}
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

func (c *cache) drop(id tasks.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live.Remove(id)
	c.over.Remove(id)
}

// lane returns a conversation's live tasks, if they are cached.
func (c *cache) lane(conversation string) ([]liveRow, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lanes.Get(conversation)
}

func (c *cache) keepLane(conversation string, rows []liveRow) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lanes.Add(conversation, rows)
}

// committed takes over the changes of a transaction; lanes holds the rows of their
// lanes.
func (c *cache) committed(changes *rules.Changes, lanes map[string][]liveRow) {
	for id := range changes.Deleted {
		c.drop(id)
	}
	for id, s := range changes.States {
		c.keep(id, s)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for conversation, order := range changes.Invalidated {
		c.invalidated.Add(conversation, order)
	}
	if n := len(changes.Index.Feed); n > 0 {
		c.feedEnd = new(changes.Index.Feed[n-1].Cursor)
	}
	for conversation, rows := range lanes {
		if len(rows) == 0 {
			c.lanes.Remove(conversation)
			continue
		}
		c.lanes.Add(conversation, rows)
	}
}
