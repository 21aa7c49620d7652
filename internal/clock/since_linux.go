package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// since counts from now on, also while the machine is suspended.
func since() func() time.Duration {
	start, ok := boot()
	if !ok {
		return monotonic()
	}
	return func() time.Duration {
		now, _ := boot() // what worked once does
		return now - start
	}
}

// boot is how long the machine is up.
func boot() (time.Duration, bool) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t)
	return time.Duration(t.Nano()), err == nil
}
