package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"legwork/tasks"
)

// Deliveries implements tasks.Deliveries.
type Deliveries struct{ *core }

// Queue implements tasks.Deliveries.
func (d Deliveries) Queue(ctx context.Context, list ...tasks.Delivery) error {
	return d.update(ctx, "queueing deliveries", func(x *txn) error { return outgoing{x}.queue(list...) })
}

// Tried implements tasks.Deliveries.
func (d Deliveries) Tried(ctx context.Context, id string, next time.Time) error {
	return d.update(ctx, "noting a delivery", func(x *txn) error { return outgoing{x}.tried(id, next) })
}

// Outgoing implements tasks.Deliveries. A damaged delivery is left out. No delivery
// is due while the newest events are durable, but not in the cache yet: State must
// know an outcome before its receiver does.
func (d Deliveries) Outgoing(ctx context.Context, now time.Time, limit int, except ...string) (due []tasks.Delivery, next time.Time, err error) {
	err = d.view(ctx, "reading what is to be delivered", func(x *txn) (err error) {
		if due, next, err = (outgoing{x}).due(now, limit, except); err != nil || len(due) == 0 {
			return err
		}
		end, err := feed{x}.end()
		if published, known := d.cache.lastCursor(); known && published < end {
			due, next = nil, now
		}
		return err
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	return due, next, nil
}

// outgoing is the queued deliveries, within a transaction.
type outgoing struct{ *txn }

// due returns at most limit deliveries that are due, except those to some webhooks,
// and when the next one is due; zero for never.
func (x outgoing) due(now time.Time, limit int, except []string) (list []tasks.Delivery, next time.Time, err error) {
	for e, err := range outbox.sound(x.txn, nil, nil, Ascending) {
		if err != nil {
			return nil, next, err
		}
		at := e.value.next
		if slices.Contains(except, e.value.webhook) {
			continue
		}
		if at.After(now) || len(list) >= limit {
			if next.IsZero() || at.Before(next) {
				next = at
			}
			continue
		}
		id := e.key[timeBytes:]
		d, ok, err := deliveries.get(x, string(id))
		switch {
		case errors.Is(err, tasks.ErrDamaged):
			x.skip(TableOutgoing, id, err)
		case err != nil:
			return nil, next, err
		case ok:
			list = append(list, d)
		}
	}
	return list, next, nil
}

// queue adds deliveries, except those that wait or were queued lately.
func (x outgoing) queue(list ...tasks.Delivery) error {
	for _, d := range list {
		if d.ID == "" || len(d.ID) > MaxName {
			return fmt.Errorf("delivery with an id of %d bytes: it must have one of at most %d", len(d.ID), MaxName)
		}
		key := "delivery:" + d.ID
		before, seen, err := seenRows.get(x, key)
		if err != nil {
			return err
		}
		waits, err := deliveries.has(x, d.ID)
		if err != nil {
			return err
		}
		if waits || seen && x.time.Sub(before.At) < keepSeen {
			continue
		}
		if d.At.IsZero() {
			d.At = x.time
		}
		if d.Next.IsZero() {
			d.Next = d.At
		}
		d.At, d.Next = d.At.Round(0).UTC(), d.Next.Round(0).UTC()
		if err := x.remember(key, seenDelivery{Task: d.Task}); err != nil {
			return err
		}
		if err := x.put(d); err != nil {
			return err
		}
	}
	return nil
}

// put writes a delivery, and when it is due.
func (x outgoing) put(d tasks.Delivery) error {
	if err := deliveries.put(x, d.ID, d); err != nil {
		return err
	}
	return outbox.put(x, d, outboxEntry{d.Next, d.Webhook})
}

// tried notes a try of a delivery, which is due again at next. A zero next deletes
// it. So does damage. A delivery that was deleted stays deleted.
func (x outgoing) tried(id string, next time.Time) error {
	d, ok, err := deliveries.get(x, id)
	switch {
	case errors.Is(err, tasks.ErrDamaged):
		if err := deliveries.drop(x, id); err != nil {
			return err
		}
		return dropTimeKeys(x, TableOutbox, id)
	case err != nil || !ok:
		return err
	case next.IsZero():
		if err := deliveries.drop(x, id); err != nil {
			return err
		}
		return outbox.drop(x, d)
	}
	d.Next, d.Tries = next.Round(0).UTC(), d.Tries+1
	return x.put(d)
}

// dropTimeKeys searches a table whose keys timeKey made for the keys of an id, and
// deletes them. It serves when the time is not known.
func dropTimeKeys(tx Tx, t Table, id string) error {
	var keys [][]byte
	for r, err := range tx.Range(t, nil, nil, Ascending) {
		if err != nil {
			return err
		}
		if len(r.Key) > timeBytes && string(r.Key[timeBytes:]) == id {
			keys = append(keys, r.Key)
		}
	}
	for _, key := range keys {
		if err := tx.Delete(t, key); err != nil {
			return err
		}
	}
	return nil
}

// forgetDeliveries deletes deliveries about tasks that were deleted, so that nothing
// about them is sent any more.
func (c *core) forgetDeliveries(ctx context.Context) error {
	var ids []string
	err := c.view(ctx, "looking for deliveries of deleted tasks", func(x *txn) error {
		for e, err := range deliveries.sound(x, nil, nil, Ascending) {
			if err != nil {
				return err
			}
			there, err := taskRows.has(x, e.value.Task)
			if err != nil {
				return err
			}
			if !there && e.value.Task != "" {
				ids = append(ids, string(e.key))
			}
		}
		return nil
	})
	if err != nil || len(ids) == 0 {
		return err
	}
	return c.update(ctx, "deleting deliveries of deleted tasks", func(x *txn) error {
		x.frees = true
		for _, id := range ids {
			if err := (outgoing{x}).tried(id, time.Time{}); err != nil {
				return err
			}
		}
		return nil
	})
}
