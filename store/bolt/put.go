package bolt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"legwork/store/rules"
	"legwork/tasks"
)

// sweepAtOnce bounds how many expired dedupe rows one transaction removes.
const sweepAtOnce = 256

// put writes changes into the transaction. known is what is committed.
func put(tx *bbolt.Tx, known *cache, c *rules.Changes, now time.Time) error {
	for _, r := range c.Records {
		key := journalKey(r.Task, r.Event.Seq)
		if err := tx.Bucket([]byte(bucketJournal)).Put(key, seal(key, r.Body)); err != nil {
			return err
		}
	}
	for _, r := range c.Rows {
		key := historyKey(r.Conversation, r.Order, r.Answer)
		if r.Fallback && tx.Bucket([]byte(bucketHistory)).Get(key) != nil {
			continue
		}
		if err := tx.Bucket([]byte(bucketHistory)).Put(key, historyValue(key, r)); err != nil {
			return err
		}
	}
	for id, t := range c.Tasks {
		if err := putJSON(tx, bucketTasks, []byte(id), t); err != nil {
			return err
		}
	}
	if err := putLanes(tx, known, c); err != nil {
		return err
	}
	if err := putSeen(tx, c.Seen, now); err != nil {
		return err
	}
	return putRest(tx, c)
}

// putRest writes cuts, settings and the order number.
func putRest(tx *bbolt.Tx, c *rules.Changes) error {
	for conversation, order := range c.Cuts {
		if err := putJSON(tx, bucketCuts, []byte(conversation), order); err != nil {
			return err
		}
	}
	for name, value := range c.Settings {
		b, key := tx.Bucket([]byte(bucketSettings)), settingKey(name.Owner, name.Name)
		err := error(nil)
		if value == "" {
			err = b.Delete(key)
		} else {
			err = b.Put(key, seal(key, []byte(value)))
		}
		if err != nil {
			return err
		}
	}
	if c.Order == 0 {
		return nil
	}
	return putJSON(tx, bucketMeta, []byte("order"), c.Order)
}

// putLanes writes of each lane only the entries that changed. A lane only ever
// grows at its end, so that both versions are walked side by side.
func putLanes(tx *bbolt.Tx, known *cache, c *rules.Changes) error {
	base := base{tx: tx, cache: known}
	b := tx.Bucket([]byte(bucketLive))
	for conversation, lane := range c.Lanes {
		before, err := base.Lane(conversation)
		if err != nil {
			return err
		}
		left := lane.Entries
		for _, old := range before.Entries {
			kept := len(left) > 0 && left[0].Task == old.Task
			if kept && left[0] == old {
				left = left[1:]
				continue
			}
			row, err := liveOf(base, c, old.Task)
			if err != nil {
				return err
			}
			key := liveKey(conversation, row.Order)
			if kept {
				row.LaneEntry, left = left[0], left[1:]
				err = putJSON(tx, bucketLive, key, row)
			} else {
				err = b.Delete(key)
			}
			if err != nil {
				return err
			}
		}
		for _, entry := range left {
			row, err := liveOf(base, c, entry.Task)
			if err != nil {
				return err
			}
			row.LaneEntry = entry
			if err := putJSON(tx, bucketLive, liveKey(conversation, row.Order), row); err != nil {
				return err
			}
		}
	}
	return nil
}

// liveOf is the row of a task in its lane, still without the lane's entry.
func liveOf(b base, c *rules.Changes, id tasks.ID) (liveRow, error) {
	task, ok := c.Tasks[id]
	if ok {
		return liveRow{Task: task}, nil
	}
	task, ok, err := b.Task(id)
	if err == nil && !ok {
		err = fmt.Errorf("task %s: %w", id, tasks.ErrNoTask)
	}
	return liveRow{Task: task}, err
}

// putSeen writes dedupe rows and removes some of those that have expired.
func putSeen(tx *bbolt.Tx, seen map[string]rules.Seen, now time.Time) error {
	expiry := tx.Bucket([]byte(bucketExpiry))
	for name, s := range seen {
		key := seenKey(name)
		if err := putJSON(tx, bucketSeen, key, s); err != nil {
			return err
		}
		at := expiryKey(s.At, key)
		if err := expiry.Put(at, seal(at, nil)); err != nil {
			return err
		}
	}
	if len(seen) == 0 {
		return nil
	}
	return sweep(tx, now.Add(-rules.KeepSeen))
}

// sweep removes dedupe rows from before the time cut.
func sweep(tx *bbolt.Tx, cut time.Time) error {
	expiry, seen := tx.Bucket([]byte(bucketExpiry)), tx.Bucket([]byte(bucketSeen))
	limit := expiryKey(cut, nil)
	var old [][]byte
	c := expiry.Cursor()
	for k, _ := c.First(); len(k) >= 8 && bytes.Compare(k[:8], limit) < 0 && len(old) < sweepAtOnce; k, _ = c.Next() {
		old = append(old, bytes.Clone(k))
	}
	for _, at := range old {
		if err := expiry.Delete(at); err != nil {
			return err
		}
		key := at[8:]
		var s rules.Seen
		value := seen.Get(key)
		// A key that came again after it had expired has a younger row.
		if value != nil && unsealJSON(key, value, &s) == nil && uint64(s.At.UnixNano()) != binary.BigEndian.Uint64(at) {
			continue
		}
		if err := seen.Delete(key); err != nil {
			return err
		}
	}
	return nil
}

func putJSON(tx *bbolt.Tx, bucket string, key []byte, v any) error {
	value, err := sealJSON(key, v)
	if err != nil {
		return err
	}
	return tx.Bucket([]byte(bucket)).Put(key, value)
}
