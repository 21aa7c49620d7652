package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"legwork/internal/fsutil"
)

// unverified ends the name of a backup that was not read again yet, or is bad. The
// next backup removes it.
const unverified = ".unverified"

// Backup is a backup that was read again and is good.
type Backup struct {
	Path string
	At   time.Time
}

// Path is where a backup of that time belongs.
func Path(dir, name string, at time.Time) string {
	return filepath.Join(dir, at.UTC().Format(layout(name)))
}

// stamp is the time in a backup's name, in UTC.
const stamp = "20060102-150405"

// layout is the name of a backup with its stamp.
func layout(name string) string {
	ext := filepath.Ext(name)
	return strings.TrimSuffix(name, ext) + "-" + stamp + ext
}

// List lists the good backups of a file, the newest first.
func List(dir, name string) (list []Backup) {
	entries, _ := os.ReadDir(dir) // without a folder there are no backups
	for _, e := range entries {
		at, err := time.Parse(layout(name), e.Name())
		if err == nil && Path("", name, at) == e.Name() && e.Type().IsRegular() {
			list = append(list, Backup{filepath.Join(dir, e.Name()), at})
		}
	}
	slices.Reverse(list) // names are in the order of time
	return list
}

// Paths are the paths of backups.
func Paths(list []Backup) (paths []string) {
	for _, b := range list {
		paths = append(paths, b.Path)
	}
	return paths
}

// Make makes a backup of a file in dir and reads it again. It removes the files of
// earlier backups that were killed or bad. ErrBad, ErrNoRoom.
func Make(ctx context.Context, dir string, f File, at time.Time) (Backup, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Backup{}, fmt.Errorf("making the folder of backups: %w", err)
	}
	left := strings.Replace(layout(f.Name), stamp, "*", 1) + unverified
	for _, pattern := range []string{left, "." + left + ".*"} {
		names, _ := fs.Glob(os.DirFS(dir), pattern) // the pattern is good
		for _, name := range names {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				return Backup{}, fmt.Errorf("removing an unfinished backup: %w", err)
			}
		}
	}
	path := Path(dir, f.Name, at)
	if _, err := Copy(ctx, path+unverified, f, filepath.Join(dir, Folder)); err != nil {
		return Backup{}, err
	}
	if err := fsutil.Replace(path+unverified, path); err != nil {
		return Backup{}, fmt.Errorf("naming the backup: %w", err)
	}
	return Backup{path, at}, nil
}

// Folder is the folder in the folder of backups for the files beside data files.
const Folder = "files"

// Tidy deletes the files beside data files that no backup refers to.
func Tidy(dir string, f File) error {
	if f.Beside == nil {
		return nil
	}
	copies, err := filepath.Glob(filepath.Join(dir, strings.Replace(layout(f.Name), stamp, "*", 1)+"*")) // also one that is being made
	if err == nil {
		err = f.Beside.Tidy(filepath.Join(dir, Folder), copies)
	}
	return err
}

// Copy copies a file to path and reads the copy again; a bad one stays there. It also
// copies the files beside it into a folder, unless that is empty.
func Copy(ctx context.Context, path string, f File, folder string) (size int64, err error) {
	if f.Beside != nil && folder != "" {
		defer f.Beside.Pin()()
	}
	if size, err = f.Size(); err != nil {
		return 0, fmt.Errorf("looking at %s: %w", f.Name, err)
	}
	if size == 0 {
		return 0, fmt.Errorf("%s: %w", f.Name, ErrNoData)
	}
	if err := fsutil.CheckFree(filepath.Dir(path), size); err != nil {
		return 0, err
	}
	size, err = fsutil.Write(ctx, path, func(w io.Writer) error { return f.Write(ctx, w) })
	if err != nil {
		return 0, err
	}
	if f.Mark != nil {
		err = f.Mark(path)
	}
	bad := f.Verify(ctx, path)
	if err == nil && bad == nil && f.Beside != nil && folder != "" {
		err = f.Beside.Copy(ctx, path, folder)
	}
	if bad != nil && ctx.Err() == nil && !errors.Is(bad, ErrUnread) {
		return size, fmt.Errorf("%w: %w", ErrBad, bad)
	}
	if err = errors.Join(err, bad); err != nil {
		return 0, errors.Join(err, os.Remove(path))
	}
	return size, nil
}

// prune deletes the oldest good backups except the newest keep. Backups from the
// future were made by a wrong clock and are deleted first.
func prune(dir, name string, keep int, now time.Time) error {
	all := List(dir, name)
	past := notAfter(all, now)
	list := slices.Concat(past, all[:len(all)-len(past)])
	var err error
	for _, b := range list[min(keep, len(list)):] {
		err = errors.Join(err, os.Remove(b.Path))
	}
	return err
}

// notAfter returns the backups that are not from the future; names have whole
// seconds.
func notAfter(list []Backup, now time.Time) []Backup {
	return slices.DeleteFunc(slices.Clone(list), func(b Backup) bool { return b.At.After(now) })
}
