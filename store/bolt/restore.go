package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"legwork/internal/failpoint"
	"legwork/internal/fsutil"
	"legwork/tasks"
)

// backupName is that of a regular backup, with its time in UTC.
const backupName = "legwork-20060102-150405.db"

// maxAsides is how many files of one second are kept.
const maxAsides = 100

// Suffixes of names beside the data file.
const (
	restoringSuffix = ".restoring" // a file that is being put together
	damagedMark     = ".damaged-"  // a damaged one that was moved aside; its time follows
)

// Loss tells of a damaged data file that was replaced, and of what is lost.
type Loss struct {
	Cause  string
	Aside  string // where the damaged file is now
	Backup string // what its gaps were filled from; empty: there was none
	// What was stored between From and To may be lost where the file could not be
	// read. From is zero without a backup.
	From, To time.Time
	Kept     int        // records that the damaged file still had
	Filled   int        // records from the backup
	Gaps     int        // stretches of the file that could not be read
	Turns    int        // exchanges of the history that are there
	Dropped  []tasks.ID // were under way, and cannot go on
	Broken   []tasks.ID // are over, and lost a part of their journals
}

// Loss returns what opening the store has cost; nil when the file was sound.
func (s *Store) Loss() *Loss { return s.loss }

// Restore replaces the damaged data file of a directory that nobody uses, with
// what can be read of it and, for the rest, with the newest good backup among
// backups, the newest first. Without one the rest is lost.
func Restore(ctx context.Context, dir string, backups []string, o Options) (Loss, error) {
	o = o.filled()
	l, err := acquire(ctx, dir, o)
	if err != nil {
		return Loss{}, err
	}
	r := restoration{path: filepath.Join(dir, FileName), o: o}
	loss, err := r.run(ctx, errors.New("asked for"), r.choose(ctx, backups))
	return loss, errors.Join(err, l.release(l.suspect && err != nil))
}

// restoration puts a new data file together.
type restoration struct {
	path string
	o    Options

	target *bbolt.DB
	backup *bbolt.DB // nil: there is none
	loss   Loss
	rows   map[tasks.ID]bool // tasks whose rows came from the backup
	gaps   []span            // of the journals
	behind bool              // the file may lack what was written last
}

// choose returns the first backup that is good; empty when none is.
func (r *restoration) choose(ctx context.Context, backups []string) string {
	for _, path := range backups {
		_, err := os.Stat(path)
		if err == nil {
			err = Examine(ctx, path, r.o.VerifyCommand)
		}
		if err == nil {
			return path
		}
		r.o.Log.ErrorContext(ctx, "a backup cannot be used", "file", path, "cause", err)
	}
	return ""
}

// run replaces the file. A kill leaves the damaged file or the new one.
func (r *restoration) run(ctx context.Context, cause error, backup string) (_ Loss, err error) {
	r.loss, r.rows = Loss{Cause: cause.Error(), Backup: backup}, map[tasks.ID]bool{}
	flag := os.O_RDONLY
	if backup != "" {
		flag |= os.O_CREATE // all of it comes from there when the file is gone
	}
	damaged, err := os.OpenFile(r.path, flag, 0o600)
	if err != nil {
		return r.loss, fmt.Errorf("opening the damaged file: %w", err)
	}
	defer func() { _ = damaged.Close() }() // it was only read
	fresh := r.path + restoringSuffix
	if err = os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return r.loss, fmt.Errorf("removing an unfinished restoration: %w", err)
	}
	if err = r.build(ctx, damaged, fresh); err != nil {
		return r.loss, errors.Join(fmt.Errorf("restoring %s: %w", r.path, full(err)), gone(os.Remove(fresh)))
	}
	failpoint.Hit("restore.before.aside")
	if err = r.aside(); err != nil {
		return r.loss, errors.Join(fmt.Errorf("keeping the damaged file: %w", err), gone(os.Remove(fresh)))
	}
	failpoint.Hit("restore.before.rename")
	if err = fsutil.Replace(fresh, r.path); err != nil {
		return r.loss, fmt.Errorf("putting the restored file in its place: %w", err)
	}
	failpoint.Hit("restore.after.rename")
	return r.loss, nil
}

// aside gives the damaged file a second name, under which it stays: at no
// moment is there no data file, for which a new one would be made.
func (r *restoration) aside() error {
	name := r.path + damagedMark + r.o.Now().UTC().Format("20060102-150405")
	r.loss.Aside = name
	for n := 2; ; n++ {
		err := os.Link(r.path, r.loss.Aside)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, os.ErrExist): // a file system without second names
			return r.copyAside()
		case n > maxAsides:
			return err
		}
		r.loss.Aside = fmt.Sprintf("%s-%d", name, n)
	}
}

// copyAside copies the damaged file.
func (r *restoration) copyAside() error {
	damaged, err := os.Open(r.path)
	if err != nil {
		return err
	}
	_, err = fsutil.Write(context.Background(), r.loss.Aside, func(w io.Writer) error {
		_, err := io.Copy(w, damaged)
		return err
	})
	return errors.Join(err, damaged.Close())
}

// build makes the new file.
func (r *restoration) build(ctx context.Context, damaged *os.File, fresh string) (err error) {
	info, err := damaged.Stat()
	if err != nil {
		return err
	}
	r.loss.To = info.ModTime()
	if r.loss.Backup != "" {
		r.loss.From = madeAt(r.loss.Backup)
		if r.backup, err = bbolt.Open(r.loss.Backup, 0o600, &bbolt.Options{ReadOnly: true, Timeout: lockWait}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.backup.Close()) }()
	}
	if err = fsutil.Fits(filepath.Dir(fresh), info.Size()); err != nil {
		return err
	}
	if r.target, err = openDB(fresh, r.o.MaxSize, info.Size()); err != nil {
		return err
	}
	r.target.NoSync = true // until it is whole
	err = r.fill(ctx, damaged, info.Size())
	if err == nil {
		err = r.mend()
	}
	if err == nil {
		err = r.target.Sync()
	}
	return errors.Join(err, r.target.Close())
}

// madeAt is when a backup was made: its name says it, also of a copy that has
// another time. That of the file when the name does not.
func madeAt(backup string) time.Time {
	if at, err := time.Parse(backupName, filepath.Base(backup)); err == nil {
		return at
	}
	info, err := os.Stat(backup)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// fill copies all records: those that can be read, and in the stretches between
// them those of the backup. What was deleted since the backup stays deleted
// wherever the file can be read.
func (r *restoration) fill(ctx context.Context, damaged *os.File, size int64) error {
	entries := map[string][]byte{}
	left, err := lookInto(damaged, size)
	if err == nil {
		entries, r.behind = left.buckets(), left.heads < 2 // the other one may have been the newer
	}
	for _, name := range buckets() {
		into := &batch{db: r.target, name: []byte(name)}
		f := finder{
			found: func(key, value []byte, _ uint32) error {
				r.loss.Kept++
				return errors.Join(ctx.Err(), into.add(key, value))
			},
			lost: func(gap span) error { return r.patch(into, name, gap) },
		}
		if left == nil {
			err = f.lost(span{})
		} else {
			err = left.bucket(entries[name], f)
		}
		if err = errors.Join(err, into.flush()); err != nil {
			return err
		}
	}
	if r.loss.Kept+r.loss.Filled == 0 {
		return errors.Join(tasks.ErrDamaged, errNothing)
	}
	return nil
}

// patch copies the records of a gap from the backup.
func (r *restoration) patch(into *batch, name string, gap span) error {
	r.loss.Gaps++
	if name == bucketJournal {
		r.gaps = append(r.gaps, gap)
	}
	if r.backup == nil {
		return nil
	}
	return r.backup.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(name))
		if b == nil {
			return nil // an earlier version made it
		}
		c := b.Cursor()
		for k, v := c.Seek(gap.from); k != nil && gap.holds(k); k, v = c.Next() {
			r.loss.Filled++
			if name == bucketTasks {
				r.rows[tasks.ID(k)] = true
			}
			if err := into.add(k, v); err != nil {
				return err
			}
		}
		return nil
	})
}

// batch writes records of a bucket, many in a transaction.
type batch struct {
	db     *bbolt.DB
	name   []byte
	keys   [][]byte
	values [][]byte
	bytes  int
}

func (b *batch) add(key, value []byte) error {
	b.keys, b.values = append(b.keys, bytes.Clone(key)), append(b.values, bytes.Clone(value))
	if b.bytes += len(key) + len(value); b.bytes < copyBytes {
		return nil
	}
	return b.flush()
}

func (b *batch) flush() error {
	err := b.db.Update(func(tx *bbolt.Tx) error {
		to, err := tx.CreateBucketIfNotExists(b.name)
		if err != nil {
			return err
		}
		for i, k := range b.keys {
			if err := to.Put(k, b.values[i]); err != nil {
				return err
			}
		}
		return nil
	})
	b.keys, b.values, b.bytes = nil, nil, 0
	return err
}

// errNoBackup says that there is nothing to replace a damaged file with.
var errNoBackup = errors.New("no good backup was found")

// bearable reports that a file in which damage was found can be used all the
// same, since that costs single records alone: without a backup of them nobody
// is helped by a refusal.
func bearable(ctx context.Context, path string, o Options) bool {
	if _, err := os.Stat(path + suspectSuffix); err != nil || len(o.CheckCommand) == 0 {
		return false
	}
	return check(ctx, path, o.CheckCommand) == nil && os.Remove(path+suspectSuffix) == nil
}

// restore is what Open does about a file that it cannot trust.
func restore(ctx context.Context, path string, cause error, o Options) (*Loss, error) {
	r := restoration{path: path, o: o}
	backup := r.choose(ctx, o.Backups())
	if backup == "" {
		return nil, fmt.Errorf("%w; %w", cause, errNoBackup)
	}
	loss, err := r.run(ctx, cause, backup)
	if err != nil {
		return nil, errors.Join(cause, err)
	}
	return &loss, nil
}

// Asides lists the damaged files that were moved aside in a directory.
func Asides(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var list []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), FileName+damagedMark) {
			list = append(list, filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(list)
	return list
}

// gone is the error of a removal, unless there was nothing to remove.
func gone(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
