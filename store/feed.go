package store

import (
	"context"
	"encoding/binary"
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
	err = i.view(ctx, "reading the feed", func(x *txn) (err error) {
		var known bool
		if newest, known = i.cache.lastCursor(); !known {
			newest, err = feed{x}.end()
		}
		if err == nil {
			entries, oldest, err = feed{x}.between(after, newest, limit)
		}
		return err
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
func (x feed) end() (uint64, error) {
	for _, t := range []table[uint64, []tasks.FeedEntry]{tailRecord, feedRecords} {
		for e, err := range t.scan(x, nil, nil, Descending) {
			if err != nil {
				return 0, err
			}
			last := numberOf(e.key) + uint64(max(len(e.value), 1)) - 1
			if e.damaged != nil { // the number of its entries is unknown
				last += feedGap
			}
			return last, nil
		}
	}
	return 0, nil
}

// between returns at most limit entries after a cursor, up to the first ones that
// are lost, and the cursor of the oldest entry that can be read without a gap. It
// leaves out entries after newest.
func (x feed) between(after, newest uint64, limit int) (entries []tasks.FeedEntry, oldest uint64, err error) {
	for _, t := range []Table{TableFeed, TableTail} {
		first, err := firstKey(x, t, nil, nil, Ascending)
		if err != nil {
			return nil, 0, err
		}
		if oldest = numberOf(first); oldest > 0 {
			break
		}
	}
	if after >= newest {
		return nil, oldest, nil
	}
	lost := false // the record before could not be read
	for r, err := range x.records(after) {
		if err != nil {
			return nil, 0, err
		}
		if len(entries) >= limit {
			return entries, oldest, nil
		}
		if r.damaged != nil {
			x.txn.skip(TableFeed, r.key, r.damaged)
		}
		if len(r.value) == 0 && len(entries) > 0 { // the entries before may be separated by lost ones
			return entries, oldest, nil
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
	return entries, oldest, nil
}

// records returns the records, beginning with the one that holds the entry after a
// cursor.
func (x feed) records(after uint64) iter.Seq2[entry[[]tasks.FeedEntry], error] {
	return func(yield func(entry[[]tasks.FeedEntry], error) bool) {
		tail, err := firstKey(x, TableTail, nil, nil, Ascending)
		if err == nil && (tail == nil || numberOf(tail) > after+1) {
			var from []byte
			from, err = firstKey(x, TableFeed, nil, numberKey(after+2), Descending)
			if err == nil {
				for e, err := range feedRecords.scan(x, from, nil, Ascending) {
					if !yield(e, err) {
						return
					}
				}
			}
		}
		if err != nil {
			yield(entry[[]tasks.FeedEntry]{}, err)
			return
		}
		for e, err := range tailRecord.scan(x, nil, nil, Ascending) {
			if !yield(e, err) {
				return
			}
		}
	}
}

// add appends the entries of the transaction: to the open record, while that has
// room for them.
func (x feed) add() error {
	if len(x.entries) == 0 {
		return nil
	}
	first, n, body, err := x.open()
	if err != nil {
		return err
	}
	last := first + uint64(n) - 1
	if n == 0 {
		if last, err = x.end(); err != nil {
			return err
		}
	}
	for i := range x.entries {
		last++
		x.entries[i].Cursor = last
	}
	x.fed = last
	added := appendEntries(nil, x.entries)
	if n > 0 && n+len(x.entries) <= feedRecord && len(body)+len(added) <= tailBytes {
		return x.putTail(first, n+len(x.entries), slices.Concat(body, added))
	}
	if err := x.closeRecord(); err != nil {
		return err
	}
	first = x.entries[0].Cursor
	if err := x.prune(first); err != nil {
		return err
	}
	if len(added) <= tailBytes && len(x.entries) <= feedRecord {
		return x.putTail(first, len(x.entries), added)
	}
	for part := range slices.Chunk(x.entries, feedRecord) {
		if err := feedRecords.put(x, part[0].Cursor, part); err != nil {
			return err
		}
	}
	return nil
}

// open returns the record that is still growing, without decoding its entries: the
// cursor of the first one, their number, and the entries as they are stored. A
// damaged record counts as none.
func (x feed) open() (first uint64, n int, entries []byte, err error) {
	for r, err := range x.Range(TableTail, nil, nil, Ascending) {
		if err != nil {
			return 0, 0, nil, err
		}
		body, damaged := unseal(r.Key, r.Value)
		if damaged != nil {
			return 0, 0, nil, nil
		}
		parts := reader{rest: body}
		n = int(parts.number())
		return numberOf(r.Key), n, parts.rest, nil
	}
	return 0, 0, nil, nil
}

// putTail writes the open record with n entries as they are stored.
func (x feed) putTail(first uint64, n int, entries []byte) error {
	key := numberKey(first)
	body := append(binary.AppendUvarint(make([]byte, 0, 2+len(entries)), uint64(n)), entries...)
	return x.Put(TableTail, key, seal(key, body))
}

// closeRecord moves the open record, which may be damaged, to the others.
func (x feed) closeRecord() error {
	key, err := firstKey(x, TableTail, nil, nil, Ascending)
	if err != nil || key == nil {
		return err
	}
	value, err := x.Get(TableTail, key)
	if err == nil {
		err = x.Put(TableFeed, key, value)
	}
	if err == nil {
		err = x.Delete(TableTail, key)
	}
	return err
}

// prune deletes the oldest records, many at once, when all their entries are too
// old.
func (x feed) prune(newest uint64) error {
	oldest, err := firstKey(x, TableFeed, nil, nil, Ascending)
	if err != nil || oldest == nil || numberOf(oldest)+keepFeed+feedSlack > newest {
		return err
	}
	// The entries of a record end where the next record begins.
	kept, err := firstKey(x, TableFeed, nil, numberKey(newest-keepFeed+2), Descending)
	if err == nil {
		err = deleteRange(x, TableFeed, nil, kept, feedPrune)
	}
	return err
}

// skip lets the feed continue with much higher cursors, because cursors that were
// given before may be lost. It writes a record without entries.
func (x feed) skip() error {
	last, err := x.end()
	if err == nil {
		err = x.closeRecord()
	}
	if err != nil {
		return err
	}
	x.fed = last + feedGap
	return feedRecords.put(x, x.fed, nil)
}
