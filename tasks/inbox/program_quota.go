package inbox

import (
	"context"
	"fmt"
	"sync"
	"time"

	"legwork/tasks"
)

// How many tasks of one program may be live: those that legwork works on, and
// those that agents from outside do, which take no work of it.
const (
	maxOfProgram    = 2_000
	maxSharedOf     = 10_000
	recountPrograms = time.Second // at least between two counts of a program that has as many as it may
	sharePrograms   = 8           // processes that together stay within the limits
)

// quotas know how many tasks programs have. The store counts them, and who has
// counted opens no more than a part of what there is room for before it counts
// again: so other processes over the same store have their parts, and the nearer
// the limit, the more exact it is.
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

// quota is that of a room, for tasks that legwork works on and for the others.
type quota struct {
	mu      sync.Mutex
	counted time.Time
	kinds   [2]tally
}

// tally is how many tasks there are of a kind; never fewer than there were when
// they were counted.
type tally struct {
	live    int // counted, or admitted since
	opening int // of these, admitted but perhaps not stored
	part    int // to be admitted before it is counted again
}

// admitTask notes a task that a program is about to open. done must be called when
// it was stored, or was not. ErrCrowded.
func admitTask(ctx context.Context, in *Inbox, room string, external bool) (done func(opened bool), err error) {
	q, kind, most := in.quotas.of(room), 0, maxOfProgram
	if external {
		kind, most = 1, maxSharedOf
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	t := &q.kinds[kind]
	if now := in.Now(); t.part == 0 && (t.live < most || now.Sub(q.counted) >= recountPrograms) {
		if err := countTasks(ctx, in, room, q); err != nil {
			return nil, err
		}
		q.counted = now
	}
	if t.live >= most {
		return nil, fmt.Errorf("%w: %d tasks of this token are not over", ErrCrowded, t.live)
	}
	t.live++
	t.opening++
	t.part--
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
	ask := tasks.TaskQuery{Statuses: LiveStatuses(), Rooms: []string{room}, Limit: maxOfProgram}
	for more := true; more && live[0]+live[1] < maxOfProgram+maxSharedOf; {
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
	for kind, most := range []int{maxOfProgram, maxSharedOf} {
		t := &q.kinds[kind]
		t.live = live[kind] + t.opening
		t.part = (max(0, most-t.live) + sharePrograms - 1) / sharePrograms
	}
	return nil
}

// LiveStatuses are those of tasks that are not over.
func LiveStatuses() []string {
	return []string{"queued", "planning", "working", "waiting", "answering"}
}
