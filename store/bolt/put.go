package bolt

import (
	"bytes"
	"encoding/binary"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"legwork/store/rules"
	"legwork/tasks"
)

// sweepAtOnce bounds how many expired dedupe rows one transaction removes.
const sweepAtOnce = 256

// put writes changes into the transaction, and returns the changed lanes as they
// are stored. b is the committed data.
func put(b snapshot, c *rules.Changes, now time.Time) (map[string][]liveRow, error) {
	if err := deleteTasks(b.tx, c.Deleted); err != nil {
		return nil, err
	}
	if err := putRecords(b, c); err != nil {
		return nil, err
	}
	for id, t := range c.Tasks {
		if err := putJSON(b.tx, bucketTasks, []byte(id), t); err != nil {
			return nil, err
		}
	}
	if err := putSeen(b.tx, c.Seen, now); err != nil {
		return nil, err
	}
	for _, put := range []func(snapshot, *rules.Changes) error{putSettings, putLedger, putSchedules, putSummaries, putIndex} {
		if err := put(b, c); err != nil {
			return nil, err
		}
	}
	return putLanes(b, c)
}

// deleteTasks deletes journals and rows. The keys of a journal are next to each
// other.
func deleteTasks(tx *bbolt.Tx, gone map[tasks.ID]bool) error {
	journal := tx.Bucket([]byte(bucketJournal))
	for id := range gone {
		var keys [][]byte
		c := journal.Cursor()
		for k, _ := c.Seek(journalKey(id, 0)); len(k) == len(id)+8 && bytes.HasPrefix(k, []byte(id)); k, _ = c.Next() {
			keys = append(keys, bytes.Clone(k))
		}
		for _, k := range keys {
			if err := journal.Delete(k); err != nil {
				return err
			}
		}
		for _, name := range []string{bucketTasks, bucketAccounts} {
			if err := tx.Bucket([]byte(name)).Delete([]byte(id)); err != nil {
				return err
			}
		}
	}
	return nil
}

// putRecords writes journals and history.
func putRecords(b snapshot, c *rules.Changes) error {
	for _, r := range c.Records {
		key := journalKey(r.Task, r.Event.Seq)
		if err := b.bucket(bucketJournal).Put(key, seal(key, r.Body)); err != nil {
			return err
		}
	}
	history := b.bucket(bucketHistory)
	for _, r := range c.Rows {
		key := historyKey(r.Conversation, r.Order, r.Answer)
		write := func() error { return history.Put(key, historyValue(key, r)) }
		switch {
		case r.Deleted:
			write = func() error { return history.Delete(key) }
		case r.Fallback && history.Get(key) != nil:
			continue
		}
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

// putSettings writes cuts, settings and the order number.
func putSettings(base snapshot, c *rules.Changes) error {
	tx := base.tx
	for conversation, order := range c.Cuts {
		write := func() error { return putJSON(tx, bucketCuts, []byte(conversation), order) }
		if order == 0 {
			write = func() error { return tx.Bucket([]byte(bucketCuts)).Delete([]byte(conversation)) }
		}
		if err := write(); err != nil {
			return err
		}
	}
	for name, value := range c.Settings {
		b, key := tx.Bucket([]byte(bucketSettings)), settingKey(name.Owner, name.Name)
		write := func() error { return b.Put(key, seal(key, []byte(value))) }
		if value == "" {
			write = func() error { return b.Delete(key) }
		}
		if err := write(); err != nil {
			return err
		}
	}
	if c.Order == 0 {
		return nil
	}
	return putJSON(tx, bucketMeta, []byte("order"), c.Order)
}

// putLanes writes the changed entries of each lane, and returns the lanes as they
// are stored.
func putLanes(b snapshot, c *rules.Changes) (map[string][]liveRow, error) {
	stored := make(map[string][]liveRow, len(c.Lanes))
	for conversation, lane := range c.Lanes {
		before, err := b.laneRows(conversation)
		if err != nil {
			return nil, err
		}
		after := mergeLane(before, lane.Entries, c.Tasks)
		if err := putLane(b.bucket(bucketLive), conversation, before, after); err != nil {
			return nil, err
		}
		stored[conversation] = after
	}
	return stored, nil
}

// mergeLane returns the rows of the entries of a lane: earlier rows, and rows of
// added for new tasks.
func mergeLane(before []liveRow, entries []tasks.LaneEntry, added map[tasks.ID]rules.Task) []liveRow {
	after := make([]liveRow, 0, len(entries))
	for _, entry := range entries {
		var row liveRow
		at := slices.IndexFunc(before, func(r liveRow) bool { return r.LaneEntry.Task == entry.Task })
		if at >= 0 {
			row, before = before[at], before[at+1:]
		} else {
			row.Task = added[entry.Task]
		}
		row.LaneEntry = entry
		after = append(after, row)
	}
	return after
}

// putLane writes the difference between two versions, which are sorted by opening.
func putLane(b *bbolt.Bucket, conversation string, before, after []liveRow) error {
	for len(before)+len(after) > 0 {
		var err error
		switch {
		case len(after) == 0 || len(before) > 0 && before[0].Order < after[0].Order:
			err = b.Delete(liveKey(conversation, before[0].Order))
			before = before[1:]
		case len(before) == 0 || before[0].Order > after[0].Order:
			err = putLive(b, conversation, after[0])
			after = after[1:]
		default:
			if before[0] != after[0] {
				err = putLive(b, conversation, after[0])
			}
			before, after = before[1:], after[1:]
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func putLive(b *bbolt.Bucket, conversation string, row liveRow) error {
	key := liveKey(conversation, row.Order)
	value, err := sealJSON(key, row)
	if err != nil {
		return err
	}
	return b.Put(key, value)
}

// putSeen writes dedupe rows and removes some of those that have expired.
func putSeen(tx *bbolt.Tx, seen map[string]rules.SeenDelivery, now time.Time) error {
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

// sweep removes dedupe rows that are older than cut.
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
		var s rules.SeenDelivery
		value := seen.Get(key)
		// A key that was used again after it had expired has a newer row.
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

func deleteKeys(b *bbolt.Bucket, keys [][]byte) error {
	for _, k := range keys {
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	return nil
}
