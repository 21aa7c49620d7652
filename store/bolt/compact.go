package bolt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"legwork/internal/failpoint"
	"legwork/internal/fsutil"
	"legwork/store/rules"
)

// Bounds of a compaction.
const (
	copyBytes   = 4 << 20   // of one transaction of the copy
	recordBytes = 256 << 20 // written while the file is copied
	soonBytes   = 1 << 20   // left to be written while the writer waits
	maxRounds   = 20        // of catching up
)

// copySuffix ends the names of copies that are not finished.
const copySuffix = ".compact"

// ErrBusy means that a compaction gave up, because too much is being written.
var ErrBusy = errors.New("too much is being written to copy the data file; try again later")

// Compacted describes a compaction.
type Compacted struct {
	Before, After int64         // size of the data file
	Took          time.Duration // all of it
	Waited        time.Duration // time in which writers waited
}

// Compact copies all records into a new file that replaces the old one. Data
// that was deleted before the call is in no file afterwards, and the new file is as
// small as possible. Others read and write meanwhile; writers wait only while the
// files are swapped. After a kill there is the old file or the new one, both
// complete.
func (s *Store) Compact(ctx context.Context) (c Compacted, err error) {
	s.copying.Lock()
	defer s.copying.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	var closing sync.WaitGroup
	defer closing.Wait()
	defer cancel(nil)
	closing.Go(func() { // Close does not wait for a compaction
		select {
		case <-s.closing:
			cancel(ErrClosed)
		case <-ctx.Done():
		}
	})
	start := time.Now()
	freed := s.freed.Swap(false)
	if err = s.compact(ctx, &c); err != nil {
		s.freed.CompareAndSwap(false, freed)
		return c, fmt.Errorf("compacting %s: %w", s.path, markFull(err))
	}
	c.Took = time.Since(start)
	return c, nil
}

// Freed reports whether something was deleted since the last compaction, so that
// its bytes may still be in the file.
func (s *Store) Freed() bool { return s.freed.Load() }

func (s *Store) compact(ctx context.Context, c *Compacted) error {
	info, err := os.Stat(s.path)
	if err != nil {
		return err
	}
	c.Before = info.Size()
	var source *bbolt.Tx
	r := &recorder{}
	// From here on all changes are recorded for the copy.
	err = s.pauseWriter(ctx, func() (err error) {
		if s.fatal != nil {
			return s.fatal
		}
		source, err = s.db.Load().Begin(false)
		if err == nil {
			s.recorder = r
		}
		return err
	})
	if err != nil {
		return err
	}
	failpoint.Hit("compact.before.copy")
	path := s.path + copySuffix
	target, err := copyTo(ctx, path, source, s.o.MaxSize, c.Before)
	err = errors.Join(err, source.Rollback())
	if err == nil {
		err = s.catchUp(ctx, target, r)
	}
	if err == nil {
		old := s.db.Load()
		if err = s.pauseWriter(ctx, func() error { return s.swapFiles(target, r, c) }); err == nil {
			return guard(old.Close) // waits for its readers
		}
	}
	stopped := s.pauseWriter(context.WithoutCancel(ctx), func() error { s.recorder = nil; return nil })
	if errors.Is(stopped, ErrClosed) {
		stopped = nil
	}
	if target != nil && s.db.Load() != target {
		err = errors.Join(err, guard(target.Close), os.Remove(path))
	}
	return errors.Join(err, stopped)
}

// pauseWriter runs do between two transactions of the writer.
func (s *Store) pauseWriter(ctx context.Context, do func() error) error {
	ended := make(chan error, 1)
	select {
	case s.pauses <- func() { ended <- do() }:
		return <-ended
	case <-s.done:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// copyTo copies all records into a new file.
func copyTo(ctx context.Context, path string, source *bbolt.Tx, maxSize int, size int64) (*bbolt.DB, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	target, err := openDB(path, maxSize, size)
	if err != nil {
		return nil, err
	}
	target.NoSync = true // until it is complete; no process uses it before
	err = guard(func() error {
		return source.ForEach(func(name []byte, from *bbolt.Bucket) error {
			return copyBucket(ctx, target, name, from.Cursor())
		})
	})
	target.NoSync = false
	if err == nil {
		err = target.Sync()
	}
	if err != nil {
		return nil, errors.Join(err, guard(target.Close), os.Remove(path))
	}
	return target, nil
}

// copyBucket copies the records of a bucket in order, so that pages are filled.
func copyBucket(ctx context.Context, target *bbolt.DB, name []byte, from *bbolt.Cursor) error {
	k, v := from.First()
	for first := true; first || k != nil; first = false {
		err := target.Update(func(tx *bbolt.Tx) error {
			to, err := tx.CreateBucketIfNotExists(name)
			if err != nil {
				return err
			}
			to.FillPercent = 1
			for size := 0; k != nil && size < copyBytes; k, v = from.Next() {
				size += len(k) + len(v)
				if err := to.Put(k, v); err != nil {
					return err
				}
			}
			return nil
		})
		if err := errors.Join(err, context.Cause(ctx), fsutil.CheckFree(filepath.Dir(target.Path()), 0)); err != nil {
			return err
		}
		if err := target.Sync(); err != nil { // often, so that no other sync waits for long
			return err
		}
	}
	return nil
}

// catchUp writes the changes made meanwhile to the copy, until few are left.
func (s *Store) catchUp(ctx context.Context, target *bbolt.DB, r *recorder) error {
	for range maxRounds {
		var list []recordedChanges
		var bytes int
		err := s.pauseWriter(ctx, func() (err error) { list, bytes, err = r.take(); return err })
		if err == nil && len(list) > 0 {
			err = s.replay(target, list)
		}
		if err != nil {
			return err
		}
		if bytes < soonBytes {
			return nil
		}
	}
	return ErrBusy
}

// swapFiles runs while the writer waits: it writes the remaining changes, and
// renames the copy over the file.
func (s *Store) swapFiles(target *bbolt.DB, r *recorder, c *Compacted) error {
	start := time.Now()
	list, _, err := r.take()
	if err == nil && len(list) > 0 {
		err = s.replay(target, list)
	}
	if err != nil {
		return err
	}
	failpoint.Hit("compact.before.rename")
	if err := os.Rename(s.path+copySuffix, s.path); err != nil {
		return err
	}
	failpoint.Hit("compact.after.rename")
	s.db.Store(target)
	s.recorder = nil
	if err := fsutil.Sync(filepath.Dir(s.path)); err != nil {
		// After a power cut the old file could be back, without what is written
		// from now on.
		return s.failWrites(err)
	}
	c.Waited = time.Since(start)
	if info, err := os.Stat(s.path); err == nil {
		c.After = info.Size()
	}
	return nil
}

// replay writes changes to the copy as they were written to the file.
func (s *Store) replay(target *bbolt.DB, list []recordedChanges) error {
	known := newCache()
	return guard(func() error {
		return target.Update(func(tx *bbolt.Tx) error {
			for _, r := range list {
				lanes, err := put(snapshot{tx, known, s.log}, r.changes, r.at)
				if err != nil {
					return err
				}
				known.committed(r.changes, lanes)
			}
			return nil
		})
	})
}

// recorder keeps the changes that are written during a compaction.
type recorder struct {
	list  []recordedChanges
	bytes int
	over  bool
}

type recordedChanges struct {
	changes *rules.Changes
	at      time.Time
}

// take returns the changes since the last call.
func (r *recorder) take() (list []recordedChanges, bytes int, err error) {
	if r.over {
		return nil, 0, ErrBusy
	}
	list, bytes = r.list, r.bytes
	r.list, r.bytes = nil, 0
	return list, bytes, nil
}

// noteChanges keeps a transaction for the compaction.
func (s *Store) noteChanges(changes *rules.Changes, now time.Time) {
	if deletes(changes) {
		s.freed.Store(true)
	}
	r := s.recorder
	if r == nil || r.over || changes.Empty() {
		return
	}
	r.list = append(r.list, recordedChanges{changes, now})
	r.bytes += changes.Bytes + 512*len(changes.Records)
	if r.bytes > recordBytes {
		r.list, r.over = nil, true
	}
}

// deletes reports whether changes delete something that people wanted deleted, or
// that is too old. Data that is only replaced or no longer needed waits for the
// next compaction.
func deletes(changes *rules.Changes) bool {
	if len(changes.Deleted)+len(changes.SpentDeleted)+len(changes.Index.AuditChanges) > 0 {
		return true
	}
	return changes.Moved == 0 && slices.ContainsFunc(changes.Rows, func(r rules.HistoryRow) bool { return r.Deleted })
}

// removeCopies removes the files of a compaction or a restore that was killed.
func removeCopies(path string) {
	for _, suffix := range []string{copySuffix, restoringSuffix} {
		_ = os.Remove(path + suffix) // creating the next one reports the error
	}
}
