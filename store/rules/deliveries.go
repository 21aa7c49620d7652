package rules

import (
	"errors"
	"fmt"
	"time"

	"legwork/tasks"
)

// queuedKey is the dedupe key of a delivery.
func queuedKey(id string) string { return "delivery:" + id }

// Queue adds deliveries, except those that were queued lately.
func (s *Tx) Queue(list ...tasks.Delivery) error {
	for _, d := range list {
		if d.ID == "" || len(d.ID) > MaxName {
			return fmt.Errorf("delivery with an id of %d bytes: it must have one of at most %d", len(d.ID), MaxName)
		}
		key := queuedKey(d.ID)
		before, ok, err := s.Seen(key)
		if err != nil {
			return err
		}
		_, waits, err := s.Delivery(d.ID)
		if err != nil && !errors.Is(err, tasks.ErrDamaged) {
			return err
		}
		if waits || ok && s.now.Sub(before.At) < KeepSeen {
			continue
		}
		if d.At.IsZero() {
			d.At = s.now
		}
		if d.Next.IsZero() {
			d.Next = d.At
		}
		d.At, d.Next = d.At.Round(0).UTC(), d.Next.Round(0).UTC()
		put(&s.changes.Seen, key, SeenDelivery{Task: d.Task, At: s.now})
		put(&s.changes.Index.Deliveries, d.ID, &d)
	}
	return nil
}

// Tried notes the outcome of an attempt. A delivery that was deleted stays
// deleted.
func (s *Tx) Tried(id string, next time.Time) error {
	d, ok, err := s.Delivery(id)
	if err != nil && !errors.Is(err, tasks.ErrDamaged) {
		return err
	}
	switch {
	case next.IsZero(), err != nil:
		if ok || err != nil {
			put(&s.changes.Index.Deliveries, id, nil)
		}
	case ok:
		d.Next, d.Tries = next.Round(0).UTC(), d.Tries+1
		put(&s.changes.Index.Deliveries, id, &d)
	}
	return nil
}

// Delivery implements Snapshot.
func (s *Tx) Delivery(id string) (tasks.Delivery, bool, error) {
	if d, ok := s.changes.Index.Deliveries[id]; ok {
		if d == nil {
			return tasks.Delivery{}, false, nil
		}
		return *d, true, nil
	}
	return s.Snapshot.Delivery(id)
}

// forgetDeliveries deletes deliveries about tasks that were deleted, so that
// nothing about them is sent any more.
func (k Retention) forgetDeliveries() error {
	var all map[string]tasks.ID
	err := k.View(func(b Snapshot) (err error) { all, err = b.AllDeliveries(); return err })
	if err != nil || len(all) == 0 {
		return err
	}
	return k.Change(func(s *Tx) error {
		for id, task := range all {
			if task == "" {
				continue
			}
			_, ok, err := s.Task(task)
			if ok || errors.Is(err, tasks.ErrDamaged) {
				continue
			}
			if err != nil {
				return err
			}
			if err := s.Tried(id, time.Time{}); err != nil {
				return err
			}
		}
		return nil
	})
}
