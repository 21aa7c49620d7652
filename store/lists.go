package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"legwork/bot"
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
	read := func(x *txn) { rows, more, damaged = index{x}.page(q) }
	err = i.read(ctx, "listing tasks", read)
	if err == nil && len(damaged) > 0 && i.rebuild(ctx, damaged...) == nil {
		err = i.read(ctx, "listing tasks", read)
	}
	return rows, more, err
}

// rebuild makes rows anew from the journals.
func (i Index) rebuild(ctx context.Context, ids ...tasks.ID) error {
	return i.update(ctx, "making rows anew", func(x *txn) { index{x}.rebuild(ids...) })
}

// Row implements tasks.Index. A row that is damaged or missing is made anew from the
// journal.
func (i Index) Row(ctx context.Context, id tasks.ID) (row tasks.Row, err error) {
	read := func(x *txn) {
		row, err = index{x}.existing(id)
		x.fail(err)
	}
	err = i.read(ctx, "reading a task's row", read)
	if errors.Is(err, tasks.ErrDamaged) && i.rebuild(ctx, id) == nil {
		err = i.read(ctx, "reading a task's row", read)
	}
	return row, err
}

// Counts implements tasks.Index.
func (i Index) Counts(ctx context.Context) (counts map[string]int, err error) {
	err = i.read(ctx, "counting tasks", func(x *txn) { counts = index{x}.statuses() })
	return counts, err
}

// page reads one page of rows, and looks whether there are more. It leaves out
// damaged rows, and returns their tasks.
func (x index) page(q tasks.TaskQuery) (rows []tasks.Row, more bool, damaged []tasks.ID) {
	limit := q.Limit
	if limit <= 0 {
		limit = defaultPage
	}
	places, from := placesOf(q.Rooms), fromOf(q.From)
	for r := range x.candidates(q) {
		id := tasks.ID(r.Key)
		var l listing
		var ok bool
		var err error
		if r.Value == nil {
			l, ok, err = endedRows.get(x, id)
		} else {
			l, ok, err = readRow(r, places, from)
		}
		switch {
		case err != nil:
			x.skip(TableRows, r.Key, err)
			damaged = append(damaged, id)
		case !ok || !matches(q, l.Row): // a key without a matching row, after damage
		case len(rows) == limit:
			return rows, true, damaged
		default:
			rows = append(rows, l.Row)
		}
	}
	return rows, false, damaged
}

// placesOf returns the bytes that rows of tasks in rooms contain. Nil: rows of any task
// may be asked for.
func placesOf(rooms []string) (places [][]byte) {
	for _, room := range rooms {
		if _, all := platformOf(room); all {
			return nil
		}
		platform, id, _ := strings.Cut(room, ":")
		places = append(places, appendText(appendText(nil, platform), id))
	}
	return places
}

// fromOf returns the bytes that rows of a person's tasks contain; nil: of anybody's.
func fromOf(person string) []byte {
	if person == "" {
		return nil
	}
	platform, id, _ := strings.Cut(person, ":")
	return appendText(appendText(nil, platform), id)
}

// readRow reads the stored row of a task; ok is false when the row is of another
// place or person. Most open tasks are: to decode all their rows would take several times as
// long.
func readRow(r Record, places [][]byte, from []byte) (l listing, ok bool, err error) {
	body, err := Unseal(r)
	in := func(place []byte) bool { return bytes.Contains(body, place) }
	if err == nil && (places != nil && !slices.ContainsFunc(places, in) || from != nil && !in(from)) {
		return l, false, nil
	}
	l, err = endedRows.read(r) // open rows have the same form
	return l, true, err
}

// candidates returns the records of tasks that may match a query, the newest task
// first. The keys are the ids. A record is that of a row, or it has no value and
// belongs to a task that has ended.
func (x index) candidates(q tasks.TaskQuery) iter.Seq[Record] {
	var before []byte
	if q.Before != "" {
		before = []byte(q.Before)
	}
	list := records(x, TableOpen, nil, before, Descending)
	statuses := finalStatuses
	if len(q.Statuses) > 0 {
		statuses = slices.DeleteFunc(slices.Clone(q.Statuses), func(s string) bool { return !isFinal(s) })
	}
	if q.Waits || len(statuses) == 0 {
		return list
	}
	scopes, all := x.scopes(q.Rooms)
	if all && len(q.Statuses) == 0 {
		return merged(list, records(x, TableRows, nil, before, Descending))
	}
	for _, scope := range scopes {
		for _, status := range statuses {
			group := append(append(bytes.Clone(scope), byte(len(status))), status...)
			list = merged(list, x.members(group, before))
		}
	}
	return list
}

// members returns the tasks of a group, the newest first, as records without values.
func (x index) members(group, before []byte) iter.Seq[Record] {
	end := afterPrefix(group)
	if before != nil {
		end = append(bytes.Clone(group), before...)
	}
	return func(yield func(Record) bool) {
		for r := range records(x, TableListed, group, end, Descending) {
			if !yield(Record{Key: r.Key[len(group):]}) {
				return
			}
		}
	}
}

// merged merges two ranges whose keys descend. A key that both have comes once, with
// the value of the first range. The values must not be read here: the second range
// runs in a goroutine of its own, where a database cannot catch the fault that
// reading a damaged file causes.
func merged(first, second iter.Seq[Record]) iter.Seq[Record] {
	return func(yield func(Record) bool) {
		next, stop := iter.Pull(second)
		defer stop()
		other, more := next()
		for r := range first {
			for ; more && bytes.Compare(other.Key, r.Key) >= 0; other, more = next() {
				if !bytes.Equal(other.Key, r.Key) && !yield(other) {
					return
				}
			}
			if !yield(r) {
				return
			}
		}
		for ; more; other, more = next() {
			if !yield(other) {
				return
			}
		}
	}
}

// scopes are the beginnings of the groups of rooms and platforms; all means that the
// rooms are those of all platforms.
func (x index) scopes(rooms []string) (list [][]byte, all bool) {
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
		list = x.platforms()
	}
	return list, all
}

// platforms lists the beginnings of the groups of all platforms.
func (x index) platforms() (list [][]byte) {
	from, end := []byte{ofPlatform}, []byte{ofPlatform + 1}
	for {
		key := firstKey(x, TableListed, from, end, Ascending)
		if key == nil {
			return list
		}
		scope := key[:min(3+len(nameIn(key[1:])), len(key))]
		list, from = append(list, scope), afterPrefix(scope)
	}
}

// matches reports whether a row matches a query.
func matches(q tasks.TaskQuery, r tasks.Row) bool {
	if q.Before != "" && r.Task >= q.Before || q.Waits && !r.Waits || q.From != "" && q.From != r.From.Key() {
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

// The flags of a task's row in lists.
const (
	listingWaits = 1 << iota
	listingExternal
	listingPrivate // its chat is
)

// encodeListing returns flags, texts with their lengths, and numbers. What queries
// match comes first.
func encodeListing(l listing) ([]byte, error) {
	flags := flag(listingWaits, l.Waits) | flag(listingExternal, l.External) | flag(listingPrivate, l.Chat.Private)
	body := append(make([]byte, 0, 160+len(l.Goal)), flags)
	for _, text := range []string{
		l.Status, l.Chat.Platform, l.Chat.ID, l.Chat.Thread, l.From.Platform, l.From.ID, l.From.Name, l.webhook, l.Goal,
	} {
		body = appendText(body, text)
	}
	body = binary.AppendUvarint(binary.AppendUvarint(body, uint64(l.Round)), uint64(l.asked))
	for _, at := range []time.Time{l.Opened, l.Changed, l.Since} {
		body = binary.AppendUvarint(binary.AppendVarint(body, at.Unix()), uint64(at.Nanosecond()))
	}
	for _, group := range l.Groups {
		body = appendText(body, group)
	}
	return body, nil
}

// decodeListing reads what encodeListing wrote.
func decodeListing(key, body []byte) (listing, error) {
	r := reader{rest: body}
	flags := r.byte()
	l := listing{Row: tasks.Row{
		Task: tasks.ID(key), Waits: flags&listingWaits != 0, External: flags&listingExternal != 0,
		Status: r.text(), Chat: bot.Chat{Platform: r.text(), ID: r.text(), Thread: r.text(), Private: flags&listingPrivate != 0},
		From: bot.Person{Platform: r.text(), ID: r.text(), Name: r.text()},
	}}
	l.webhook, l.Goal = r.text(), r.text()
	l.Round, l.asked = int(r.number()), int(r.number())
	l.Opened, l.Changed, l.Since = r.time(), r.time(), r.time()
	for len(r.rest) > 0 && !r.short {
		l.Groups = append(l.Groups, r.text())
	}
	if r.short {
		return listing{}, fmt.Errorf("%w: row of a list", tasks.ErrDamaged)
	}
	return l, nil
}
