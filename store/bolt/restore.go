package bolt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"legwork/internal/failpoint"
	"legwork/internal/fsutil"
	"legwork/tasks"
)

// backupName is the name of a regular backup, with its time in UTC.
const backupName = "legwork-20060102-150405.db"

// Suffixes of names beside the data file.
const (
	restoringSuffix = ".restoring" // the copy of a backup that is not complete yet
	damagedMark     = ".damaged-"  // a damaged file that was moved aside; its time follows
)

// errNoBackup is the error of a restore that found no good backup.
var errNoBackup = errors.New("no good backup was found")

// Loss describes a data file that a backup has replaced.
type Loss struct {
	Cause  string // why the file was replaced
	Aside  string // where the damaged file is kept; empty: there was no file
	Backup string // the backup that replaced it
	// From is when the backup was made, To when the damaged file was last written
	// to. Everything that was stored in between is lost. To is zero when there was
	// no file.
	From, To time.Time
	// Dropped lists the tasks that were running when the backup was made. They
	// do not continue, because it is not known what they did after it.
	Dropped []tasks.ID
}

// Loss returns what opening the store has cost; nil when no backup had to replace
// the file.
func (db *DB) Loss() *Loss { return db.loss }

// Restore replaces the data file of a directory that no process uses with the
// first good one of backups, which are sorted from the newest to the oldest.
// Everything stored after that backup is lost. The replaced file is kept under
// another name.
func Restore(ctx context.Context, dir string, backups []string, o Options) (*Loss, error) {
	o = o.filled()
	l, err := acquire(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	loss, err := restore(ctx, filepath.Join(dir, FileName), backups, errors.New("restored by hand"), o)
	return loss, errors.Join(err, l.release(l.suspect && err != nil))
}

// restore replaces the data file with the first good backup. A kill leaves the
// damaged file or the restored one.
func restore(ctx context.Context, path string, backups []string, cause error, o Options) (*Loss, error) {
	loss := &Loss{Cause: cause.Error(), Backup: firstGood(ctx, backups, o)}
	if loss.Backup == "" {
		return nil, errNoBackup
	}
	loss.From = madeAt(loss.Backup)
	fresh := path + restoringSuffix
	if err := copyBackup(ctx, loss.Backup, fresh, loss.From); err != nil {
		return nil, errors.Join(fmt.Errorf("restoring %s: %w", path, markFull(err)), ignoreMissing(os.Remove(fresh)))
	}
	failpoint.Hit("restore.before.aside")
	if err := loss.keepAside(path, o.Now()); err != nil {
		return nil, errors.Join(fmt.Errorf("keeping the damaged file: %w", err), ignoreMissing(os.Remove(fresh)))
	}
	failpoint.Hit("restore.before.rename")
	if err := fsutil.Replace(fresh, path); err != nil {
		return nil, fmt.Errorf("renaming the restored file: %w", err)
	}
	failpoint.Hit("restore.after.rename")
	return loss, nil
}

// firstGood returns the first backup that verifies; empty when none does.
func firstGood(ctx context.Context, backups []string, o Options) string {
	for _, path := range backups {
		_, err := os.Stat(path)
		if err == nil {
			err = Examine(ctx, path, o.VerifyCommand)
		}
		if err == nil {
			return path
		}
		o.Log.ErrorContext(ctx, "backup unusable", "file", path, "cause", err)
	}
	return ""
}

// copyBackup copies a backup and marks the copy, so that the tasks in it do not
// continue.
func copyBackup(ctx context.Context, backup, to string, at time.Time) error {
	from, err := os.Open(backup)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // it was only read
	info, err := from.Stat()
	if err == nil {
		err = fsutil.CheckFree(filepath.Dir(to), info.Size())
	}
	if err != nil {
		return err
	}
	_, err = fsutil.Write(ctx, to, func(w io.Writer) error { _, err := io.Copy(w, from); return err })
	if err != nil {
		return err
	}
	return MarkCopy(to, at)
}

// madeAt is when a backup was made. Its name says so, also when the file was
// copied since; under another name the time of the file counts.
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

// keepAside gives the damaged file a second name, under which it stays. It keeps
// its first name until the restored file takes that: while there is no data file
// at all, a start would create an empty one.
func (l *Loss) keepAside(path string, now time.Time) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	l.To, l.Aside = info.ModTime(), path+damagedMark+now.UTC().Format("20060102-150405.000")
	if err := os.Link(path, l.Aside); err == nil || errors.Is(err, os.ErrExist) {
		return err
	}
	return os.Rename(path, l.Aside) // a file system without hard links
}

// Asides lists the damaged files that were kept aside in a directory.
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

// ignoreMissing is the error of a removal, unless there was nothing to remove.
func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
