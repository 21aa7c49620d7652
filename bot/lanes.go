package bot

import (
	"slices"
	"sync"
)

// Lanes are queues by name: in each lane, callers take turns in the order in which
// they joined. The zero value is ready. Lanes are safe for concurrent use, and an
// empty lane takes no memory.
type Lanes struct {
	mu   sync.Mutex
	used map[string][]chan struct{} // by lane: its callers; the first one has the turn
}

// Join adds the caller to the end of a lane. It has its turn when the channel is
// closed. The caller must call leave once, even if it did not wait for its turn.
func (l *Lanes) Join(lane string) (turn <-chan struct{}, leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.used == nil {
		l.used = map[string][]chan struct{}{}
	}
	own := make(chan struct{})
	if l.used[lane] = append(l.used[lane], own); len(l.used[lane]) == 1 {
		close(own)
	}
	return own, func() { l.leave(lane, own) }
}

// leave gives the turn to the next caller when the first one leaves.
func (l *Lanes) leave(lane string, own chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	in := l.used[lane]
	i := slices.Index(in, own)
	in = slices.Delete(in, i, i+1)
	if l.used[lane] = in; len(in) == 0 {
		delete(l.used, lane)
	} else if i == 0 {
		close(in[0])
	}
}

// Len is the number of callers in a lane.
func (l *Lanes) Len(lane string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.used[lane])
}
