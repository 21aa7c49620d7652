package store

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"legwork/bot"
	"legwork/tasks"
)

// Live implements tasks.Store.
func (j Journals) Live(ctx context.Context, conversation string) (list []tasks.Live, err error) {
	err = j.read(ctx, "listing live tasks", func(x *txn) {
		list = nil
		l := lanes{x}.read(conversation)
		rows := slices.SortedFunc(slices.Values(l.stored), func(a, b *liveRow) int { return cmp.Compare(a.Order, b.Order) })
		for i, r := range rows {
			one := tasks.Live{Task: r.Task, Chat: r.Chat, From: r.From}
			if conversation != "" { // its rows were in order before
				one.Ahead = l.Ahead(i)
			}
			list = append(list, one)
		}
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
	stored       []*liveRow // by order
	opened       taskRow    // of the entry that is not stored yet
}

// rows reads the live tasks of a conversation, oldest first, or of all
// conversations in no order when it is empty. It skips damaged ones. The list must
// not be changed.
func (x lanes) rows(conversation string) []*liveRow {
	if conversation == "" {
		return x.scan(nil, nil)
	}
	version, found, damaged := laneVersions.get(x, conversation)
	known := found && damaged == nil
	if known {
		if l, ok := x.cache.lanes.Get(conversation); ok && l.version == version {
			return l.rows
		}
	}
	prefix := namePrefix(conversation)
	rows := x.scan(prefix, afterPrefix(prefix))
	if known && x.failed == nil {
		x.cache.lanes.Add(conversation, cachedLane{version, rows})
	}
	return rows
}

func (x lanes) scan(from, to []byte) (rows []*liveRow) {
	for e := range liveRows.sound(x, from, to, Ascending) {
		rows = append(rows, &e.value)
	}
	return rows
}

// read returns the queue of a conversation.
func (x lanes) read(conversation string) *lane {
	l := &lane{x: x.txn, conversation: conversation, stored: x.rows(conversation)}
	l.Entries = make([]tasks.LaneEntry, 0, len(l.stored)+1)
	for _, r := range l.stored {
		l.Entries = append(l.Entries, r.LaneEntry)
	}
	return l
}

// add opens a task at the end of the queue, and reports whether it has to wait.
func (l *lane) add(id tasks.ID, task taskRow) (queued bool) {
	l.opened = task
	return l.Open(id)
}

// write stores the entries that differ from the stored ones. Both are sorted by the
// order of opening.
func (l *lane) write() {
	rows, changed := make([]*liveRow, 0, len(l.Entries)), false
	stored := l.stored
	drop := func() {
		liveRows.drop(l.x, turnKey{l.conversation, stored[0].Order})
		stored, changed = stored[1:], true
	}
	for _, e := range l.Entries {
		for len(stored) > 0 && stored[0].Task != e.Task {
			drop()
		}
		if len(stored) > 0 && stored[0].LaneEntry == e {
			rows, stored = append(rows, stored[0]), stored[1:]
			continue
		}
		row := &liveRow{l.opened, e}
		if len(stored) > 0 {
			row.taskRow, stored = stored[0].taskRow, stored[1:]
		}
		liveRows.put(l.x, turnKey{l.conversation, row.Order}, *row)
		rows, changed = append(rows, row), true
	}
	for len(stored) > 0 {
		drop()
	}
	switch {
	case !changed:
	case len(rows) == 0:
		laneVersions.drop(l.x, l.conversation)
	default:
		version := rand.Uint64()
		l.x.cache.lanes.Add(l.conversation, cachedLane{version, rows})
		laneVersions.put(l.x, l.conversation, version)
	}
}

// copyOf returns the copy of a task's row that is kept with its lane until the task
// ends. It serves when the row itself is damaged, and may be older.
func (x lanes) copyOf(id tasks.ID) (task taskRow, live bool) {
	for _, r := range x.rows("") {
		if r.Task == id {
			return r.taskRow, true
		}
	}
	return taskRow{}, false
}

// move gives the tasks of a conversation that have not ended to another one, sorted
// into those there. It drops tasks whose rows are damaged.
func (x lanes) move(from string, to bot.Chat) {
	x.dropDamaged(from)
	moving := x.rows(from)
	for _, r := range moving {
		task, _ := taskRows.load(x, r.Task)
		moved := *r
		task.Chat, moved.Chat = to, to
		taskRows.put(x, r.Task, task)
		index(x).change(r.Task, func(l *listing) { l.Chat = to })
		liveRows.drop(x, turnKey{from, r.Order})
		liveRows.put(x, turnKey{to.Key(), r.Order}, moved)
	}
	if len(moving) == 0 {
		return
	}
	laneVersions.drop(x, from)
	laneVersions.drop(x, to.Key())
	x.dropDamaged(to.Key())
}

// dropDamaged drops the tasks of a lane whose rows are damaged.
func (x lanes) dropDamaged(conversation string) {
	for _, r := range x.rows(conversation) {
		if _, _, damaged := x.task(r.Task); damaged != nil {
			x.fail(journals(x).drop(r.Task))
		}
	}
}
