package backup

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

	"legwork/internal/fsutil"
)

// stamp is the time in a backup's name, in UTC.
const stamp = "20060102-150405"

// unverified ends the name of a backup that was not read again yet, damaged the
// name of a bad one, which is kept for a look at the damage.
const (
	unverified = ".unverified"
	damaged    = ".damaged"
)

// Backup is a backup that was read again and is good.
type Backup struct {
	Path string
	At   time.Time
	Size int64
}

// List lists the good backups of a file, the newest first.
func List(dir, name string) []Backup {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	base, ext := split(name)
	var list []Backup
	for _, e := range entries {
		middle, ok := strings.CutPrefix(e.Name(), base+"-")
		middle, whole := strings.CutSuffix(middle, ext)
		at, err := time.Parse(stamp, middle)
		info, statErr := e.Info()
		if ok && whole && err == nil && statErr == nil && info.Mode().IsRegular() {
			list = append(list, Backup{Path: filepath.Join(dir, e.Name()), At: at, Size: info.Size()})
		}
	}
	slices.SortFunc(list, func(a, b Backup) int { return b.At.Compare(a.At) })
	return list
}

// Paths are the paths of backups.
func Paths(list []Backup) []string {
	paths := make([]string, len(list))
	for i, b := range list {
		paths[i] = b.Path
	}
	return paths
}

// Make makes a backup of a file in dir and reads it again. ErrBad, ErrNoRoom.
func Make(ctx context.Context, dir string, f File, at time.Time) (Backup, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Backup{}, fmt.Errorf("making the folder of backups: %w", err)
	}
	if err := sweep(dir, f.Name); err != nil {
		return Backup{}, fmt.Errorf("removing an unfinished backup: %w", err)
	}
	path := Path(dir, f.Name, at)
	size, err := Copy(ctx, path+unverified, f)
	if err != nil {
		if errors.Is(err, ErrBad) {
			err = errors.Join(err, os.Rename(path+unverified, path+damaged))
		}
		return Backup{}, err
	}
	if err := fsutil.Replace(path+unverified, path); err != nil {
		return Backup{}, fmt.Errorf("naming the backup: %w", err)
	}
	return Backup{Path: path, At: at, Size: size}, nil
}

// Copy copies a file to path and reads the copy again; a bad one stays there.
func Copy(ctx context.Context, path string, f File) (size int64, err error) {
	size, err = f.Size()
	switch {
	case err != nil:
		return 0, fmt.Errorf("looking at %s: %w", f.Name, err)
	case size == 0:
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
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.Is(bad, ErrUnread):
		err = bad
	case bad != nil:
		return size, fmt.Errorf("%w: %w", ErrBad, bad)
	}
	if err != nil {
		return 0, errors.Join(err, os.Remove(path))
	}
	return size, nil
}

// sweep removes the files of earlier backups that were killed or damaged. While
// the data is damaged, the next backup is damaged too.
func sweep(dir, name string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	base, ext := split(name)
	for _, e := range entries {
		mine := strings.HasPrefix(strings.TrimPrefix(e.Name(), "."), base+"-")
		if mine && (strings.Contains(e.Name(), ext+unverified) || strings.HasSuffix(e.Name(), ext+damaged)) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	return nil
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
	at := slices.IndexFunc(list, func(b Backup) bool { return !b.At.After(now) })
	if at < 0 {
		return nil
	}
	return list[at:]
}
