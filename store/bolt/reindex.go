package bolt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"legwork/store/rules"
	"legwork/tasks"
)

// Bounds of one batch of rows.
const (
	reindexTasks  = 256
	reindexEvents = 4096
)

// afterAllTasks comes after every task's id.
const afterAllTasks = tasks.ID("\x7f")

// markUnindexed notes that no task has a row yet.
func markUnindexed(tx *bbolt.Tx) error {
	return putJSON(tx, bucketMeta, []byte(metaUnindexed), afterAllTasks)
}

// reindex makes the rows of tasks that an earlier version stored, the newest
// first, beside all other work. After a kill or an error the next start makes the
// rest.
func (s *Store) reindex(ctx context.Context) error {
	var before tasks.ID
	err := s.view(ctx, func(b snapshot) (err error) {
		_, err = b.row(bucketMeta, []byte(metaUnindexed), &before)
		if errors.Is(err, tasks.ErrDamaged) {
			before, err = afterAllTasks, nil
		}
		return err
	})
	if err != nil {
		return err
	}
	if before == "" {
		close(s.indexed)
		return nil
	}
	s.helpers.Go(func() {
		if err := s.reindexFrom(context.WithoutCancel(ctx), before); err != nil && !errors.Is(err, ErrClosed) {
			s.log.Error("indexing older tasks failed, retrying at the next start", "cause", err)
		}
	})
	return nil
}

// reindexFrom works for half of the time at most.
func (s *Store) reindexFrom(ctx context.Context, before tasks.ID) error {
	start := s.now()
	s.log.InfoContext(ctx, "indexing older tasks")
	for before != "" {
		begun := s.now()
		next, err := s.reindexBatch(ctx, before)
		if err != nil {
			return fmt.Errorf("making rows of tasks before %s: %w", before, err)
		}
		before = next
		rest := time.NewTimer(s.now().Sub(begun))
		select {
		case <-rest.C:
		case <-s.closing:
			rest.Stop()
			return nil
		}
	}
	s.log.InfoContext(ctx, "older tasks indexed", "took", s.now().Sub(start))
	close(s.indexed)
	return nil
}

// Indexed returns a channel that is closed when lists and counts include all
// tasks: at once, except for a file of an earlier version.
func (s *Store) Indexed() <-chan struct{} { return s.indexed }

// builtListing is a row that was made from the first events of a journal, up to
// last.
type builtListing struct {
	listing rules.Listing
	last    int
}

// reindexBatch makes some rows without delaying writers, and returns where to
// continue.
func (s *Store) reindexBatch(ctx context.Context, before tasks.ID) (next tasks.ID, err error) {
	var list []builtListing
	err = s.view(ctx, func(b snapshot) error {
		list, next = b.unindexed(before)
		return nil
	})
	if err != nil {
		return "", err
	}
	err = s.submit(ctx, func(tx *rules.Tx) error {
		for _, t := range list {
			if err := tx.ReindexAs(t.listing.Task, t.listing, t.last); err != nil {
				return err
			}
		}
		tx.SetUnindexed(next)
		return nil
	})
	return next, err
}

// unindexed makes the missing rows of tasks before one.
func (b snapshot) unindexed(before tasks.ID) (list []builtListing, next tasks.ID) {
	w := newIDCursor(b.bucket(bucketTasks), nil, before, nil)
	events := 0
	for n := 0; w.next != "" && n < reindexTasks && events < reindexEvents; n++ {
		next = w.step()
		if _, ok, _ := b.Listing(next); ok {
			continue
		}
		t, ok, err := b.Task(next)
		if err != nil || !ok {
			b.log.Error("task not indexed", "task", next, "cause", err)
			continue
		}
		journal, err := b.events(next, 0)
		if err != nil {
			b.log.Error("journal damaged, task indexed without it", "task", next, "cause", err)
		}
		events += len(journal)
		list = append(list, builtListing{rules.ListingOf(next, t, journal), t.Last})
	}
	if w.next == "" {
		return list, ""
	}
	return list, next
}
