package files

import (
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// nonblock keeps opening a pipe from waiting for its other end.
const nonblock = syscall.O_NONBLOCK

// isKernelFS tells the file systems whose files are windows into the kernel.
func isKernelFS(f *os.File) bool {
	raw, err := f.SyscallConn()
	if err != nil {
		return true
	}
	var s unix.Statfs_t
	failed := error(nil)
	if err := raw.Control(func(fd uintptr) { failed = unix.Fstatfs(int(fd), &s) }); err != nil || failed != nil {
		return true
	}
	return slices.Contains([]int64{
		unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC,
		unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.DEVPTS_SUPER_MAGIC, unix.BPF_FS_MAGIC, unix.EFIVARFS_MAGIC,
	}, int64(s.Type)) //nolint:unconvert // it is narrower on some machines
}
