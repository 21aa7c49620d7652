//go:build unix

package watch

import (
	"syscall"
	"time"
)

// Work returns the processor time that this process took while do ran, its other
// goroutines included: what the machine does for others does not count.
func Work(do func()) time.Duration {
	before := used()
	do()
	return used() - before
}

func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // the arguments are right
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
