package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/store/rules"
	"legwork/tasks"
)

// index is what contents holds of tasks.Index, tasks.Audit and tasks.Deliveries.
type index struct {
	listings   map[tasks.ID]rules.Listing
	counts     map[string]int
	feed       []tasks.FeedEntry
	feedEnd    uint64
	audit      []tasks.AuditEntry // in order of Seq
	auditEnd   uint64
	deliveries map[string]tasks.Delivery
}

func newIndex() index {
	return index{listings: map[tasks.ID]rules.Listing{}, counts: map[string]int{}, deliveries: map[string]tasks.Delivery{}}
}

// Tasks implements tasks.Index.
func (s *Store) Tasks(ctx context.Context, q tasks.TaskQuery) (rows []tasks.Row, more bool, err error) {
	limit := rules.PageSize(q)
	err = s.view(ctx, func(c *snapshot) error {
		ids := slices.Sorted(maps.Keys(c.index.listings))
		for _, id := range slices.Backward(ids) {
			row := c.index.listings[id].Row
			if !rules.Matches(q, row) {
				continue
			}
			if more = len(rows) == limit; more {
				return nil
			}
			rows = append(rows, row)
		}
		return nil
	})
	return rows, more, wrap("listing tasks", err)
}

// Row implements tasks.Index.
func (s *Store) Row(ctx context.Context, id tasks.ID) (row tasks.Row, err error) {
	err = s.view(ctx, func(c *snapshot) error {
		l, ok := c.index.listings[id]
		if !ok {
			return fmt.Errorf("task %s: %w", id, tasks.ErrNoTask)
		}
		row = l.Row
		return nil
	})
	return row, wrap("reading a task's row", err)
}

// Counts implements tasks.Index.
func (s *Store) Counts(ctx context.Context) (counts map[string]int, err error) {
	err = s.view(ctx, func(c *snapshot) (err error) { counts, err = c.Counts(); return err })
	return counts, wrap("counting tasks", err)
}

// Feed implements tasks.Index.
func (s *Store) Feed(ctx context.Context, after uint64, limit int) (entries []tasks.FeedEntry, oldest, newest uint64, err error) {
	err = s.view(ctx, func(c *snapshot) error {
		feed := c.index.feed
		if newest = c.index.feedEnd; len(feed) == 0 {
			return nil
		}
		oldest = feed[0].Cursor
		at := max(min(after, newest)+1, oldest) - oldest
		end := min(at+uint64(max(limit, 0)), uint64(len(feed)))
		entries = slices.Clone(feed[at:end])
		return nil
	})
	return entries, oldest, newest, wrap("reading the feed", err)
}

// Record implements tasks.Audit.
func (s *Store) Record(ctx context.Context, e tasks.AuditEntry) error {
	return wrap("entering into the audit log", s.change(ctx, func(tx *rules.Tx) error { return tx.Record(e) }))
}

// AuditLog implements tasks.Audit.
func (s *Store) AuditLog(ctx context.Context, before uint64, limit int) (list []tasks.AuditEntry, err error) {
	err = s.view(ctx, func(c *snapshot) error {
		for _, e := range slices.Backward(c.index.audit) {
			if (before == 0 || e.Seq < before) && len(list) < limit {
				list = append(list, e)
			}
		}
		return nil
	})
	return list, wrap("reading the audit log", err)
}

// Queue implements tasks.Deliveries.
func (s *Store) Queue(ctx context.Context, d ...tasks.Delivery) error {
	return wrap("queueing deliveries", s.change(ctx, func(tx *rules.Tx) error { return tx.Queue(d...) }))
}

// Outgoing implements tasks.Deliveries.
func (s *Store) Outgoing(ctx context.Context, now time.Time, limit int, except ...string) (due []tasks.Delivery, next time.Time, err error) {
	err = s.view(ctx, func(c *snapshot) error {
		for _, d := range slices.SortedFunc(maps.Values(c.index.deliveries), rules.CompareDeliveries) {
			switch {
			case slices.Contains(except, d.Webhook):
			case !d.Next.After(now) && len(due) < limit:
				d.Body = slices.Clone(d.Body)
				due = append(due, d)
			case next.IsZero() || d.Next.Before(next):
				next = d.Next
			}
		}
		return nil
	})
	return due, next, wrap("reading what is to be delivered", err)
}

// Tried implements tasks.Deliveries.
func (s *Store) Tried(ctx context.Context, id string, next time.Time) error {
	return wrap("noting a delivery", s.change(ctx, func(tx *rules.Tx) error { return tx.Tried(id, next) }))
}

// Listing implements rules.Snapshot.
func (c *snapshot) Listing(id tasks.ID) (rules.Listing, bool, error) {
	l, ok := c.index.listings[id]
	return l, ok, nil
}

// Counts implements rules.Snapshot.
func (c *snapshot) Counts() (map[string]int, error) {
	return maps.Clone(c.index.counts), nil
}

// Recount implements rules.Snapshot.
func (c *snapshot) Recount() (map[string]int, error) { return c.Counts() }

// Outcome implements rules.Snapshot: no row is ever damaged here.
func (c *snapshot) Outcome(tasks.ID, bot.Chat) (string, error) { return "", nil }

// FeedEnd implements rules.Snapshot.
func (c *snapshot) FeedEnd() (uint64, error) { return c.index.feedEnd, nil }

// AuditEnd implements rules.Snapshot.
func (c *snapshot) AuditEnd() (uint64, error) { return c.index.auditEnd, nil }

// AuditEntries implements rules.Snapshot.
func (c *snapshot) AuditEntries(after uint64, n int) ([]tasks.AuditEntry, error) {
	at, found := slices.BinarySearchFunc(c.index.audit, after, bySeq)
	if found {
		at++
	}
	return slices.Clone(c.index.audit[at:min(at+n, len(c.index.audit))]), nil
}

func bySeq(e tasks.AuditEntry, seq uint64) int { return cmp.Compare(e.Seq, seq) }

// Delivery implements rules.Snapshot.
func (c *snapshot) Delivery(id string) (tasks.Delivery, bool, error) {
	d, ok := c.index.deliveries[id]
	return d, ok, nil
}

// AllDeliveries implements rules.Snapshot.
func (c *snapshot) AllDeliveries() (map[string]tasks.ID, error) {
	all := map[string]tasks.ID{}
	for id, d := range c.index.deliveries {
		all[id] = d.Task
	}
	return all, nil
}

// Journal implements rules.Snapshot.
func (c *snapshot) Journal(id tasks.ID) ([]planner.Event, error) { return c.events(id, 0) }

// Event implements rules.Snapshot.
func (c *snapshot) Event(id tasks.ID, seq int) (planner.Event, error) {
	bodies := c.journals[id]
	if seq < 1 || seq > len(bodies) {
		return planner.Event{}, fmt.Errorf("task %s: %w", id, tasks.ErrNoTask)
	}
	return rules.Decode(bodies[seq-1])
}

// commit takes over what a transaction changed.
func (x *index) commit(c *rules.Changes) {
	for id, l := range c.Index.Listings {
		if l.After == nil {
			delete(x.listings, id)
			continue
		}
		kept := *l.After
		kept.Goal = strings.Clone(kept.Goal) // not the whole of it
		x.listings[id] = kept
	}
	if c.Index.Counts != nil {
		x.counts = c.Index.Counts
	}
	for _, e := range c.Index.Feed {
		x.feed, x.feedEnd = append(x.feed, e), e.Cursor
	}
	if len(x.feed) > rules.KeepFeed*5/4 {
		x.feed = slices.Clone(x.feed[len(x.feed)-rules.KeepFeed:])
	}
	for _, e := range c.Index.Audit {
		x.audit, x.auditEnd = append(x.audit, e), e.Seq
	}
	for seq, e := range c.Index.AuditChanges {
		at, found := slices.BinarySearchFunc(x.audit, seq, bySeq)
		switch {
		case !found:
		case e == nil:
			x.audit = slices.Delete(x.audit, at, at+1)
		default:
			x.audit[at] = *e
		}
	}
	for id, d := range c.Index.Deliveries {
		if d == nil {
			delete(x.deliveries, id)
			continue
		}
		kept := *d
		kept.Body = slices.Clone(d.Body)
		x.deliveries[id] = kept
	}
}
