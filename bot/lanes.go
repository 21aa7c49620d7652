package bot

import (
	"slices"
	"sync"
)

// Lanes keep what arrives side by side in order: in each lane one goes after the
// other, as they joined it. The zero value is ready. It is safe for concurrent
// use, and remembers nothing of lanes that nobody is in.
type Lanes struct {
	mu   sync.Mutex
	used map[string][]chan struct{} // by lane: who is in it, the first of whom goes
}

// Join puts somebody at the end of a lane. Their turn has come when the channel
// is closed. leave must be called once afterwards, also by one that did not wait
// for its turn.
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

// leave lets the next one go when the first one leaves.
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

// Len is how many are in a lane, the one that goes included.
func (l *Lanes) Len(lane string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.used[lane])
}
