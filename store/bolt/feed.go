package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"

	"go.etcd.io/bbolt"

	"legwork/store/rules"
	"legwork/tasks"
)

// Feed implements tasks.Index. It reports no event that State does not know
// yet.
func (s *Store) Feed(ctx context.Context, after uint64, limit int) (entries []tasks.FeedEntry, oldest, newest uint64, err error) {
	err = s.view(ctx, func(b snapshot) error {
		if newest, err = (snapshot{tx: b.tx, cache: s.cache, log: b.log}).FeedEnd(); err != nil {
			return err
		}
		return guard(func() error {
			entries, oldest = b.feedEntries(after, newest, limit)
			return nil
		})
	})
	if err != nil {
		return nil, 0, 0, fmt.Errorf("reading the feed: %w", err)
	}
	return entries, oldest, newest, nil
}

// feedEntries reads entries between two cursors, up to the first unreadable one.
func (b snapshot) feedEntries(after, newest uint64, limit int) (entries []tasks.FeedEntry, oldest uint64) {
	if oldest = b.feedStart(); after >= newest {
		return nil, oldest
	}
	lost := false // the record before could not be read
	for k, v := range b.feedRecords(after) {
		if len(entries) >= limit {
			return entries, oldest
		}
		list, err := readFeedRecord(k, v)
		if err != nil {
			b.log.Error("feed record skipped", "record", describe(bucketFeed, k), "cause", err)
		}
		if len(list) == 0 && len(entries) > 0 { // the entries before may be separated by lost ones
			return entries, oldest
		}
		switch {
		case len(list) == 0 && err == nil:
			oldest = binary.BigEndian.Uint64(k) + 1
		case lost:
			oldest = binary.BigEndian.Uint64(k)
		}
		lost = err != nil
		for _, e := range list {
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

// feedStart is the cursor of the first record; 0 when there is none.
func (b snapshot) feedStart() uint64 {
	for _, name := range []string{bucketFeed, bucketTail} {
		if k, _ := b.bucket(name).Cursor().First(); len(k) == 8 {
			return binary.BigEndian.Uint64(k)
		}
	}
	return 0
}

// feedRecords returns the records, beginning with the one that holds the entry
// after a cursor.
func (b snapshot) feedRecords(after uint64) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		end, last := b.bucket(bucketTail).Cursor().First()
		if end == nil || bytes.Compare(end, number(after+1)) > 0 {
			c := b.bucket(bucketFeed).Cursor()
			k, v := c.Seek(number(after + 1))
			switch {
			case k == nil:
				k, v = c.Last()
			case binary.BigEndian.Uint64(k) > after+1:
				if k, v = c.Prev(); k == nil {
					k, v = c.First()
				}
			}
			for ; k != nil; k, v = c.Next() {
				if !yield(k, v) {
					return
				}
			}
		}
		if end != nil {
			yield(end, last)
		}
	}
}

// FeedEnd implements rules.Snapshot.
func (b snapshot) FeedEnd() (last uint64, err error) {
	if last, ok := b.cache.lastCursor(); ok {
		return last, nil
	}
	err = guard(func() error {
		for _, name := range []string{bucketFeed, bucketTail} {
			k, v := b.bucket(name).Cursor().Last()
			if len(k) != 8 {
				continue
			}
			list, err := readFeedRecord(k, v)
			end := binary.BigEndian.Uint64(k) + uint64(max(len(list), 1)) - 1
			if err != nil { // the number of its entries is unknown
				end += rules.FeedGap
			}
			last = max(last, end)
		}
		return nil
	})
	return last, err
}

// lastCursor returns the cursor that was given last, if it is cached.
func (c *cache) lastCursor() (uint64, bool) {
	if c == nil {
		return 0, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.feedEnd == nil {
		return 0, false
	}
	return *c.feedEnd, true
}

// setFeedEnd caches the cursor that was given last.
func (c *cache) setFeedEnd(last uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.feedEnd = &last
}

// loadFeedEnd caches the cursor that was given last, before the first write:
// otherwise readers could see the first transaction's entries before the states
// that belong to them are cached.
func (s *Store) loadFeedEnd() {
	err := s.db.Load().View(func(tx *bbolt.Tx) error {
		last, err := snapshot{tx: tx, log: s.log}.FeedEnd()
		if err == nil {
			s.cache.setFeedEnd(last)
		}
		return err
	})
	if err != nil {
		s.log.Error("feed end unreadable", "cause", err)
	}
}

// readFeedRecord reads what putFeed wrote.
func readFeedRecord(key, value []byte) ([]tasks.FeedEntry, error) {
	body, err := unseal(key, value)
	if err != nil {
		return nil, err
	}
	cursor, r := binary.BigEndian.Uint64(key), reader{rest: body}
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

// Bounds of the feed.
const (
	feedRecord = 256  // entries of one record
	feedPrune  = 64   // records that one transaction deletes at most
	feedSlack  = 4096 // more entries than necessary are kept, so that many are deleted at once
	feedFill   = 0.95
	tailBytes  = 900 // of the open record: bbolt keeps such a small bucket inline, in a page that each transaction writes anyway
)

// skipFeedNumbers lets the feed continue with much higher numbers, because numbers
// that were given before may be lost. It writes a record without entries, and
// returns the last skipped number.
func (b snapshot) skipFeedNumbers() (last uint64, err error) {
	fed, err := snapshot{tx: b.tx, log: b.log}.FeedEnd()
	if err == nil {
		err = b.closeRecord()
	}
	if err != nil {
		return 0, err
	}
	key := number(fed + rules.FeedGap)
	return fed + rules.FeedGap, b.bucket(bucketFeed).Put(key, seal(key, []byte{0}))
}

// putFeed appends a transaction's entries to the feed: to the open record, while
// it has room for them.
func putFeed(b snapshot, c *rules.Changes) error {
	added := c.Index.Feed
	if len(added) == 0 {
		return nil
	}
	first, count, body := added[0].Cursor, len(added), feedBody(added)
	if from, n, before := b.openRecord(); n > 0 && from+uint64(n) == first && n+count <= feedRecord && len(before)+len(body) <= tailBytes {
		first, count, body = from, n+count, slices.Concat(before, body)
	} else if err := errors.Join(b.closeRecord(), pruneFeed(b, first)); err != nil {
		return err
	}
	if len(body) <= tailBytes {
		key := number(first)
		return b.bucket(bucketTail).Put(key, seal(key, withCount(count, body)))
	}
	feed := b.bucket(bucketFeed)
	feed.FillPercent = feedFill
	for list := range slices.Chunk(added, feedRecord) {
		key := number(list[0].Cursor)
		if err := feed.Put(key, seal(key, withCount(len(list), feedBody(list)))); err != nil {
			return err
		}
	}
	return nil
}

// openRecord returns the record that is still growing: its first cursor, the
// number of its entries, and the entries as they are stored. A damaged one counts
// as none.
func (b snapshot) openRecord() (first uint64, n int, body []byte) {
	k, v := b.bucket(bucketTail).Cursor().First()
	if len(k) != 8 {
		return 0, 0, nil
	}
	body, err := unseal(k, v)
	if err != nil {
		return 0, 0, nil
	}
	r := reader{rest: body}
	n = int(r.number())
	return binary.BigEndian.Uint64(k), n, r.rest
}

// closeRecord moves the open record to the others.
func (b snapshot) closeRecord() error {
	tail, feed := b.bucket(bucketTail), b.bucket(bucketFeed)
	k, v := tail.Cursor().First()
	if k == nil {
		return nil
	}
	key, value := bytes.Clone(k), bytes.Clone(v)
	feed.FillPercent = feedFill
	if err := feed.Put(key, value); err != nil {
		return err
	}
	return tail.Delete(key)
}

// pruneFeed deletes the oldest records, many at once, when all their entries are
// too old.
func pruneFeed(b snapshot, newest uint64) error {
	feed := b.bucket(bucketFeed)
	var old [][]byte
	c := feed.Cursor()
	k, _ := c.First()
	if k == nil || binary.BigEndian.Uint64(k)+rules.KeepFeed+feedSlack > newest {
		return nil
	}
	for len(old) < feedPrune && k != nil {
		next, _ := c.Next()
		if next == nil || binary.BigEndian.Uint64(next)+rules.KeepFeed > newest+1 {
			break
		}
		old, k = append(old, k), next
	}
	return deleteKeys(feed, old)
}

// feedBody is the stored form of entries.
func feedBody(list []tasks.FeedEntry) []byte {
	body := make([]byte, 0, len(list)*32)
	for _, e := range list {
		body = append(binary.AppendUvarint(body, uint64(len(e.Task))), e.Task...)
		body = binary.AppendUvarint(body, uint64(e.Seq))
	}
	return body
}

// withCount is the body of a record with n entries.
func withCount(n int, entries []byte) []byte {
	return append(binary.AppendUvarint(make([]byte, 0, 2+len(entries)), uint64(n)), entries...)
}
