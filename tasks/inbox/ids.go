package inbox

import (
	"sync"
	"time"

	"legwork/tasks"
)

// ids makes the ids of new tasks, each greater than the one before, so that lists
// have tasks of the same millisecond in the order of their making. Its zero value
// is ready.
type ids struct {
	mu   sync.Mutex
	last time.Time
}

// ahead is how far the ids of a burst may run ahead of the clock. When they are
// further ahead, the clock was set back, and they go by it again.
const ahead = 10 * time.Second

// next makes the id of a task that starts now.
func (i *ids) next(now time.Time) tasks.ID {
	i.mu.Lock()
	defer i.mu.Unlock()
	now = now.Truncate(time.Millisecond)
	if least := i.last.Add(time.Millisecond); now.Before(least) && least.Sub(now) < ahead {
		now = least
	}
	i.last = now
	return tasks.NewID(now)
}
