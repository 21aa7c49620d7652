package inbox

import (
	"context"
	"fmt"
	"sync"
	"time"

	"legwork/tasks"
)

// Limits for the live tasks of one program: maxProgramTasks for tasks that legwork
// works on, maxExternalTasks for tasks of external agents, which cost legwork no work.
const (
	maxProgramTasks  = 2_000
	maxExternalTasks = 10_000
	recountAfter     = time.Second // minimum time between two counts of a program at its limit
	quotaShares      = 8           // processes that together stay within the limits
)

// quotas limit the live tasks of programs. The store counts the tasks. After a
// count, a process opens only a share of the remaining tasks before it counts
// again. The other processes over the same store have the other shares, so the
// count becomes more exact near the limit.
type quotas struct {
	mu    sync.Mutex
	rooms map[string]*quota
}

func (q *quotas) of(room string) *quota {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.rooms == nil {
		q.rooms = map[string]*quota{}
	}
	if q.rooms[room] == nil {
		q.rooms[room] = &quota{}
	}
	return q.rooms[room]
}

// quota is the quota of one room, for tasks that legwork works on and for external
// ones.
type quota struct {
	mu      sync.Mutex
	counted time.Time
	kinds   [2]taskCount
}

// taskCount counts the tasks of one kind. It never falls below the last count of the
// store.
type taskCount struct {
	live    int // counted in the store, plus those admitted since
	opening int // of live: admitted, but perhaps not stored yet
	share   int // tasks that may be admitted before the next count
}

// admitTask reserves room for a task that a program is about to open. The caller
// must call done after it stored the task, or did not. The error is ErrOverloaded
// when there is no room.
func admitTask(ctx context.Context, in *Inbox, room string, external bool) (done func(opened bool), err error) {
	q, kind, most := in.quotas.of(room), 0, maxProgramTasks
	if external {
		kind, most = 1, maxExternalTasks
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	t := &q.kinds[kind]
	if now := in.Now(); t.share == 0 && (t.live < most || now.Sub(q.counted) >= recountAfter) {
		if err := countTasks(ctx, in, room, q); err != nil {
			return nil, err
		}
		q.counted = now
	}
	if t.live >= most {
		return nil, fmt.Errorf("%w: this token has %d unfinished tasks", ErrOverloaded, t.live)
	}
	t.live++
	t.opening++
	t.share--
	return func(opened bool) {
		q.mu.Lock()
		defer q.mu.Unlock()
		t.opening--
		if !opened {
			t.live--
		}
	}, nil
}

// countTasks counts the live tasks of a room.
func countTasks(ctx context.Context, in *Inbox, room string, q *quota) error {
	var live [2]int
	ask := tasks.TaskQuery{Statuses: LiveStatuses(), Rooms: []string{room}, Limit: maxProgramTasks}
	for more := true; more && live[0]+live[1] < maxProgramTasks+maxExternalTasks; {
		rows, further, err := in.Store.Tasks(ctx, ask)
		if err != nil {
			return fmt.Errorf("counting tasks: %w", err)
		}
		for _, row := range rows {
			ask.Before = row.Task
			if row.External {
				live[1]++
			} else {
				live[0]++
			}
		}
		more = further && len(rows) > 0
	}
	for kind, most := range []int{maxProgramTasks, maxExternalTasks} {
		t := &q.kinds[kind]
		t.live = live[kind] + t.opening
		t.share = (max(0, most-t.live) + quotaShares - 1) / quotaShares
	}
	return nil
}

// LiveStatuses lists the statuses of tasks that have not ended.
func LiveStatuses() []string {
	return []string{"queued", "planning", "working", "waiting", "answering"}
}
