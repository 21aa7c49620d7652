package bolt

import (
	"context"
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"

	"legwork/store/rules"
	"legwork/tasks"
)

// Bounds of the feed.
const (
	feedRecord = 256 // entries of one record
	feedPrune  = 16  // records that one transaction deletes at most
	feedFill   = 0.95
)

// Feed implements tasks.Index. It tells of no event that State does not know yet.
func (s *Store) Feed(ctx context.Context, after uint64, limit int) (entries []tasks.FeedEntry, oldest, newest uint64, err error) {
	err = s.view(ctx, func(b base) error {
		if newest, err = (base{tx: b.tx, cache: s.cache, log: b.log}).Fed(); err != nil {
			return err
		}
		return guard(func() error {
			entries, oldest = b.fed(after, newest, limit)
			return nil
		})
	})
	if err != nil {
		return nil, 0, 0, fmt.Errorf("reading the feed: %w", err)
	}
	return entries, oldest, newest, nil
}

// fed reads entries between two cursors, up to the first that cannot be read.
func (b base) fed(after, newest uint64, limit int) (entries []tasks.FeedEntry, oldest uint64) {
	c := b.bucket(bucketFeed).Cursor()
	k, _ := c.First()
	if len(k) != 8 {
		return nil, 0
	}
	oldest = binary.BigEndian.Uint64(k)
	k, v := c.Seek(number(max(after+1, oldest)))
	if k == nil || binary.BigEndian.Uint64(k) > after+1 {
		if before, value := c.Prev(); before != nil {
			k, v = before, value
		} else if k == nil {
			k, v = c.Last()
		}
	}
	for ; k != nil && len(entries) < limit; k, v = c.Next() {
		first := binary.BigEndian.Uint64(k)
		list, err := feedEntries(k, v)
		if err != nil {
			b.log.Error("leaving out a part of the feed", "record", describe(bucketFeed, k), "error", err)
		}
		if len(list) == 0 { // what comes before cannot be told apart from what is lost
			if len(entries) > 0 {
				return entries, oldest
			}
			if oldest = first + 1; err != nil {
				oldest = newest + 1
				if next, _ := c.Next(); next != nil {
					oldest = binary.BigEndian.Uint64(next)
					_, _ = c.Prev()
				}
			}
			continue
		}
		for _, e := range list {
			if e.Cursor > after && e.Cursor <= newest && len(entries) < limit {
				entries = append(entries, e)
			}
		}
	}
	return entries, oldest
}

// Fed implements rules.Base.
func (b base) Fed() (last uint64, err error) {
	if last, ok := b.cache.fedLast(); ok {
		return last, nil
	}
	err = guard(func() error {
		k, v := b.bucket(bucketFeed).Cursor().Last()
		if len(k) != 8 {
			return nil
		}
		list, err := feedEntries(k, v)
		last = binary.BigEndian.Uint64(k) + uint64(max(len(list), 1)) - 1
		if err != nil { // nobody can say how many there were
			last += rules.FeedJump
		}
		return nil
	})
	return last, err
}

// fedLast is the cursor that was given last, when it is remembered.
func (c *cache) fedLast() (uint64, bool) {
	if c == nil {
		return 0, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fed == nil {
		return 0, false
	}
	return *c.fed, true
}

// feed remembers the cursor that was given last.
func (c *cache) feed(last uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fed = &last
}

// rememberFeed remembers the cursor that was given last, before anything is
// written: otherwise the first transaction's entries could be read before the
// states that belong to them are known.
func (s *Store) rememberFeed() {
	err := s.db.Load().View(func(tx *bbolt.Tx) error {
		last, err := base{tx: tx, log: s.log}.Fed()
		if err == nil {
			s.cache.feed(last)
		}
		return err
	})
	if err != nil {
		s.log.Error("the end of the feed cannot be read", "error", err)
	}
}

// jump lets the numbers of the feed go on further up, where some that were given
// may be lost, and returns the last one that is left out, where a record without
// entries stands.
func (b base) jump() (last uint64, err error) {
	fed, err := base{tx: b.tx, log: b.log}.Fed()
	if err != nil {
		return 0, err
	}
	key := number(fed + rules.FeedJump)
	return fed + rules.FeedJump, b.bucket(bucketFeed).Put(key, seal(key, []byte{0}))
}

// putFeed writes a transaction's events, and deletes old ones.
func putFeed(b base, c *rules.Changes) error {
	feed := b.bucket(bucketFeed)
	feed.FillPercent = feedFill
	for from := 0; from < len(c.Records); from += feedRecord {
		list := c.Records[from:min(from+feedRecord, len(c.Records))]
		body := binary.AppendUvarint(make([]byte, 0, 2+len(list)*32), uint64(len(list)))
		for _, r := range list {
			body = append(binary.AppendUvarint(body, uint64(len(r.Task))), r.Task...)
			body = binary.AppendUvarint(body, uint64(r.Event.Seq))
		}
		key := number(c.Index.Feed + uint64(from))
		if err := feed.Put(key, seal(key, body)); err != nil {
			return err
		}
	}
	if len(c.Records) == 0 {
		return nil
	}
	return pruneFeed(b, c.Index.Feed+uint64(len(c.Records))-1)
}

// pruneFeed deletes the oldest records whose entries are all too old.
func pruneFeed(b base, newest uint64) error {
	feed := b.bucket(bucketFeed)
	var old [][]byte
	c := feed.Cursor()
	k, _ := c.First()
	for len(old) < feedPrune && k != nil {
		next, _ := c.Next()
		if next == nil || binary.BigEndian.Uint64(next)+rules.KeepFeed > newest+1 {
			break
		}
		old, k = append(old, k), next
	}
	return deleteKeys(feed, old)
}

// feedEntries reads what putFeed wrote.
func feedEntries(key, value []byte) ([]tasks.FeedEntry, error) {
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
