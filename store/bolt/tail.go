package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"legwork/store/rules"
	"legwork/tasks"
)

// Bounds of the feed.
const (
	feedRecord = 256  // entries of one record
	feedPrune  = 64   // records that one transaction deletes at most
	feedSlack  = 4096 // entries that are kept past those that must be, so that many go at once
	feedFill   = 0.95
	tailBytes  = 900 // of the record that is still growing: bbolt keeps its bucket within a page that each transaction writes
)

// skipFeedNumbers lets the numbers of the feed go on further up, where some that were given
// may be lost, and returns the last one that is left out, where a record without
// entries stands.
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

// putFeed writes a transaction's entries to the end of the feed: to the record that
// is still growing, while it has room for them.
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

// openRecord is the record that is still growing: its first cursor, how many entries
// it has, and these as they are stored. None when it is damaged.
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

// closeRecord puts the record that is still growing to the others, as it is.
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

// pruneFeed deletes the oldest records whose entries are all too old, many at once.
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

// withCount is the body of a record with so many entries.
func withCount(n int, entries []byte) []byte {
	return append(binary.AppendUvarint(make([]byte, 0, 2+len(entries)), uint64(n)), entries...)
}
