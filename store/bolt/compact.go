package bolt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"

	"legwork/internal/failpoint"
	"legwork/internal/fsutil"
	"legwork/store"
)

const (
	copyBytes = 4 << 20 // of one transaction of a copy
	catchUps  = 5       // how often a copy catches up before writers have to wait
)

// copySuffix ends the name of a copy that is to replace the data file.
const copySuffix = ".compact"

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
	start, freed := time.Now(), s.SetFreed(false)
	if err := s.compact(ctx, &c); err != nil {
		if freed {
			s.SetFreed(true)
		}
		return c, fmt.Errorf("compacting %s: %w", s.path, markFull(err))
	}
	c.Took = time.Since(start)
	return c, nil
}

func (db *DB) compact(ctx context.Context, c *Compacted) (err error) {
	path := db.path + copySuffix
	c.Before, err = db.Size()
	if err = errors.Join(err, os.RemoveAll(path)); err != nil {
		return err
	}
	// From here on all changes are recorded for the copy.
	r := &recorder{}
	if err := db.pauseWriter(ctx, func() error { db.recorder = r; return db.fatal }); err != nil {
		return err
	}
	failpoint.Hit("compact.before.copy")
	old := db.bolt.Load()
	target, err := openFileDB(path, db.o.MaxSize, c.Before)
	if err == nil {
		err = db.copyTo(ctx, target)
	}
	for range catchUps {
		if err == nil {
			var list store.Map
			err = db.pauseWriter(ctx, func() error { list, r.keys = r.keys, list; return nil })
			err = errors.Join(err, db.replay(target, list))
		}
	}
	if err == nil {
		err = db.pauseWriter(ctx, func() error { return db.swapFiles(target, r, c) })
	}
	if err == nil {
		return guard(old.Close) // waits for its readers
	}
	// After Close there is no writer to stop.
	_ = db.pauseWriter(context.WithoutCancel(ctx), func() error { db.recorder = nil; return nil })
	if target != nil {
		err = errors.Join(err, guard(target.Close), os.Remove(path))
	}
	return err
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
		return ctx.Err()
	}
}

// copyTo copies all records into a new file, in order, so that pages are filled. It
// gives up when ctx ends, the disk has no room, or the database is to be closed.
func (db *DB) copyTo(ctx context.Context, target *bbolt.DB) error {
	copyBucket := func(name []byte, from *bbolt.Bucket) error {
		c := from.Cursor()
		for k, v := c.First(); ; {
			select {
			case <-db.updates.Closing:
				return store.ErrClosed
			default:
			}
			err := target.Update(func(btx *bbolt.Tx) error {
				to, err := btx.CreateBucketIfNotExists(name)
				if err != nil {
					return err
				}
				to.FillPercent = 1
				for size := 0; k != nil && size < copyBytes; k, v = c.Next() {
					size += len(k) + len(v)
					if err := to.Put(k, v); err != nil {
						return err
					}
				}
				return nil
			})
			err = errors.Join(err, ctx.Err(), fsutil.CheckFree(filepath.Dir(db.path), 0))
			if err != nil || k == nil {
				return err
			}
		}
	}
	return guard(func() error {
		return db.bolt.Load().View(func(source *bbolt.Tx) error { return source.ForEach(copyBucket) })
	})
}

// swapFiles runs while the writer waits: it writes the remaining changes, and
// renames the copy over the file.
func (db *DB) swapFiles(target *bbolt.DB, r *recorder, c *Compacted) error {
	start := time.Now()
	if err := db.replay(target, r.keys); err != nil {
		return err
	}
	failpoint.Hit("compact.before.rename")
	if err := os.Rename(target.Path(), db.path); err != nil {
		return err
	}
	failpoint.Hit("compact.after.rename")
	db.bolt.Store(target)
	db.recorder = nil
	if err := fsutil.Sync(filepath.Dir(db.path)); err != nil {
		// After a power cut the old file could be back, without what is written
		// from now on.
		_ = db.failWrites(err)
	}
	c.Waited = time.Since(start)
	c.After, _ = db.Size()
	return nil
}

// replay brings changed records of the copy up to date: they become what they are
// in the file.
func (db *DB) replay(target *bbolt.DB, changed store.Map) error {
	if changed.Len() == 0 {
		return nil
	}
	return guard(func() error {
		return db.bolt.Load().View(func(source *bbolt.Tx) error {
			return target.Update(func(btx *bbolt.Tx) error {
				from, to := newTx(source), newTx(btx)
				for t, r := range changed.All() {
					value, err := from.Get(t, r.Key)
					if err == nil && value == nil {
						err = to.Delete(t, r.Key)
					} else if err == nil {
						err = to.Put(t, r.Key, value)
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
type recorder struct{ keys store.Map }

func (r *recorder) note(t store.Table, key []byte) {
	if r != nil {
		r.keys.Set(t, key, nil)
	}
}
