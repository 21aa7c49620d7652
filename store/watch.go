package store

import (
	"sync"

	"legwork/tasks"
)

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
