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

// Bounds of one step of making rows.
const (
	enlistTasks  = 256
	enlistEvents = 4096
)

// behindAll comes after every task's id.
const behindAll = tasks.ID("\x7f")

// unlist notes that no task has a row yet.
func unlist(tx *bbolt.Tx) error { return putJSON(tx, bucketMeta, []byte(metaUnlisted), behindAll) }

// enlist makes the rows of tasks that an earlier version stored: the newest first, beside all other work. A kill or
// an error leaves the rest to the next start.
func (s *Store) enlist(ctx context.Context) error {
	var before tasks.ID
	err := s.view(ctx, func(b base) (err error) {
		_, err = b.row(bucketMeta, []byte(metaUnlisted), &before)
		if errors.Is(err, tasks.ErrDamaged) {
			before, err = behindAll, nil
		}
		return err
	})
	if err != nil {
		return err
	}
	if before == "" {
		close(s.listed)
		return nil
	}
	s.helpers.Go(func() {
		if err := s.enlistFrom(context.WithoutCancel(ctx), before); err != nil && !errors.Is(err, ErrClosed) {
			s.log.Error("lists lack older tasks until the next start", "error", err)
		}
	})
	return nil
}

// enlistFrom takes half of the time at most.
func (s *Store) enlistFrom(ctx context.Context, before tasks.ID) error {
	start := s.now()
	s.log.InfoContext(ctx, "earlier tasks come into the lists, the newest first")
	for before != "" {
		begun := s.now()
		next, err := s.enlistSome(ctx, before)
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
	s.log.InfoContext(ctx, "all tasks are in the lists", "took", s.now().Sub(start))
	close(s.listed)
	return nil
}

// Listed returns a channel that is closed as soon as lists and counts know all
// tasks: at once, except for a file of an earlier version.
func (s *Store) Listed() <-chan struct{} { return s.listed }

// unlistedTask is a task whose row was made from so many events.
type unlistedTask struct {
	listing rules.Listing
	last    int
}

// enlistSome makes some rows, without holding up who writes, and returns where to go
// on.
func (s *Store) enlistSome(ctx context.Context, before tasks.ID) (next tasks.ID, err error) {
	var list []unlistedTask
	err = s.view(ctx, func(b base) error {
		list, next = b.unlisted(before)
		return nil
	})
	if err != nil {
		return "", err
	}
	err = s.submit(ctx, func(stage *rules.Tx) error {
		for _, t := range list {
			if err := stage.ReindexAs(t.listing.Task, t.listing, t.last); err != nil {
				return err
			}
		}
		stage.SetUnindexed(next)
		return nil
	})
	return next, err
}

// unlisted makes rows of tasks before one, as far as they have none.
func (b base) unlisted(before tasks.ID) (list []unlistedTask, next tasks.ID) {
	w := descend(b.bucket(bucketTasks), nil, before, nil)
	events := 0
	for n := 0; w.next != "" && n < enlistTasks && events < enlistEvents; n++ {
		next = w.step()
		if _, ok, _ := b.Listing(next); ok {
			continue
		}
		t, ok, err := b.Task(next)
		if err != nil || !ok {
			b.log.Error("leaving out a task", "task", next, "error", err)
			continue
		}
		journal, err := b.events(next, 0)
		if err != nil {
			b.log.Error("a task is listed without what its journal tells", "task", next, "error", err)
		}
		events += len(journal)
		list = append(list, unlistedTask{rules.ListingOf(next, t, journal), t.Last})
	}
	if w.next == "" {
		return list, ""
	}
	return list, next
}
