package bolt

import (
	"bytes"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"legwork/store/rules"
	"legwork/tasks"
)

// Tasks implements tasks.Index. A row that is damaged is made anew from the
// journal; when that fails, the list goes on without it.
func (s *Store) Tasks(ctx context.Context, q tasks.TaskQuery) (rows []tasks.Row, more bool, err error) {
	var damaged []tasks.ID
	read := func(b snapshot) (err error) { rows, more, damaged, err = b.readPage(q); return err }
	err = s.view(ctx, read)
	if err == nil && len(damaged) > 0 && s.rebuildRows(ctx, damaged...) == nil {
		err = s.view(ctx, read)
	}
	return rows, more, wrap("listing tasks", err)
}

// Row implements tasks.Index. One that is damaged, or not there yet, is made from
// the journal.
func (s *Store) Row(ctx context.Context, id tasks.ID) (row tasks.Row, err error) {
	var found bool
	read := func(b snapshot) error {
		l, ok, err := b.Listing(id)
		if row, found = l.Row, ok && err == nil; found || err != nil && !errors.Is(err, tasks.ErrDamaged) {
			return err
		}
		_, err = b.existingTask(id)
		return err
	}
	err = s.view(ctx, read)
	if err == nil && !found {
		if err = s.rebuildRows(ctx, id); err == nil {
			err = s.view(ctx, read)
		}
	}
	if err == nil && !found {
		err = fmt.Errorf("task %s: %w", id, tasks.ErrNoTask)
	}
	return row, wrap("reading a task's row", err)
}

// rebuildRows makes rows from their journals.
func (s *Store) rebuildRows(ctx context.Context, ids ...tasks.ID) error {
	return s.submit(ctx, func(tx *rules.Tx) error {
		for _, id := range ids {
			if err := tx.Reindex(id, true); err != nil {
				return err
			}
		}
		return nil
	})
}

// Counts implements tasks.Index.
func (s *Store) Counts(ctx context.Context) (counts map[string]int, err error) {
	err = s.view(ctx, func(b snapshot) (err error) { counts, err = b.Counts(); return err })
	return counts, wrap("counting tasks", err)
}

// readPage reads one page of rows, and looks whether there are more.
func (b snapshot) readPage(q tasks.TaskQuery) (rows []tasks.Row, more bool, damaged []tasks.ID, err error) {
	limit := rules.PageSize(q)
	err = guard(func() error {
		next := b.newestFirst(q)
		for id := next(); id != ""; id = next() {
			l, ok, err := b.Listing(id)
			switch {
			case errors.Is(err, tasks.ErrDamaged):
				b.log.Error("task row damaged", "task", id, "cause", err)
				damaged = append(damaged, id)
			case err != nil:
				return err
			case !ok || !rules.Matches(q, l.Row): // a key without a matching row, after damage
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

// newestFirst returns a function that returns the ids of tasks that may match a
// query, the newest first, and an empty one at the end.
func (b snapshot) newestFirst(q tasks.TaskQuery) (next func() tasks.ID) {
	m := &idHeap{[]*idCursor{newIDCursor(b.bucket(bucketOpen), nil, q.Before, func(key, value []byte) bool {
		body, err := unseal(key, value)
		g, ok := readRowHead(body)
		return err != nil || !ok || g.matches(q) // a damaged one may match
	})}}
	groups, all := b.groups(q)
	if all {
		m.list = append(m.list, newIDCursor(b.bucket(bucketRows), nil, q.Before, nil))
	}
	for _, g := range groups {
		m.list = append(m.list, newIDCursor(b.bucket(bucketListed), g, q.Before, nil))
	}
	m.list = slices.DeleteFunc(m.list, func(w *idCursor) bool { return w.next == "" })
	heap.Init(m)
	last := tasks.ID("")
	return func() tasks.ID {
		for len(m.list) > 0 {
			id := m.list[0].step()
			if m.list[0].next == "" {
				heap.Pop(m)
			} else {
				heap.Fix(m, 0)
			}
			if id != last { // it may be in several groups
				last = id
				return id
			}
		}
		return ""
	}
}

// groups lists the groups of the index that may hold ended tasks that match a
// query; all means that every row may match.
func (b snapshot) groups(q tasks.TaskQuery) (list [][]byte, all bool) {
	statuses := slices.DeleteFunc(slices.Clone(q.Statuses), func(s string) bool { return !isFinal(s) })
	if q.Waits || len(statuses) < len(q.Statuses) && len(statuses) == 0 {
		return nil, false
	}
	scopes, all := b.scopes(q.Rooms)
	if all && len(statuses) == 0 {
		return nil, true
	}
	for _, scope := range scopes {
		if len(statuses) == 0 {
			list = append(list, b.prefixesUnder(scope, func(k []byte) int { return len(scope) + 1 + int(k[len(scope)]) })...)
		}
		for _, status := range statuses {
			list = append(list, append(append(bytes.Clone(scope), byte(len(status))), status...))
		}
	}
	return list, false
}

// scopes are the beginnings of the groups of rooms and platforms; all means that
// the query asks for all platforms.
func (b snapshot) scopes(rooms []string) (list [][]byte, all bool) {
	all = rooms == nil
	for _, room := range rooms {
		platform, whole := rules.PlatformOf(room)
		switch {
		case !whole:
			list = append(list, groupKey(ofRoom, room, ""))
		case platform != "":
			list = append(list, groupKey(ofPlatform, platform, ""))
		default:
			all = true
		}
	}
	if all {
		list = b.prefixesUnder([]byte{ofPlatform}, func(k []byte) int { return 3 + len(conversationOf(k[1:])) })
	}
	return list, all
}

// prefixesUnder lists the different beginnings of the keys under a prefix; size
// returns the length of the beginning of a key.
func (b snapshot) prefixesUnder(prefix []byte, size func(key []byte) int) (list [][]byte) {
	c := b.bucket(bucketListed).Cursor()
	for k, _ := c.Seek(prefix); len(k) > len(prefix) && bytes.HasPrefix(k, prefix); {
		part := bytes.Clone(k[:min(size(k), len(k))])
		list = append(list, part)
		k, _ = c.Seek(append(bytes.Clone(part), 0xff))
	}
	return list
}

// idCursor walks over the ids behind a prefix, from the newest to the oldest.
type idCursor struct {
	c      *bbolt.Cursor
	prefix []byte
	accept func(key, value []byte) bool // nil: all
	next   tasks.ID                     // empty at the end
}

// newIDCursor starts before a task; at the end when that is empty.
func newIDCursor(b *bbolt.Bucket, prefix []byte, before tasks.ID, accept func(key, value []byte) bool) *idCursor {
	w := &idCursor{c: b.Cursor(), prefix: prefix, accept: accept}
	end := append(bytes.Clone(prefix), before...)
	if before == "" {
		end = append(end, 0xff)
	}
	back := w.c.Prev
	if k, _ := w.c.Seek(end); k == nil {
		back = w.c.Last
	}
	w.set(back())
	return w
}

// set moves to the first accepted entry at or before this one.
func (w *idCursor) set(key, value []byte) {
	for ; bytes.HasPrefix(key, w.prefix) && len(key) > len(w.prefix); key, value = w.c.Prev() {
		if w.accept == nil || w.accept(key, value) {
			w.next = tasks.ID(key[len(w.prefix):])
			return
		}
	}
	w.next = ""
}

// step returns the next id and moves on.
func (w *idCursor) step() tasks.ID {
	id := w.next
	if id != "" {
		w.set(w.c.Prev())
	}
	return id
}

// idHeap is a heap of cursors with the newest task first.
type idHeap struct{ list []*idCursor }

func (m *idHeap) Len() int           { return len(m.list) }
func (m *idHeap) Less(i, j int) bool { return m.list[i].next > m.list[j].next }
func (m *idHeap) Swap(i, j int)      { m.list[i], m.list[j] = m.list[j], m.list[i] }
func (m *idHeap) Push(w any)         { m.list = append(m.list, w.(*idCursor)) }
func (m *idHeap) Pop() any {
	last := len(m.list) - 1
	w := m.list[last]
	m.list = m.list[:last]
	return w
}
