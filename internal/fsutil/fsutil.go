// Package fsutil is what stores do with whole files: a file that takes another
// one's place is on the disk before it does, and a long write leaves the disk to
// those who wait for it.
package fsutil

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// CopyReserve is what copies of data leave free on a disk, for what runs.
const CopyReserve = 64 << 20

// chunk is how much a Writer writes between two looks at the disk. It is small,
// so that who has to wait for the disk waits for one portion.
const chunk = 4 << 20

// ErrNoRoom says that a copy was not begun, or given up, because it would have
// left less than Reserve.
var ErrNoRoom = errors.New("there is no room on the disk for a copy")

// WorkReserve is what new work leaves free on a disk, so that what has begun can be
// brought to its end.
const WorkReserve = 32 << 20

// IsLow reports that a directory has less room than Spare.
func IsLow(dir string) bool {
	free, known := Free(dir)
	return known && free < WorkReserve
}

// CheckFree returns ErrNoRoom when size bytes more would leave less than Reserve in a
// directory. Where the system does not tell, everything fits.
func CheckFree(dir string, size int64) error {
	free, known := Free(dir)
	if known && free < size+CopyReserve {
		return fmt.Errorf("%w: %d MiB are free in %s, %d MiB are needed", ErrNoRoom, free>>20, dir, (size+CopyReserve)>>20)
	}
	return nil
}

// Write makes a file with what fill writes, for its owner's eyes only. It has
// its name only once it is whole and on the disk; a file of that name is
// replaced. Between portions it is synced, so that nobody waits for all of it,
// and given up when ctx ends or the room runs out.
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

// writer writes in portions.
type writer struct {
	ctx    context.Context //nolint:containedctx // an io.Writer has no other way to learn of the end
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

// Replace gives a file another name in the same directory, in place of a file
// that has it. Afterwards that is on the disk.
func Replace(path, name string) error {
	if err := os.Rename(path, name); err != nil {
		return err
	}
	return Sync(filepath.Dir(name))
}

// Sync puts the names in a directory on the disk.
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
