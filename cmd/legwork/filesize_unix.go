//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

// surviveFileLimit turns a write beyond a limit of the file size, as ulimit -f
// and LimitFSIZE= set, from the end of the process into an error like that of a
// full disk.
func surviveFileLimit() { signal.Ignore(syscall.SIGXFSZ) }
