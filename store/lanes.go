package store

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"

	"legwork/bot"
	"legwork/tasks"
)

// Live implements tasks.Store.
func (j Journals) Live(ctx context.Context, conversation string) (list []tasks.Live, err error) {
	err = j.view(ctx, "listing live tasks", func(x *txn) error {
		list = nil
		rows, err := lanes{x}.rows(conversation)
		rows = slices.Clone(rows)
		slices.SortFunc(rows, func(a, b *liveRow) int { return cmp.Compare(a.Order, b.Order) })
		for _, r := range rows {
			list = append(list, tasks.Live{Task: r.Task, Chat: r.Chat, From: r.From})
		}
		return err
	})
	return list, err
}

// lanes are the queues of the conversations, within a transaction.
type lanes struct{ *txn }

// lane is the queue of a conversation, with the rows that are stored.
type lane struct {
	tasks.Lane
	x            *txn
	conversation string
	stored       []*liveRow           // by order
	opened       map[tasks.ID]taskRow // rows of entries that are not stored yet
}

// rows reads the live tasks of a conversation, oldest first, or of all
// conversations in no order when it is empty. It skips damaged ones. The list must
// not be changed.
func (x lanes) rows(conversation string) (rows []*liveRow, err error) {
	if conversation == "" {
		return x.scan(nil, nil)
	}
	version, kept, err := laneVersions.get(x, conversation)
	if err != nil && !errors.Is(err, tasks.ErrDamaged) {
		return nil, err
	}
	if kept = kept && err == nil; kept {
		if rows, ok := x.cache.lane(conversation, version); ok {
			return rows, nil
		}
	}
	prefix := namePrefix(conversation)
	rows, err = x.scan(prefix, afterPrefix(prefix))
	if err == nil && kept {
		x.cache.keepLane(conversation, version, rows)
	}
	return rows, err
}

func (x lanes) scan(from, to []byte) (rows []*liveRow, err error) {
	for e, err := range liveRows.sound(x.txn, from, to, Ascending) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, &e.value)
	}
	return rows, nil
}

// read returns the queue of a conversation.
func (x lanes) read(conversation string) (*lane, error) {
	rows, err := x.rows(conversation)
	l := &lane{x: x.txn, conversation: conversation, stored: rows}
	l.Entries = make([]tasks.LaneEntry, 0, len(rows)+1)
	for _, r := range rows {
		l.Entries = append(l.Entries, r.LaneEntry)
	}
	return l, err
}

// add opens a task at the end of the queue, and reports whether it has to wait.
func (l *lane) add(id tasks.ID, task taskRow) (queued bool) {
	l.opened = map[tasks.ID]taskRow{id: task}
	return l.Open(id)
}

// write stores the entries that differ from the stored ones. Both are sorted by the
// order of opening.
func (l *lane) write() error {
	rows, changed := make([]*liveRow, 0, len(l.Entries)), false
	stored := l.stored
	drop := func() error {
		changed = true
		gone := stored[0]
		stored = stored[1:]
		return liveRows.drop(l.x, turnKey{l.conversation, gone.Order})
	}
	for _, e := range l.Entries {
		for len(stored) > 0 && stored[0].Task != e.Task {
			if err := drop(); err != nil {
				return err
			}
		}
		if len(stored) > 0 && stored[0].LaneEntry == e {
			rows, stored = append(rows, stored[0]), stored[1:]
			continue
		}
		row := &liveRow{l.opened[e.Task], e}
		if len(stored) > 0 {
			row.taskRow, stored = stored[0].taskRow, stored[1:]
		}
		if err := liveRows.put(l.x, turnKey{l.conversation, row.Order}, *row); err != nil {
			return err
		}
		rows, changed = append(rows, row), true
	}
	for len(stored) > 0 {
		if err := drop(); err != nil {
			return err
		}
	}
	switch {
	case !changed:
		return nil
	case len(rows) == 0:
		return laneVersions.drop(l.x, l.conversation)
	}
	version := rand.Uint64()
	l.x.cache.keepLane(l.conversation, version, rows)
	return laneVersions.put(l.x, l.conversation, version)
}

// copyOf returns the copy of a task's row that is kept with its lane until the task
// ends. It serves when the row itself is damaged, and may be older.
func (x lanes) copyOf(id tasks.ID) (taskRow, bool, error) {
	rows, err := x.rows("")
	at := slices.IndexFunc(rows, func(r *liveRow) bool { return r.Task == id })
	if at < 0 {
		return taskRow{}, false, err
	}
	return rows[at].taskRow, true, err
}

// move gives the tasks of a conversation that have not ended to another one, sorted
// into those there. It drops a task whose row is damaged.
func (x lanes) move(from string, to bot.Chat) error {
	moving, err := x.dropDamaged(from)
	if err != nil {
		return err
	}
	for _, r := range moving {
		task, _, err := x.task(r.Task)
		if err != nil {
			return err
		}
		moved := *r
		task.Chat, moved.Chat = to, to
		if err := taskRows.put(x, r.Task, task); err != nil {
			return err
		}
		if err := index(x).moved(r.Task, to); err != nil {
			return err
		}
		if err := liveRows.drop(x, turnKey{from, r.Order}); err != nil {
			return err
		}
		if err := liveRows.put(x, turnKey{to.Key(), r.Order}, moved); err != nil {
			return err
		}
	}
	if len(moving) == 0 {
		return nil
	}
	for _, conversation := range []string{from, to.Key()} {
		if err := laneVersions.drop(x, conversation); err != nil {
			return err
		}
	}
	_, err = x.dropDamaged(to.Key())
	return err
}

// dropDamaged drops the tasks of a lane whose rows are damaged, and returns the rest
// of the lane.
func (x lanes) dropDamaged(conversation string) ([]*liveRow, error) {
	rows, err := x.rows(conversation)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if _, _, err := x.task(r.Task); errors.Is(err, tasks.ErrDamaged) {
			if err := journals(x).drop(r.Task); err != nil {
				return nil, err
			}
		} else if err != nil {
			return nil, err
		}
	}
	return x.rows(conversation)
}
