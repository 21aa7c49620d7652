package tasks

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// How many tasks of one program may be live: those that legwork works on, and
// those that agents from outside do, which take no work of it.
const (
	maxOfProgram    = 2_000
	maxSharedOf     = 10_000
	recountPrograms = time.Second // at least between two counts of a program that has as many as it may
)

// quotas know roughly how many tasks programs have: never fewer than there are,
// but for what other processes open. They count anew where that is too many.
type quotas struct {
	mu    sync.Mutex
	rooms map[string]*quota
}

// quota is how many tasks of a room were live, with all that were opened since.
type quota struct {
	live    [2]int // run by legwork; by others
	counted time.Time
}

// admitTask notes a task that a program opens. ErrCrowded.
func (in *Inbox) admitTask(ctx context.Context, room string, external bool) error {
	in.quotas.mu.Lock()
	defer in.quotas.mu.Unlock()
	q, kind, most := in.quotas.rooms[room], 0, maxOfProgram
	if external {
		kind, most = 1, maxSharedOf
	}
	if q == nil || q.live[kind] >= most && in.Now().Sub(q.counted) >= recountPrograms {
		fresh, err := in.count(ctx, room)
		if err != nil {
			return err
		}
		if in.quotas.rooms == nil {
			in.quotas.rooms = map[string]*quota{}
		}
		in.quotas.rooms[room], q = fresh, fresh
	}
	if q.live[kind] >= most {
		return fmt.Errorf("%w: %d tasks of this token are not over", ErrCrowded, q.live[kind])
	}
	q.live[kind]++
	return nil
}

// count counts the live tasks of a room.
func (in *Inbox) count(ctx context.Context, room string) (*quota, error) {
	q := &quota{counted: in.Now()}
	ask := TaskQuery{Statuses: LiveStatuses(), Rooms: []string{room}, Limit: maxOfProgram}
	for more := true; more && q.live[0]+q.live[1] < maxOfProgram+maxSharedOf; {
		rows, further, err := in.Store.Tasks(ctx, ask)
		if err != nil {
			return nil, fmt.Errorf("counting tasks: %w", err)
		}
		for _, row := range rows {
			ask.Before = row.Task
			if row.External {
				q.live[1]++
			} else {
				q.live[0]++
			}
		}
		more = further && len(rows) > 0
	}
	return q, nil
}

// LiveStatuses are those of tasks that are not over.
func LiveStatuses() []string {
	return []string{"queued", "planning", "working", "waiting", "answering"}
}
