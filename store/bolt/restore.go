package bolt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"legwork/files"
	"legwork/internal/failpoint"
	"legwork/internal/fsutil"
	"legwork/store"
	"legwork/tasks"
)

// Suffixes of names beside the data file.
const (
	suspectSuffix = ".suspect"  // an empty file: damage was met, and the next start verifies the whole file
	damagedMark   = ".damaged-" // a damaged file that was moved aside; its time follows
)

// Loss describes a data file that a backup has replaced.
type Loss struct {
	Aside  string // where the damaged file is kept; empty: there was no file
	Backup string // the backup that replaced it
	// From is when the backup was made, To when the damaged file was last written
	// to. Everything that was stored in between is lost. To is zero when there was
	// no file.
	From, To time.Time
	// Dropped lists the tasks that were running when the backup was made. They
	// do not continue, because it is not known what they did after it.
	Dropped []tasks.ID
	// Missing is how many contents of files the backup refers to that were not found, in
	// the data directory or beside the backup.
	Missing int
}

// Loss returns what opening the store has cost; nil when no backup had to replace
// the file.
func (db *DB) Loss() *Loss { return db.loss }

// openOrRestore opens the data file, suspect after an unclean end. It restores a
// backup first when the file is damaged or missing.
func openOrRestore(ctx context.Context, path string, suspect bool, o Options) (file *bbolt.DB, loss *Loss, err error) {
	var backups []string
	if o.Backups != nil {
		backups = o.Backups()
	}
	_ = os.Remove(path + copySuffix) // of a compaction or a restore that was killed
	if err = check(ctx, path, suspect, len(backups) > 0, o); err == nil {
		file, err = openFile(path, o)
	}
	if !errors.Is(err, tasks.ErrDamaged) || o.Backups == nil {
		return file, nil, err
	}
	o.Log.ErrorContext(ctx, "data file damaged", "cause", err)
	loss, failed := restore(ctx, path, backups, o)
	if failed != nil {
		return nil, nil, errors.Join(err, failed)
	}
	file, err = openFile(path, o)
	return file, loss, err
}

// check verifies a file that may be damaged: all of it when damage was met, its most
// important parts after an unclean end, or when no backup can replace it. A missing
// file is damaged when there are backups of it: a start would create an empty one,
// and the loss would be silent.
func check(ctx context.Context, path string, suspect, backups bool, o Options) error {
	info, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if info == nil || info.Size() == 0 {
		if backups {
			return fmt.Errorf("%w: %s is missing or empty, and there are backups of it", tasks.ErrDamaged, path)
		}
		return nil
	}
	if _, err := os.Stat(path + suspectSuffix); err == nil {
		if err = examine(ctx, path, o.VerifyCommand); err == nil {
			return os.Remove(path + suspectSuffix)
		}
		if backups {
			return err
		}
		o.Log.ErrorContext(ctx, "data file damaged, no backup", "cause", err)
		suspect = true
	}
	if suspect && len(o.CheckCommand) > 0 {
		return examine(ctx, path, o.CheckCommand)
	}
	return nil
}

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
	loss, err := restore(ctx, filepath.Join(dir, FileName), backups, o)
	return loss, errors.Join(err, l.release(l.suspect && err != nil))
}

// restore replaces the data file with the first good backup. A kill leaves the
// damaged file or the restored one.
func restore(ctx context.Context, path string, backups []string, o Options) (*Loss, error) {
	good := slices.IndexFunc(backups, func(backup string) bool {
		err := examine(ctx, backup, o.VerifyCommand)
		if err != nil {
			o.Log.ErrorContext(ctx, "backup unusable", "file", backup, "cause", err)
		}
		return err == nil
	})
	if good < 0 {
		return nil, errors.New("no good backup was found")
	}
	loss, fresh := Loss{Backup: backups[good], From: madeAt(backups[good])}, path+copySuffix
	if o.Agree != nil {
		if err := o.Agree(loss); err != nil {
			return nil, err
		}
	}
	defer func() { _ = os.Remove(fresh) }() // after a failure
	from, err := os.Open(loss.Backup)
	if err == nil {
		defer from.Close()
		_, err = fsutil.Write(ctx, fresh, func(w io.Writer) error { _, err := io.Copy(w, from); return err })
	}
	if err == nil {
		err = MarkCopy(fresh, loss.From) // so that the tasks in it do not continue
	}
	if err != nil {
		return nil, fmt.Errorf("restoring %s: %w", path, markFull(err))
	}
	if err := loss.takeContents(ctx, fresh, o.folder(filepath.Dir(path))); err != nil {
		return nil, fmt.Errorf("restoring the contents of files: %w", err)
	}
	failpoint.Hit("restore.before.aside")
	if err := loss.keepAside(path, o.Now()); err != nil {
		return nil, fmt.Errorf("keeping the damaged file: %w", err)
	}
	failpoint.Hit("restore.before.rename")
	if err := fsutil.Replace(fresh, path); err != nil {
		return nil, fmt.Errorf("renaming the restored file: %w", err)
	}
	failpoint.Hit("restore.after.rename")
	return &loss, os.RemoveAll(path + suspectSuffix)
}

// takeContents brings the contents that the restored file refers to back from the
// backup.
func (l *Loss) takeContents(ctx context.Context, fresh string, to Folder) error {
	ids, err := ContentIDs(fresh)
	for _, id := range ids {
		folders := BackupFolders(l.Backup)
		err := to.Take(ctx, id, Folder{Dir: folders[0], Also: folders[1:]})
		if errors.Is(err, files.ErrNone) || errors.Is(err, tasks.ErrDamaged) {
			l.Missing++
		} else if err != nil {
			return err
		}
	}
	return err
}

// MarkCopy notes in a copy of a data file, which no process uses, when it was
// made. A store that opens such a file drops the tasks that were running at
// that time: it is not known what they did after it, and they could do it
// twice.
func MarkCopy(path string, at time.Time) error {
	file, err := openFile(path, Options{})
	if err == nil {
		err = guard(func() error {
			return file.Update(func(btx *bbolt.Tx) error { return store.MarkCopy(newTx(btx), at) })
		})
		err = errors.Join(err, guard(file.Close))
	}
	if err != nil {
		return fmt.Errorf("marking %s as a copy: %w", path, classify(err))
	}
	return nil
}

// madeAt is when a backup was made. Its name says so in UTC, also when the file was
// copied since; under another name the time of the file counts.
func madeAt(backup string) time.Time {
	at, err := time.Parse("legwork-20060102-150405.db", filepath.Base(backup))
	if info, errStat := os.Stat(backup); err != nil && errStat == nil {
		at = info.ModTime()
	}
	return at
}

// keepAside gives the damaged file a second name, under which it stays. It keeps
// its first name until the restored file takes that: while there is no data file
// at all, a start would create an empty one.
func (l *Loss) keepAside(path string, now time.Time) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	l.To, l.Aside = info.ModTime(), path+damagedMark+now.UTC().Format("20060102-150405.000")
	if err := os.Link(path, l.Aside); err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Rename(path, l.Aside) // a file system without hard links
}

// Asides lists the damaged files that were kept aside in a directory.
func Asides(dir string) []string {
	names, _ := fs.Glob(os.DirFS(dir), FileName+damagedMark+"*") // the pattern is good
	for i, name := range names {
		names[i] = filepath.Join(dir, name)
	}
	return names
}
