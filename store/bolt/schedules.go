package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"legwork/store/rules"
	"legwork/tasks"
)

// Schedules implements tasks.Schedules. A damaged one is left out.
func (s *Store) Schedules(ctx context.Context, conversation string) ([]tasks.Schedule, error) {
	var list []tasks.Schedule
	err := s.view(ctx, func(b snapshot) (err error) { list, err = b.Schedules(conversation); return err })
	return rules.SortSchedules(list), wrap("listing schedules", err)
}

// PutSchedule implements tasks.Schedules.
func (s *Store) PutSchedule(ctx context.Context, v tasks.Schedule) error {
	return s.change(ctx, "storing schedule", func(tx *rules.Tx) error { return tx.PutSchedule(v) })
}

// DropSchedule implements tasks.Schedules.
func (s *Store) DropSchedule(ctx context.Context, id string) error {
	return s.change(ctx, "deleting schedule", func(tx *rules.Tx) error { return tx.DropSchedule(id) })
}

// Due implements tasks.Schedules. It reads as far into the due-table as it
// returns schedules.
func (s *Store) Due(ctx context.Context, now time.Time, limit int) (due []tasks.Schedule, next time.Time, err error) {
	err = s.view(ctx, func(b snapshot) error {
		c := b.bucket(bucketDue).Cursor()
		for k, _ := c.First(); k != nil; k, _ = c.Next() {
			v, err := b.dueSchedule(k)
			switch {
			case err != nil:
				return err
			case v == nil:
				continue
			case v.Next.After(now) || len(due) >= limit:
				next = v.Next
				return nil
			}
			due = append(due, *v)
		}
		return nil
	})
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("reading the due-table: %w", err)
	}
	return due, next, nil
}

// dueSchedule returns the schedule of an entry of the due-table; nil when the
// schedule does not wait for that time, or is damaged.
func (b snapshot) dueSchedule(key []byte) (*tasks.Schedule, error) {
	if len(key) <= dueTime {
		return nil, nil //nolint:nilnil // the entry is for nothing
	}
	v, ok, err := b.Schedule(string(key[dueTime:]))
	switch {
	case errors.Is(err, tasks.ErrDamaged):
		b.log.Error("schedule skipped", "cause", err)
	case err != nil:
		return nil, err
	case ok && rules.IsWaiting(v) && bytes.Equal(dueKey(v), key):
		return &v, nil
	}
	return nil, nil //nolint:nilnil // the entry is for nothing
}

// Schedule implements rules.Snapshot.
func (b snapshot) Schedule(id string) (v tasks.Schedule, found bool, err error) {
	if id == "" {
		return v, false, nil
	}
	found, err = b.row(bucketSchedules, []byte(id), &v)
	return v, found, err
}

// Schedules implements rules.Snapshot; of all conversations when it is empty.
func (b snapshot) Schedules(conversation string) (list []tasks.Schedule, err error) {
	err = guard(func() error {
		c := b.bucket(bucketSchedules).Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			var s tasks.Schedule
			if err := unsealJSON(k, v, &s); err != nil {
				b.log.Error("schedule skipped", "record", describe(bucketSchedules, k), "cause", err)
				continue
			}
			if conversation == "" || s.Chat.Key() == conversation {
				list = append(list, s)
			}
		}
		return nil
	})
	return list, err
}

// putSchedules writes schedules and their places in the due-table.
func putSchedules(b snapshot, c *rules.Changes) error {
	for id, v := range c.Schedules {
		if err := b.deleteDue(id); err != nil {
			return err
		}
		if v == nil {
			if err := b.bucket(bucketSchedules).Delete([]byte(id)); err != nil {
				return err
			}
			continue
		}
		if err := putJSON(b.tx, bucketSchedules, []byte(id), v); err != nil {
			return err
		}
		if !rules.IsWaiting(*v) {
			continue
		}
		key := dueKey(*v)
		if err := b.bucket(bucketDue).Put(key, seal(key, nil)); err != nil {
			return err
		}
	}
	return nil
}

// deleteDue removes a schedule from the due-table. It searches for the entry of a
// damaged schedule, whose time is unknown.
func (b snapshot) deleteDue(id string) error {
	old, found, err := b.Schedule(id)
	due := b.bucket(bucketDue)
	switch {
	case errors.Is(err, tasks.ErrDamaged):
		return deleteKeys(due, timeKeysOf(due, id))
	case err != nil:
		return err
	case found && rules.IsWaiting(old):
		return due.Delete(dueKey(old))
	}
	return nil
}

// timeKeysOf searches a bucket of times for the keys of an id.
func timeKeysOf(b *bbolt.Bucket, id string) (keys [][]byte) {
	c := b.Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if len(k) > dueTime && string(k[dueTime:]) == id {
			keys = append(keys, bytes.Clone(k))
		}
	}
	return keys
}

// dueTime is how many bytes of a key of the due-table are its time.
const dueTime = 12

// dueKey is a schedule's place in the due-table.
func dueKey(v tasks.Schedule) []byte { return timeKey(v.Next, v.ID) }

// timeKey is a key that sorts by time: seconds, with those before 1970 first,
// nanoseconds, id.
func timeKey(at time.Time, id string) []byte {
	key := binary.BigEndian.AppendUint64(make([]byte, 0, dueTime+len(id)), uint64(at.Unix())^1<<63)
	key = binary.BigEndian.AppendUint32(key, uint32(at.Nanosecond()))
	return append(key, id...)
}
