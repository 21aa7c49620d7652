//go:build linux || darwin

package fsutil

import (
	"errors"
	"syscall"
)

// Free returns how many bytes can still be written in a directory.
func Free(dir string) (free int64, known bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true //nolint:gosec,unconvert // the types differ between systems
}

// ignorable drops the error of file systems that cannot sync a directory.
func ignorable(err error) error {
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}
