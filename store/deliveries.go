package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"legwork/tasks"
)

// Deliveries implements tasks.Deliveries.
type Deliveries struct{ *core }

// Queue implements tasks.Deliveries.
func (d Deliveries) Queue(ctx context.Context, list ...tasks.Delivery) error {
	for _, v := range list {
		if v.ID == "" || len(v.ID) > MaxName {
			return fmt.Errorf("delivery with an id of %d bytes: it must have one of at most %d", len(v.ID), MaxName)
		}
	}
	return d.update(ctx, "queueing deliveries", func(x *txn) {
		for _, v := range list {
			x.fail(outgoing{x}.queue(v))
		}
	})
}

// Tried implements tasks.Deliveries.
func (d Deliveries) Tried(ctx context.Context, id string, next time.Time) error {
	return d.update(ctx, "noting a delivery", func(x *txn) { outgoing{x}.tried(id, next) })
}

// Outgoing implements tasks.Deliveries. A damaged delivery is left out. No delivery
// is due while the newest events are durable, but not in the cache yet: State must
// know an outcome before its receiver does.
func (d Deliveries) Outgoing(ctx context.Context, now time.Time, limit int, except ...string) (due []tasks.Delivery, next time.Time, err error) {
	err = d.read(ctx, "reading what is to be delivered", func(x *txn) {
		due, next = nil, time.Time{}
		for e := range outbox.sound(x, nil, nil, Ascending) {
			at := e.value.next
			if slices.Contains(except, e.value.webhook) {
				continue
			}
			if at.After(now) || len(due) >= limit {
				if next.IsZero() || at.Before(next) {
					next = at
				}
				continue
			}
			id := e.key[timeBytes:]
			v, ok, damaged := deliveries.get(x, string(id))
			switch {
			case damaged != nil:
				x.skip(TableOutgoing, id, damaged)
			case ok:
				due = append(due, v)
			}
		}
		if len(due) > 0 && d.cache.fed.Load() < (feed{x}).end() {
			due, next = nil, now
		}
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	return due, next, nil
}

// outgoing is the queued deliveries, within a transaction.
type outgoing struct{ *txn }

// queue adds a delivery, unless it waits or was queued lately. ErrDamaged when that
// cannot be read.
func (x outgoing) queue(d tasks.Delivery) error {
	key := "delivery:" + d.ID
	before, seen, err := seenRows.get(x, key)
	if err != nil || deliveries.has(x, d.ID) || seen && x.time.Sub(before.At) < keepSeen {
		return err
	}
	if d.At.IsZero() {
		d.At = x.time
	}
	if d.Next.IsZero() {
		d.Next = d.At
	}
	d.At, d.Next = d.At.Round(0).UTC(), d.Next.Round(0).UTC()
	x.remember(key, seenDelivery{Task: d.Task})
	x.put(d)
	return nil
}

// put writes a delivery, and when it is due.
func (x outgoing) put(d tasks.Delivery) {
	deliveries.put(x, d.ID, d)
	outbox.put(x, d, outboxEntry{d.Next, d.Webhook})
}

// tried notes a try of a delivery, which is due again at next. A zero next deletes
// it. So does damage. A delivery that was deleted stays deleted.
func (x outgoing) tried(id string, next time.Time) {
	d, ok, damaged := deliveries.get(x, id)
	switch {
	case damaged != nil:
		deliveries.drop(x, id)
		dropTimeKeys(x, TableOutbox, id)
	case !ok:
	case next.IsZero():
		deliveries.drop(x, id)
		outbox.drop(x, d)
	default:
		d.Next, d.Tries = next.Round(0).UTC(), d.Tries+1
		x.put(d)
	}
}

// dropTimeKeys searches a table whose keys timeKey made for the keys of an id, and
// deletes them. It serves when the time is not known.
func dropTimeKeys(x transaction, t Table, id string) {
	var keys [][]byte
	for r := range records(x, t, nil, nil, Ascending) {
		if len(r.Key) > timeBytes && string(r.Key[timeBytes:]) == id {
			keys = append(keys, r.Key)
		}
	}
	for _, key := range keys {
		x.fail(x.Delete(t, key))
	}
}

// forgetDeliveries deletes deliveries about tasks that were deleted, so that nothing
// about them is sent any more.
func (k Deletion) forgetDeliveries(ctx context.Context, d *tasks.Deleted) error {
	return deleteFound(ctx, k, d, func(x *txn) (ids []string, over bool) {
		for e := range deliveries.sound(x, nil, nil, Ascending) {
			if e.value.Task != "" && !taskRows.has(x, e.value.Task) {
				ids = append(ids, string(e.key))
			}
		}
		return ids, true
	}, func(x *txn, id string, _ *tasks.Deleted) {
		outgoing{x}.tried(id, time.Time{})
		x.frees = true
	})
}

// outboxKey is a delivery's place in the outbox, in the order of queueing.
func outboxKey(d tasks.Delivery) []byte { return timeKey(d.At, d.ID) }

func encodeOutbox(e outboxEntry) ([]byte, error) {
	body := binary.BigEndian.AppendUint64(make([]byte, 0, 12+len(e.webhook)), uint64(e.next.Unix()))
	body = binary.BigEndian.AppendUint32(body, uint32(e.next.Nanosecond()))
	return append(body, e.webhook...), nil
}

func decodeOutbox(key, body []byte) (outboxEntry, error) {
	if len(body) < 12 || len(key) <= timeBytes {
		return outboxEntry{}, fmt.Errorf("%w: outbox", tasks.ErrDamaged)
	}
	next := time.Unix(int64(binary.BigEndian.Uint64(body)), int64(binary.BigEndian.Uint32(body[8:]))).UTC()
	return outboxEntry{next, string(body[12:])}, nil
}
