package bolt

import (
	"bytes"
	"fmt"
	"log/slog"

	"go.etcd.io/bbolt"

	"legwork/planner"
	"legwork/store/rules"
	"legwork/tasks"
)

// snapshot implements rules.Snapshot over what is committed.
type snapshot struct {
	tx    *bbolt.Tx
	cache *cache // nil for readers
	log   *slog.Logger
}

func (b snapshot) bucket(name string) *bbolt.Bucket { return b.tx.Bucket([]byte(name)) }

// row reads a sealed JSON value; false when there is none.
func (b snapshot) row(bucket string, key []byte, v any) (found bool, err error) {
	err = guard(func() error {
		value := b.bucket(bucket).Get(key)
		if value == nil {
			return nil
		}
		found = true
		return unsealJSON(key, value, v)
	})
	if err != nil {
		err = fmt.Errorf("reading %s: %w", describe(bucket, key), err)
	}
	return found, err
}

// Seen implements rules.Snapshot.
func (b snapshot) Seen(key string) (rules.SeenDelivery, bool, error) {
	var s rules.SeenDelivery
	found, err := b.row(bucketSeen, seenKey(key), &s)
	return s, found, err
}

// Task implements rules.Snapshot.
func (b snapshot) Task(id tasks.ID) (rules.Task, bool, error) {
	var t rules.Task
	if id == "" {
		return t, false, nil
	}
	found, err := b.row(bucketTasks, []byte(id), &t)
	return t, found, err
}

// Order implements rules.Snapshot.
func (b snapshot) Order() (uint64, error) {
	var order uint64
	_, err := b.row(bucketMeta, []byte("order"), &order)
	return order, err
}

// State implements rules.Snapshot.
func (b snapshot) State(id tasks.ID) (planner.State, error) {
	if s, ok := b.cache.state(id); ok {
		return s, nil
	}
	events, err := b.events(id, 0)
	if err != nil {
		return planner.State{}, err
	}
	s := planner.Fold(events)
	b.cache.keep(id, s)
	return s, nil
}

// Lane implements rules.Snapshot.
func (b snapshot) Lane(conversation string) (tasks.Lane, error) {
	rows, err := b.laneRows(conversation)
	lane := tasks.Lane{Entries: make([]tasks.LaneEntry, 0, len(rows)+1)}
	for _, r := range rows {
		lane.Entries = append(lane.Entries, r.LaneEntry)
	}
	return lane, err
}

// laneRows returns a lane as it is stored, sorted; it must not be changed.
func (b snapshot) laneRows(conversation string) ([]liveRow, error) {
	if rows, ok := b.cache.lane(conversation); ok {
		return rows, nil
	}
	rows, err := b.live(conversation)
	if err == nil && len(rows) > 0 {
		b.cache.keepLane(conversation, rows)
	}
	return rows, err
}

// LaneCopy implements rules.Snapshot.
func (b snapshot) LaneCopy(id tasks.ID) (rules.Task, bool, error) {
	rows, err := b.live("")
	for _, r := range rows {
		if r.LaneEntry.Task == id {
			return r.Task, true, nil
		}
	}
	return rules.Task{}, false, err
}

// live reads the tasks of a conversation that have not ended, oldest first, or of
// all conversations in no order when it is empty. It skips damaged rows.
func (b snapshot) live(conversation string) (rows []liveRow, err error) {
	var prefix []byte
	if conversation != "" {
		prefix = namePrefix(conversation)
	}
	err = guard(func() error {
		c := b.bucket(bucketLive).Cursor()
		for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
			var r liveRow
			if err := unsealJSON(k, v, &r); err != nil {
				b.log.Error("live task skipped", "record", describe(bucketLive, k), "cause", err)
				continue
			}
			rows = append(rows, r)
		}
		return nil
	})
	return rows, err
}

// events reads a journal after seq from; ErrNoTask. It checks that no event up to
// the last one is missing.
func (b snapshot) events(id tasks.ID, from int) (events []planner.Event, err error) {
	task, err := b.existingTask(id)
	if err != nil {
		return nil, err
	}
	seq := max(from, 0)
	err = guard(func() error {
		c := b.bucket(bucketJournal).Cursor()
		k, v := c.Seek(journalKey(id, seq+1))
		for ; seq < task.Last; k, v = c.Next() {
			seq++
			if !bytes.Equal(k, journalKey(id, seq)) {
				return fmt.Errorf("%w: missing", tasks.ErrDamaged)
			}
			e, err := event(k, v)
			if err != nil {
				return err
			}
			events = append(events, e)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("task %s, event %d: %w", id, seq, err)
	}
	return events, nil
}

// existingTask returns a task's row, or ErrNoTask.
func (b snapshot) existingTask(id tasks.ID) (rules.Task, error) {
	task, ok, err := b.Task(id)
	if err == nil && !ok {
		err = fmt.Errorf("task %s: %w", id, tasks.ErrNoTask)
	}
	return task, err
}

// event reads a record of the journal.
func event(key, value []byte) (planner.Event, error) {
	body, err := unseal(key, value)
	if err != nil {
		return planner.Event{}, err
	}
	e, err := rules.Decode(body)
	if err != nil {
		return e, fmt.Errorf("%w: %w", tasks.ErrDamaged, err)
	}
	return e, nil
}
