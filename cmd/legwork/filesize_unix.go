//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

// surviveFileLimit makes a write beyond the file size limit (ulimit -f, systemd's
// LimitFSIZE=) fail like a full disk. By default it would end the process.
func surviveFileLimit() { signal.Ignore(syscall.SIGXFSZ) }
