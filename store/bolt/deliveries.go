package bolt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"legwork/store/rules"
	"legwork/tasks"
)

// Queue implements tasks.Deliveries.
func (s *Store) Queue(ctx context.Context, d ...tasks.Delivery) error {
	return s.change(ctx, "queueing deliveries", func(tx *rules.Tx) error { return tx.Queue(d...) })
}

// Tried implements tasks.Deliveries.
func (s *Store) Tried(ctx context.Context, id string, next time.Time) error {
	return s.change(ctx, "noting a delivery", func(tx *rules.Tx) error { return tx.Tried(id, next) })
}

// Outgoing implements tasks.Deliveries. A damaged delivery is left out.
func (s *Store) Outgoing(ctx context.Context, now time.Time, limit int, except ...string) (due []tasks.Delivery, next time.Time, err error) {
	err = s.view(ctx, func(b snapshot) error {
		c := b.bucket(bucketOutbox).Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			at, webhook, ok := b.outboxEntry(k, v)
			switch {
			case !ok || slices.Contains(except, webhook):
				continue
			case at.After(now) || len(due) >= limit:
				if next.IsZero() || at.Before(next) {
					next = at
				}
				continue
			}
			d, ok, err := b.Delivery(string(k[dueTime:]))
			if errors.Is(err, tasks.ErrDamaged) {
				b.log.Error("delivery skipped", "cause", err)
				continue
			}
			if err != nil {
				return err
			}
			if ok {
				due = append(due, d)
			}
		}
		return nil
	})
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("reading what is to be delivered: %w", err)
	}
	if len(due) > 0 {
		s.waitCached() // deliveries describe tasks as they are now
	}
	return due, next, nil
}

// outboxEntry reads an entry of the outbox.
func (b snapshot) outboxEntry(key, value []byte) (at time.Time, webhook string, ok bool) {
	body, err := unseal(key, value)
	if err != nil || len(body) < 12 || len(key) <= dueTime {
		b.log.Error("delivery skipped", "record", describe(bucketOutbox, key), "cause", err)
		return at, "", false
	}
	seconds := int64(binary.BigEndian.Uint64(body))
	return time.Unix(seconds, int64(binary.BigEndian.Uint32(body[8:]))).UTC(), string(body[12:]), true
}

// Delivery implements rules.Snapshot.
func (b snapshot) Delivery(id string) (d tasks.Delivery, found bool, err error) {
	if id == "" {
		return d, false, nil
	}
	found, err = b.row(bucketOutgoing, []byte(id), &d)
	return d, found, err
}

// AllDeliveries implements rules.Snapshot.
func (b snapshot) AllDeliveries() (map[string]tasks.ID, error) {
	all := map[string]tasks.ID{}
	err := guard(func() error {
		c := b.bucket(bucketOutgoing).Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			var d tasks.Delivery
			if err := unsealJSON(k, v, &d); err != nil {
				b.log.Error("delivery skipped", "record", describe(bucketOutgoing, k), "cause", err)
				continue
			}
			all[string(k)] = d.Task
		}
		return nil
	})
	return all, err
}

// putDeliveries writes deliveries and their places in the outbox.
func putDeliveries(b snapshot, c *rules.Changes) error {
	for id, d := range c.Index.Deliveries {
		old, found, err := b.Delivery(id)
		if err != nil && !errors.Is(err, tasks.ErrDamaged) {
			return err
		}
		keys := [][]byte{outboxKey(old)}
		if err != nil { // its time is unknown
			keys = timeKeysOf(b.bucket(bucketOutbox), id)
		}
		if found {
			if err := deleteKeys(b.bucket(bucketOutbox), keys); err != nil {
				return err
			}
		}
		if d == nil {
			err = b.bucket(bucketOutgoing).Delete([]byte(id))
		} else {
			err = b.putDelivery(*d)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b snapshot) putDelivery(d tasks.Delivery) error {
	if err := putJSON(b.tx, bucketOutgoing, []byte(d.ID), d); err != nil {
		return err
	}
	key := outboxKey(d)
	body := binary.BigEndian.AppendUint64(make([]byte, 0, 12+len(d.Webhook)), uint64(d.Next.Unix()))
	body = binary.BigEndian.AppendUint32(body, uint32(d.Next.Nanosecond()))
	return b.bucket(bucketOutbox).Put(key, seal(key, append(body, d.Webhook...)))
}

// outboxKey is a delivery's place in the outbox, in the order of queueing.
func outboxKey(d tasks.Delivery) []byte { return timeKey(d.At, d.ID) }
