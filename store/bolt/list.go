package bolt

import (
	"bytes"
	"container/heap"
	"context"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"legwork/store/rules"
	"legwork/tasks"
)

// Tasks implements tasks.Index. A row that is damaged is made anew from the
// journal; when that fails, the list goes on without it.
func (s *Store) Tasks(ctx context.Context, q tasks.TaskQuery) (rows []tasks.Row, more bool, err error) {
	var damaged []tasks.ID
	read := func(b base) (err error) { rows, more, damaged, err = b.page(q); return err }
	err = s.view(ctx, read)
	if err == nil && len(damaged) > 0 && s.relist(ctx, damaged...) == nil {
		err = s.view(ctx, read)
	}
	if err != nil {
		return nil, false, fmt.Errorf("listing tasks: %w", err)
	}
	return rows, more, nil
}

// Row implements tasks.Index. One that is damaged, or not there yet, is made from
// the journal.
func (s *Store) Row(ctx context.Context, id tasks.ID) (row tasks.Row, err error) {
	var found bool
	read := func(b base) error {
		l, ok, err := b.Listing(id)
		if row, found = l.Row, ok && err == nil; found || err != nil && !errors.Is(err, tasks.ErrDamaged) {
			return err
		}
		_, err = b.existing(id)
		return err
	}
	err = s.view(ctx, read)
	if err == nil && !found {
		if err = s.relist(ctx, id); err == nil {
			err = s.view(ctx, read)
		}
	}
	if err == nil && !found {
		err = fmt.Errorf("task %s: %w", id, tasks.ErrNoTask)
	}
	if err != nil {
		return tasks.Row{}, fmt.Errorf("reading a task's row: %w", err)
	}
	return row, nil
}

// relist makes rows from their journals.
func (s *Store) relist(ctx context.Context, ids ...tasks.ID) error {
	return s.submit(ctx, func(stage *rules.Stage) error {
		for _, id := range ids {
			if err := stage.Enlist(id, true); err != nil {
				return err
			}
		}
		return nil
	})
}

// Counts implements tasks.Index.
func (s *Store) Counts(ctx context.Context) (counts map[string]int, err error) {
	err = s.view(ctx, func(b base) (err error) { counts, err = b.Counts(); return err })
	if err != nil {
		return nil, fmt.Errorf("counting tasks: %w", err)
	}
	return counts, nil
}

// page reads as many rows as a query wants, and looks whether there are more.
func (b base) page(q tasks.TaskQuery) (rows []tasks.Row, more bool, damaged []tasks.ID, err error) {
	limit := rules.PageSize(q)
	err = guard(func() error {
		next := b.newest(q)
		for id := next(); id != ""; id = next() {
			l, ok, err := b.Listing(id)
			switch {
			case errors.Is(err, tasks.ErrDamaged):
				b.log.Error("a task's row is damaged", "task", id, "error", err)
				damaged = append(damaged, id)
			case err != nil:
				return err
			case !ok || !rules.Chosen(q, l.Row): // a key that damage has left behind
			case len(rows) == limit:
				more = true
				return nil
			default:
				rows = append(rows, l.Row)
			}
		}
		return nil
	})
	return rows, more, damaged, err
}

// newest returns a function that returns the ids of tasks that a query may be
// about, the newest first, and an empty one at the end.
func (b base) newest(q tasks.TaskQuery) (next func() tasks.ID) {
	groups, all := b.groups(q)
	if all {
		w := descend(b.bucket(bucketRows), nil, q.Before)
		return func() tasks.ID { return w.step() }
	}
	var m merged
	for _, g := range groups {
		if w := descend(b.bucket(bucketListed), g, q.Before); w.next != "" {
			m = append(m, w)
		}
	}
	heap.Init(&m)
	last := tasks.ID("")
	return func() tasks.ID {
		for len(m) > 0 {
			id := m[0].step()
			if m[0].next == "" {
				heap.Pop(&m)
			} else {
				heap.Fix(&m, 0)
			}
			if id != last { // it may be in several groups
				last = id
				return id
			}
		}
		return ""
	}
}

// groups lists the groups of the index that hold what a query may be about; all
// says that the rows themselves do.
func (b base) groups(q tasks.TaskQuery) (list [][]byte, all bool) {
	scopes := [][]byte{}
	every := q.Rooms == nil
	for _, room := range q.Rooms {
		platform, whole := rules.Platform(room)
		switch {
		case !whole:
			scopes = append(scopes, group(ofRoom, room, ""))
		case platform != "":
			scopes = append(scopes, group(ofPlatform, platform, ""))
		default:
			every = true
		}
	}
	statuses := q.Statuses
	if q.Waits {
		statuses = []string{groupWaits}
	}
	if every {
		if len(statuses) == 0 {
			return nil, true
		}
		scopes = b.under([]byte{ofPlatform}, func(k []byte) int { return 3 + len(conversationOf(k[1:])) })
	}
	for _, scope := range scopes {
		if len(statuses) == 0 {
			list = append(list, b.under(scope, func(k []byte) int { return len(scope) + 1 + int(k[len(scope)]) })...)
		}
		for _, status := range statuses {
			if n := len(status); n > 0 && n < 0x80 {
				list = append(list, append(append(bytes.Clone(scope), byte(n)), status...))
			}
		}
	}
	return list, false
}

// under lists the different beginnings that keys with a prefix have; size tells how
// long that of a key is.
func (b base) under(prefix []byte, size func(key []byte) int) (list [][]byte) {
	c := b.bucket(bucketListed).Cursor()
	for k, _ := c.Seek(prefix); len(k) > len(prefix) && bytes.HasPrefix(k, prefix); {
		part := bytes.Clone(k[:min(size(k), len(k))])
		list = append(list, part)
		k, _ = c.Seek(append(bytes.Clone(part), 0xff))
	}
	return list
}

// walker goes through the ids behind a prefix, from the newest on.
type walker struct {
	c      *bbolt.Cursor
	prefix []byte
	next   tasks.ID // empty at the end
}

// descend begins before a task; at the end when that is empty.
func descend(b *bbolt.Bucket, prefix []byte, before tasks.ID) *walker {
	w := &walker{c: b.Cursor(), prefix: prefix}
	end := append(bytes.Clone(prefix), before...)
	if before == "" {
		end = append(end, 0xff)
	}
	back := w.c.Prev
	if k, _ := w.c.Seek(end); k == nil {
		back = w.c.Last
	}
	k, _ := back()
	w.set(k)
	return w
}

func (w *walker) set(key []byte) {
	w.next = ""
	if bytes.HasPrefix(key, w.prefix) {
		w.next = tasks.ID(key[len(w.prefix):])
	}
}

// step returns the next id and goes on.
func (w *walker) step() tasks.ID {
	id := w.next
	if id != "" {
		k, _ := w.c.Prev()
		w.set(k)
	}
	return id
}

// merged is a heap of walkers, the one with the newest task first.
type merged []*walker

func (m merged) Len() int           { return len(m) }
func (m merged) Less(i, j int) bool { return m[i].next > m[j].next }
func (m merged) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *merged) Push(w any)        { *m = append(*m, w.(*walker)) }
func (m *merged) Pop() any {
	last := len(*m) - 1
	w := (*m)[last]
	*m = (*m)[:last]
	return w
}
