package store

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"legwork/tasks"
)

// Index implements tasks.Index.
type Index struct{ *core }

// defaultPage is how many rows a query without a limit returns.
const defaultPage = 50

// Tasks implements tasks.Index. A row that is damaged is made anew from the journal;
// when that fails, the list goes on without it.
func (i Index) Tasks(ctx context.Context, q tasks.TaskQuery) (rows []tasks.Row, more bool, err error) {
	var damaged []tasks.ID
	read := func(x *txn) (err error) {
		rows, more, damaged, err = index{x}.page(q)
		return err
	}
	err = i.view(ctx, "listing tasks", read)
	if err == nil && len(damaged) > 0 && i.rebuild(ctx, damaged...) == nil {
		err = i.view(ctx, "listing tasks", read)
	}
	return rows, more, err
}

// rebuild makes rows anew from the journals.
func (i Index) rebuild(ctx context.Context, ids ...tasks.ID) error {
	return i.update(ctx, "making rows anew", func(x *txn) error { return index{x}.rebuild(ids...) })
}

// Row implements tasks.Index. A row that is damaged or missing is made anew from the
// journal.
func (i Index) Row(ctx context.Context, id tasks.ID) (row tasks.Row, err error) {
	read := func(x *txn) (err error) {
		row, err = index{x}.existing(id)
		return err
	}
	err = i.view(ctx, "reading a task's row", read)
	if errors.Is(err, tasks.ErrDamaged) && i.rebuild(ctx, id) == nil {
		err = i.view(ctx, "reading a task's row", read)
	}
	return row, err
}

// Counts implements tasks.Index.
func (i Index) Counts(ctx context.Context) (counts map[string]int, err error) {
	err = i.view(ctx, "counting tasks", func(x *txn) (err error) {
		counts, err = index{x}.statuses()
		return err
	})
	return counts, err
}

// page reads one page of rows, and looks whether there are more. It leaves out
// damaged rows, and returns their tasks.
func (x index) page(q tasks.TaskQuery) (rows []tasks.Row, more bool, damaged []tasks.ID, err error) {
	limit := q.Limit
	if limit <= 0 {
		limit = defaultPage
	}
	candidates, err := x.candidates(q)
	if err != nil {
		return nil, false, nil, err
	}
	for r, err := range candidates {
		if err != nil {
			return nil, false, nil, err
		}
		id, ok := tasks.ID(r.Key), true
		var l listing
		if r.Value == nil {
			l, ok, err = endedRows.get(x, id)
		} else {
			l, err = endedRows.read(r) // open rows have the same form
		}
		switch {
		case errors.Is(err, tasks.ErrDamaged):
			x.skip(TableRows, r.Key, err)
			damaged = append(damaged, id)
		case err != nil:
			return nil, false, nil, err
		case !ok || !matches(q, l.Row): // a key without a matching row, after damage
		case len(rows) == limit:
			return rows, true, damaged, nil
		default:
			rows = append(rows, l.Row)
		}
	}
	return rows, false, damaged, nil
}

// candidates returns the records of tasks that may match a query, the newest task
// first. The keys are the ids. A record is that of a row, or it has no value and
// belongs to a task that has ended.
func (x index) candidates(q tasks.TaskQuery) (iter.Seq2[Record, error], error) {
	var before []byte
	if q.Before != "" {
		before = []byte(q.Before)
	}
	list := x.Range(TableOpen, nil, before, Descending)
	statuses := finalStatuses
	if len(q.Statuses) > 0 {
		statuses = slices.DeleteFunc(slices.Clone(q.Statuses), func(s string) bool { return !isFinal(s) })
	}
	if q.Waits || len(statuses) == 0 {
		return list, nil
	}
	scopes, all, err := x.scopes(q.Rooms)
	if err != nil {
		return nil, err
	}
	if all && len(q.Statuses) == 0 {
		return merged(list, x.Range(TableRows, nil, before, Descending)), nil
	}
	for _, scope := range scopes {
		for _, status := range statuses {
			group := append(append(bytes.Clone(scope), byte(len(status))), status...)
			list = merged(list, x.members(group, before))
		}
	}
	return list, nil
}

// members returns the tasks of a group, the newest first, as records without values.
func (x index) members(group, before []byte) iter.Seq2[Record, error] {
	end := afterPrefix(group)
	if before != nil {
		end = append(bytes.Clone(group), before...)
	}
	return func(yield func(Record, error) bool) {
		for r, err := range x.Range(TableListed, group, end, Descending) {
			if err == nil {
				r = Record{Key: r.Key[len(group):]}
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// merged merges two ranges whose keys descend. A key that both have comes once, with
// the value of the first range. The values must not be read here: the second range
// runs in a goroutine of its own, where a database cannot catch the fault that
// reading a damaged file causes.
func merged(first, second iter.Seq2[Record, error]) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		next, stop := iter.Pull2(second)
		defer stop()
		other, bad, more := next()
		for r, err := range first {
			for err == nil && more && (bad != nil || bytes.Compare(other.Key, r.Key) > 0) {
				if !yield(other, bad) {
					return
				}
				other, bad, more = next()
			}
			if err == nil && more && bytes.Equal(other.Key, r.Key) {
				other, bad, more = next()
			}
			if !yield(r, err) {
				return
			}
		}
		for ; more; other, bad, more = next() {
			if !yield(other, bad) {
				return
			}
		}
	}
}

// scopes are the beginnings of the groups of rooms and platforms; all means that the
// rooms are those of all platforms.
func (x index) scopes(rooms []string) (list [][]byte, all bool, err error) {
	all = rooms == nil
	for _, room := range rooms {
		platform, whole := platformOf(room)
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
		list, err = x.platforms()
	}
	return list, all, err
}

// platforms lists the beginnings of the groups of all platforms.
func (x index) platforms() (list [][]byte, err error) {
	from, end := []byte{ofPlatform}, []byte{ofPlatform + 1}
	for {
		key, err := firstKey(x, TableListed, from, end, Ascending)
		if err != nil || key == nil {
			return list, err
		}
		scope := key[:min(3+len(nameIn(key[1:])), len(key))]
		list, from = append(list, scope), afterPrefix(scope)
	}
}

// matches reports whether a row matches a query.
func matches(q tasks.TaskQuery, r tasks.Row) bool {
	if q.Before != "" && r.Task >= q.Before || q.Waits && !r.Waits {
		return false
	}
	return (len(q.Statuses) == 0 || slices.Contains(q.Statuses, r.Status)) && inRooms(q.Rooms, r)
}

func inRooms(rooms []string, r tasks.Row) bool {
	if rooms == nil {
		return true
	}
	return slices.ContainsFunc(rooms, func(room string) bool {
		if platform, all := platformOf(room); all {
			return platform == "" || platform == r.Chat.Platform
		}
		return room == r.Chat.Room()
	})
}

// platformOf returns the platform that a query names in place of a room; empty for
// all platforms.
func platformOf(room string) (platform string, all bool) {
	if room == "*" {
		return "", true
	}
	platform, all = strings.CutSuffix(room, ":*")
	return platform, all && !strings.Contains(platform, ":")
}
