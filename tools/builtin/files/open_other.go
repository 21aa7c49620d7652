//go:build !unix

package files

import "os"

const nonblock = 0

// isKernelFS is for Linux alone.
func isKernelFS(*os.File) bool { return false }
