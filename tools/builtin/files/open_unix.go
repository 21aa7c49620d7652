//go:build unix && !linux

package files

import (
	"os"
	"syscall"
)

// nonblock keeps opening a pipe from waiting for its other end.
const nonblock = syscall.O_NONBLOCK

// isKernelFS is for Linux alone.
func isKernelFS(*os.File) bool { return false }
