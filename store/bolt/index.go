package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"legwork/bot"
	"legwork/planner"
	"legwork/store/rules"
	"legwork/tasks"
)

// What the index keeps in the meta bucket.
const (
	metaCounts    = "counts"   // tasks of each status
	metaAuditEnd  = "audited"  // number of the audit log that was given last
	metaUnindexed = "unlisted" // tasks before it have no rows yet
)

// groupKey begins the keys of the tasks of a room or a platform that ended with a
// status, or with any when it is empty; the rest of a key is a task's id.
func groupKey(kind byte, name, status string) []byte {
	key := append([]byte{kind}, namePrefix(name)...)
	if status == "" {
		return key
	}
	return append(append(key, byte(len(status))), status...)
}

// The kinds of a group.
const (
	ofRoom     = 'r'
	ofPlatform = 'p'
)

// indexKeys are the keys under which a row is found. Of tasks that are not over there
// are few: they are looked through.
func indexKeys(l *rules.Listing) [][]byte {
	if l == nil || !isFinal(l.Status) {
		return nil
	}
	return [][]byte{
		append(groupKey(ofRoom, l.Chat.Room(), l.Status), l.Task...),
		append(groupKey(ofPlatform, l.Chat.Platform, l.Status), l.Task...),
	}
}

// rowBucket is the bucket of a row.
func rowBucket(l *rules.Listing) string {
	if isFinal(l.Status) {
		return bucketRows
	}
	return bucketOpen
}

// putIndex writes what changes of the index.
func putIndex(b snapshot, c *rules.Changes) error {
	b.bucket(bucketRows).FillPercent = feedFill // most tasks end about in the order of their ids
	for id, r := range c.Index.Listings {
		if err := putListing(b, id, r); err != nil {
			return err
		}
	}
	if c.Index.Counts != nil {
		if err := putJSON(b.tx, bucketMeta, []byte(metaCounts), c.Index.Counts); err != nil {
			return err
		}
	}
	if at := c.Index.Unindexed; at != nil {
		write := func() error { return putJSON(b.tx, bucketMeta, []byte(metaUnindexed), at) }
		if *at == "" {
			write = func() error { return b.bucket(bucketMeta).Delete([]byte(metaUnindexed)) }
		}
		if err := write(); err != nil {
			return err
		}
	}
	return errors.Join(putFeed(b, c), putAudit(b, c), putDeliveries(b, c))
}

func putListing(b snapshot, id tasks.ID, r rules.ListingChange) error {
	before, after := indexKeys(r.Before), indexKeys(r.After)
	listed := b.bucket(bucketListed)
	has := func(keys [][]byte, key []byte) bool {
		return slices.ContainsFunc(keys, func(k []byte) bool { return bytes.Equal(k, key) })
	}
	for _, key := range before {
		if !has(after, key) {
			if err := listed.Delete(key); err != nil {
				return err
			}
		}
	}
	for _, key := range after {
		if r.Rewrite || !has(before, key) {
			if err := listed.Put(key, seal(key, nil)); err != nil {
				return err
			}
		}
	}
	key := []byte(id)
	if r.Rewrite || r.Before != nil && (r.After == nil || rowBucket(r.Before) != rowBucket(r.After)) {
		if err := errors.Join(b.bucket(bucketRows).Delete(key), b.bucket(bucketOpen).Delete(key)); err != nil {
			return err
		}
	}
	if r.After == nil {
		return nil
	}
	return b.bucket(rowBucket(r.After)).Put(key, seal(key, rowBody(*r.After)))
}

// Listing implements rules.Snapshot.
func (b snapshot) Listing(id tasks.ID) (l rules.Listing, found bool, err error) {
	if id == "" {
		return l, false, nil
	}
	key := []byte(id)
	err = guard(func() error {
		for _, name := range []string{bucketOpen, bucketRows} {
			if value := b.bucket(name).Get(key); value != nil {
				found = true
				body, err := unseal(key, value)
				if err == nil {
					l, err = rowOf(id, body)
				}
				return err
			}
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("reading the row of task %s: %w", id, err)
	}
	return l, found, err
}

// Counts implements rules.Snapshot. When they are damaged, the tasks are counted.
func (b snapshot) Counts() (map[string]int, error) {
	counts := map[string]int{}
	_, err := b.row(bucketMeta, []byte(metaCounts), &counts)
	if errors.Is(err, tasks.ErrDamaged) {
		b.log.Error("counting the tasks anew", "error", err)
		return b.Recount()
	}
	return counts, err
}

// Recount implements rules.Snapshot.
func (b snapshot) Recount() (map[string]int, error) {
	counts := map[string]int{}
	err := guard(func() error {
		c := b.bucket(bucketListed).Cursor()
		prefix := []byte{ofPlatform}
		for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
			counts[statusOf(k)]++
		}
		c = b.bucket(bucketOpen).Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			if body, err := unseal(k, v); err == nil {
				if g, ok := readRowHead(body); ok {
					counts[string(g.status)]++
				}
			}
		}
		return nil
	})
	return counts, err
}

// Outcome implements rules.Snapshot.
func (b snapshot) Outcome(id tasks.ID, c bot.Chat) (status string, err error) {
	err = guard(func() error {
		for _, outcome := range []planner.Outcome{planner.Done, planner.Failed, planner.Halted} {
			if b.bucket(bucketListed).Get(append(groupKey(ofPlatform, c.Platform, string(outcome)), id...)) != nil {
				status = string(outcome)
			}
		}
		return nil
	})
	return status, err
}

// statusOf is the status in a key of the index.
func statusOf(key []byte) string {
	at := 3 + len(conversationOf(key[1:]))
	if at >= len(key) {
		return ""
	}
	return string(key[at+1 : min(at+1+int(key[at]), len(key))])
}

// Journal implements rules.Snapshot.
func (b snapshot) Journal(id tasks.ID) ([]planner.Event, error) { return b.events(id, 0) }

// Event implements rules.Snapshot.
func (b snapshot) Event(id tasks.ID, seq int) (e planner.Event, err error) {
	err = guard(func() (err error) {
		key := journalKey(id, seq)
		e, err = event(key, b.bucket(bucketJournal).Get(key))
		return err
	})
	return e, err
}

// number is a key that is one.
func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
