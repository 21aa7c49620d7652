package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"

	"legwork/tasks"
)

// keepFeed is how many entries of the feed are kept at least.
const keepFeed = 100_000

// feedGap is how many cursors the feed skips when cursors that were given before may
// be lost, so that none is given twice.
const feedGap = 1 << 20

// Bounds of the feed.
const (
	feedPrune = 64   // records that one transaction deletes at most
	feedSlack = 4096 // more entries than necessary are kept, so that many are deleted at once
	tailBytes = 900  // of the open record: it is written again with nearly every event
)

// Feed implements tasks.Index. It reports no event that State does not know yet.
func (i Index) Feed(ctx context.Context, after uint64, limit int) (entries []tasks.FeedEntry, oldest, newest uint64, err error) {
	err = i.read(ctx, "reading the feed", func(x *txn) {
		newest = x.cache.fed.Load()
		entries, oldest = feed{x}.between(after, newest, limit)
	})
	if err != nil {
		return nil, 0, 0, err
	}
	return entries, oldest, newest, nil
}

// feed is the entries of all events in their order, within a transaction.
type feed struct{ *txn }

// end returns the cursor that was given last; 0 before any. The open record comes
// after all others.
func (x feed) end() uint64 {
	for _, t := range []table[uint64, []tasks.FeedEntry]{tailRecord, feedRecords} {
		for e := range t.scan(x, nil, nil, Descending) {
			last := numberOf(e.key) + uint64(max(len(e.value), 1)) - 1
			if e.damaged != nil { // the number of its entries is unknown
				last += feedGap
			}
			return last
		}
	}
	return 0
}

// between returns at most limit entries after a cursor, up to the first ones that
// are lost, and the cursor of the oldest entry that can be read without a gap. It
// leaves out entries after newest.
func (x feed) between(after, newest uint64, limit int) (entries []tasks.FeedEntry, oldest uint64) {
	if oldest = numberOf(firstKey(x, TableFeed, nil, nil, Ascending)); oldest == 0 {
		oldest = numberOf(firstKey(x, TableTail, nil, nil, Ascending))
	}
	if after >= newest {
		return nil, oldest
	}
	lost := false // the record before could not be read
	for r := range x.recordsAfter(after) {
		if len(entries) >= limit {
			return entries, oldest
		}
		if r.damaged != nil {
			x.skip(TableFeed, r.key, r.damaged)
		}
		if len(r.value) == 0 && len(entries) > 0 { // the entries before may be separated by lost ones
			return entries, oldest
		}
		switch {
		case len(r.value) == 0 && r.damaged == nil:
			oldest = numberOf(r.key) + 1
		case lost:
			oldest = numberOf(r.key)
		}
		lost = r.damaged != nil
		for _, e := range r.value {
			if e.Cursor > after && e.Cursor <= newest && len(entries) < limit {
				entries = append(entries, e)
			}
		}
	}
	if lost && len(entries) == 0 {
		oldest = newest + 1
	}
	return entries, oldest
}

// recordsAfter returns the records, beginning with the one that holds the entry after a
// cursor.
func (x feed) recordsAfter(after uint64) iter.Seq[entry[[]tasks.FeedEntry]] {
	return func(yield func(entry[[]tasks.FeedEntry]) bool) {
		tail := firstKey(x, TableTail, nil, nil, Ascending)
		if tail == nil || numberOf(tail) > after+1 {
			from := firstKey(x, TableFeed, nil, numberKey(after+2), Descending)
			for e := range feedRecords.scan(x, from, nil, Ascending) {
				if !yield(e) {
					return
				}
			}
		}
		tailRecord.scan(x, nil, nil, Ascending)(yield)
	}
}

// add appends the entries of the transaction: to the open record, while that has
// room for them.
func (x feed) add() {
	if len(x.entries) == 0 {
		return
	}
	first, n, body := x.open()
	last := first + uint64(n) - 1
	if n == 0 {
		last = x.end()
	}
	for i := range x.entries {
		last++
		x.entries[i].Cursor = last
	}
	x.fed = last
	added := appendEntries(nil, x.entries)
	if n > 0 && n+len(x.entries) <= feedRecord && len(body)+len(added) <= tailBytes {
		x.putTail(first, n+len(x.entries), slices.Concat(body, added))
		return
	}
	x.closeRecord()
	first = x.entries[0].Cursor
	x.prune(first)
	if len(added) <= tailBytes && len(x.entries) <= feedRecord {
		x.putTail(first, len(x.entries), added)
		return
	}
	for part := range slices.Chunk(x.entries, feedRecord) {
		feedRecords.put(x, part[0].Cursor, part)
	}
}

// open returns the record that is still growing, without decoding its entries: the
// cursor of the first one, their number, and the entries as they are stored. A
// damaged record counts as none.
func (x feed) open() (first uint64, n int, entries []byte) {
	for r := range records(x, TableTail, nil, nil, Ascending) {
		body, damaged := Unseal(r)
		if damaged != nil {
			break
		}
		parts := reader{rest: body}
		n = int(parts.number())
		return numberOf(r.Key), n, parts.rest
	}
	return 0, 0, nil
}

// putTail writes the open record with n entries as they are stored.
func (x feed) putTail(first uint64, n int, entries []byte) {
	key := numberKey(first)
	body := append(binary.AppendUvarint(make([]byte, 0, 2+len(entries)), uint64(n)), entries...)
	x.fail(x.Put(TableTail, key, Seal(key, body)))
}

// closeRecord moves the open record, which may be damaged, to the others.
func (x feed) closeRecord() {
	if key := firstKey(x, TableTail, nil, nil, Ascending); key != nil {
		value, err := x.Get(TableTail, key)
		x.fail(err)
		x.fail(x.Put(TableFeed, key, value))
		x.fail(x.Delete(TableTail, key))
	}
}

// prune deletes the oldest records, many at once, when all their entries are too
// old.
func (x feed) prune(newest uint64) {
	oldest := firstKey(x, TableFeed, nil, nil, Ascending)
	if oldest == nil || numberOf(oldest)+keepFeed+feedSlack > newest {
		return
	}
	// The entries of a record end where the next record begins.
	if kept := firstKey(x, TableFeed, nil, numberKey(newest-keepFeed+2), Descending); kept != nil {
		deleteRange(x, TableFeed, nil, kept, feedPrune)
	}
}

// skipAhead lets the feed continue with much higher cursors, because cursors that were
// given before may be lost. It writes a record without entries.
func (x feed) skipAhead() {
	last := x.end()
	x.closeRecord()
	x.fed = last + feedGap
	feedRecords.put(x, x.fed, nil)
}

// feedRecord is how many entries of the feed a record holds at most.
const feedRecord = 256

// encodeFeed returns the number of the entries, and of each its task and seq. Their
// cursors follow from the key.
func encodeFeed(list []tasks.FeedEntry) ([]byte, error) {
	body := binary.AppendUvarint(make([]byte, 0, 2+len(list)*32), uint64(len(list)))
	return appendEntries(body, list), nil
}

// appendEntries appends entries of the feed to the body of a record.
func appendEntries(body []byte, list []tasks.FeedEntry) []byte {
	for _, e := range list {
		body = append(binary.AppendUvarint(body, uint64(len(e.Task))), e.Task...)
		body = binary.AppendUvarint(body, uint64(e.Seq))
	}
	return body
}

// decodeFeed reads what encodeFeed wrote.
func decodeFeed(key, body []byte) ([]tasks.FeedEntry, error) {
	cursor, r := numberOf(key), reader{rest: body}
	n := r.number()
	if n > feedRecord {
		return nil, fmt.Errorf("%w: feed", tasks.ErrDamaged)
	}
	list := make([]tasks.FeedEntry, 0, n)
	for range n {
		list = append(list, tasks.FeedEntry{Cursor: cursor, Task: tasks.ID(r.text()), Seq: int(r.number())})
		cursor++
	}
	if r.short {
		return nil, fmt.Errorf("%w: feed", tasks.ErrDamaged)
	}
	return list, nil
}
