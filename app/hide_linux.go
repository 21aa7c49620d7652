package app

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// hideProcess keeps other processes of the same user, tool servers above all, from
// reading the memory and the first environment of this one, and from tracing it. The
// kernel then also writes no core dump of it
// (https://man7.org/linux/man-pages/man2/PR_SET_DUMPABLE.2const.html).
func hideProcess() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hiding the process from others: %w", err)
	}
	return nil
}
