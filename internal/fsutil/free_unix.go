//go:build linux || darwin

package fsutil

import (
	"errors"
	"os"
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

// Writable returns an error when this process may not write a file, or make files in a
// folder.
func Writable(path string) error {
	const write = 2 // W_OK of access(2)
	return syscall.Access(path, write)
}

// KeepOwner gives a file the owner and group of another one, where the system allows it.
func KeepOwner(path, of string) {
	if info, err := os.Stat(of); err == nil {
		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			_ = os.Chown(path, int(s.Uid), int(s.Gid)) // only root may; others are the owner
		}
	}
}

// ignorable drops the error of file systems that cannot sync a directory.
func ignorable(err error) error {
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}
