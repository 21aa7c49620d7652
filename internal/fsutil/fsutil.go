// Package fsutil writes whole files: a file is on the disk before it replaces
// another one, and a long write does not block other users of the disk.
package fsutil

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// CopyReserve is how much space copies of data leave free on a disk.
const CopyReserve = 64 << 20

// chunk is how much a writer writes between two syncs. It is small, so that other
// users of the disk do not wait for long.
const chunk = 4 << 20

// ErrNoRoom means that a copy was not started, or given up, because it would leave
// less than CopyReserve.
var ErrNoRoom = errors.New("there is no room on the disk for a copy")

// WorkReserve is how much space new work leaves free on a disk, so that running
// work can finish.
const WorkReserve = 32 << 20

// IsLow reports whether a directory has less free space than WorkReserve.
func IsLow(dir string) bool {
	free, known := Free(dir)
	return known && free < WorkReserve
}

// CheckFree returns ErrNoRoom when size bytes more would leave less than
// CopyReserve in a directory. Where the system does not report free space,
// everything fits.
func CheckFree(dir string, size int64) error {
	free, known := Free(dir)
	if known && free < size+CopyReserve {
		return fmt.Errorf("%w: %d MiB are free in %s, %d MiB are needed", ErrNoRoom, free>>20, dir, (size+CopyReserve)>>20)
	}
	return nil
}

// Write makes a file with the output of fill, readable for its owner only. The
// file gets its name, and replaces another one, only once it is complete and on
// the disk. Write gives up when ctx ends or the disk has no room.
func Write(ctx context.Context, path string, fill func(io.Writer) error) (size int64, err error) {
	dir := filepath.Dir(path)
	file, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return 0, fmt.Errorf("making a file in %s: %w", dir, err)
	}
	w := &writer{ctx: ctx, file: file, dir: dir}
	err = fill(w)
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = Replace(file.Name(), path)
	}
	if err != nil {
		return 0, errors.Join(fmt.Errorf("writing %s: %w", path, err), ignoreMissing(os.Remove(file.Name())))
	}
	return w.size, nil
}

// writer syncs after each chunk.
type writer struct {
	ctx    context.Context //nolint:containedctx // an io.Writer has no other way to get it
	file   *os.File
	dir    string
	size   int64
	synced int64
}

func (w *writer) Write(p []byte) (int, error) {
	written := 0
	for len(p) > 0 {
		n, err := w.file.Write(p[:min(len(p), chunk)])
		written, w.size, p = written+n, w.size+int64(n), p[n:]
		if err == nil && w.size-w.synced >= chunk {
			w.synced = w.size
			err = errors.Join(w.ctx.Err(), w.file.Sync(), CheckFree(w.dir, 0))
		}
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// Replace renames a file within its directory, over an existing file, and syncs
// the directory.
func Replace(path, name string) error {
	if err := os.Rename(path, name); err != nil {
		return err
	}
	return Sync(filepath.Dir(name))
}

// IsMountPoint reports whether something is mounted at exactly this path, such as a file
// that a container was given on its own. It knows only on Linux.
func IsMountPoint(path string) bool {
	full, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); len(fields) > 4 && fields[4] == strings.ReplaceAll(full, " ", `\040`) { // proc(5)
			return true
		}
	}
	return false
}

// Sync syncs the names in a directory.
func Sync(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(ignorable(d.Sync()), d.Close())
}

// ignoreMissing is an error of a removal, unless there was nothing to remove.
func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
