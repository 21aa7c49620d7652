package bolt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"legwork/internal/failpoint"
	"legwork/internal/fsutil"
	"legwork/store"
)

// Bounds of a compaction.
const (
	copyBytes   = 4 << 20   // of one transaction of the copy
	maxRecorded = 2_000_000 // records that are written while the file is copied
	soon        = 2000      // records left to be written while the writer waits
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
func (db *DB) Compact(ctx context.Context) (c Compacted, err error) {
	db.copying.Lock()
	defer db.copying.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	var closing sync.WaitGroup
	defer closing.Wait()
	defer cancel(nil)
	closing.Go(func() { // Close does not wait for a compaction
		select {
		case <-db.updates.Closing:
			cancel(store.ErrClosed)
		case <-ctx.Done():
		}
	})
	start := time.Now()
	if err = db.compact(ctx, &c); err != nil {
		return c, fmt.Errorf("compacting %s: %w", db.path, markFull(err))
	}
	c.Took = time.Since(start)
	return c, nil
}

func (db *DB) compact(ctx context.Context, c *Compacted) error {
	info, err := os.Stat(db.path)
	if err != nil {
		return err
	}
	c.Before = info.Size()
	var source *bbolt.Tx
	r := &recorder{keys: map[recordKey]bool{}}
	// From here on all changes are recorded for the copy.
	err = db.pauseWriter(ctx, func() (err error) {
		if db.fatal != nil {
			return db.fatal
		}
		source, err = db.bolt.Load().Begin(false)
		if err == nil {
			db.recorder = r
		}
		return err
	})
	if err != nil {
		return err
	}
	failpoint.Hit("compact.before.copy")
	path := db.path + copySuffix
	target, err := copyTo(ctx, path, source, db.o.MaxSize, c.Before)
	err = errors.Join(err, source.Rollback())
	if err == nil {
		err = db.catchUp(ctx, target, r)
	}
	if err == nil {
		old := db.bolt.Load()
		if err = db.pauseWriter(ctx, func() error { return db.swapFiles(target, r, c) }); err == nil {
			return guard(old.Close) // waits for its readers
		}
	}
	stopped := db.pauseWriter(context.WithoutCancel(ctx), func() error { db.recorder = nil; return nil })
	if errors.Is(stopped, store.ErrClosed) {
		stopped = nil
	}
	if target != nil && db.bolt.Load() != target {
		err = errors.Join(err, guard(target.Close), os.Remove(path))
	}
	return errors.Join(err, stopped)
}

// pauseWriter runs do between two transactions of the writer.
func (db *DB) pauseWriter(ctx context.Context, do func() error) error {
	ended := make(chan error, 1)
	select {
	case db.pauses <- func() { ended <- do() }:
		return <-ended
	case <-db.updates.Ended:
		return store.ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// copyTo copies all records into a new file.
func copyTo(ctx context.Context, path string, source *bbolt.Tx, maxSize int, size int64) (*bbolt.DB, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	target, err := openFileDB(path, maxSize, size)
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
func (db *DB) catchUp(ctx context.Context, target *bbolt.DB, r *recorder) error {
	for range maxRounds {
		var list []recordKey
		err := db.pauseWriter(ctx, func() (err error) { list, err = r.take(); return err })
		if err == nil && len(list) > 0 {
			err = db.replay(target, list)
		}
		if err != nil {
			return err
		}
		if len(list) < soon {
			return nil
		}
	}
	return ErrBusy
}

// swapFiles runs while the writer waits: it writes the remaining changes, and
// renames the copy over the file.
func (db *DB) swapFiles(target *bbolt.DB, r *recorder, c *Compacted) error {
	start := time.Now()
	list, err := r.take()
	if err == nil && len(list) > 0 {
		err = db.replay(target, list)
	}
	if err != nil {
		return err
	}
	failpoint.Hit("compact.before.rename")
	if err := os.Rename(db.path+copySuffix, db.path); err != nil {
		return err
	}
	failpoint.Hit("compact.after.rename")
	db.bolt.Store(target)
	db.recorder = nil
	if err := fsutil.Sync(filepath.Dir(db.path)); err != nil {
		// After a power cut the old file could be back, without what is written
		// from now on.
		return db.failWrites(err)
	}
	c.Waited = time.Since(start)
	if info, err := os.Stat(db.path); err == nil {
		c.After = info.Size()
	}
	return nil
}

// replay brings records of the copy up to date: they become what they are in the
// file.
func (db *DB) replay(target *bbolt.DB, list []recordKey) error {
	return guard(func() error {
		return db.bolt.Load().View(func(source *bbolt.Tx) error {
			return target.Update(func(btx *bbolt.Tx) error {
				from, to := newTx(source), newTx(btx)
				for _, k := range list {
					value, err := from.Get(k.table, []byte(k.key))
					if err == nil && value == nil {
						err = to.Delete(k.table, []byte(k.key))
					} else if err == nil {
						err = to.Put(k.table, []byte(k.key), value)
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		})
	})
}

// recorder keeps the keys that are written during a compaction. A nil recorder keeps
// nothing.
type recorder struct {
	keys map[recordKey]bool
	over bool // too many
}

type recordKey struct {
	table store.Table
	key   string
}

// note keeps a key.
func (r *recorder) note(t store.Table, key []byte) {
	if r == nil || r.over {
		return
	}
	r.keys[recordKey{t, string(key)}] = true
	if len(r.keys) > maxRecorded {
		r.keys, r.over = nil, true
	}
}

// take returns the keys since the last call.
func (r *recorder) take() ([]recordKey, error) {
	if r.over {
		return nil, ErrBusy
	}
	list := slices.Collect(maps.Keys(r.keys))
	r.keys = map[recordKey]bool{}
	return list, nil
}

// removeCopies removes the files of a compaction or a restore that was killed.
func removeCopies(path string) {
	for _, suffix := range []string{copySuffix, restoringSuffix} {
		_ = os.Remove(path + suffix) // creating the next one reports the error
	}
}
